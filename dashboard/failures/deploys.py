"""The form that tells of a version that went live."""

from __future__ import annotations

from collections.abc import Sequence

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from dashboard.forms import InkField
from queues.deploys import VERSION


class DeployForm(forms.Form):
    """Which version, where, and when; now where no moment is given."""

    bound_field_class = InkField
    version = forms.CharField(
        label=_("Version"), max_length=VERSION, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    source = forms.ChoiceField(label=_("Source"), required=False)
    at = forms.DateTimeField(
        label=_("When, UTC"),
        required=False,
        help_text=_("Empty: now."),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
    )

    def __init__(self, sources: Sequence[str], data: QueryDict | None = None) -> None:
        super().__init__(data, auto_id="deploy-%s")
        self.fields["source"].choices = [("", _("everywhere")), *((name, name) for name in sources)]  # type: ignore[attr-defined]

    def at_ms(self) -> int | None:
        given = self.cleaned_data["at"]
        return int(given.timestamp() * 1000) if given else None
