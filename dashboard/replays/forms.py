"""The forms of replays: what a plan is made from, its terms, and the small ones by which it is steered."""

from __future__ import annotations

import secrets
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.actions.forms.base import ActField

FASTEST = 100_000.0  # jobs a second that a form takes


class ActForm(forms.Form):
    """What every act on a replay has: the key of its form, and the reason for the audit log."""

    bound_field_class = ActField
    key = forms.CharField(widget=forms.HiddenInput, max_length=64, required=False)
    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        max_length=500,
        help_text=_("Kept in the audit log. May stay empty."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("key", secrets.token_urlsafe(24))


class PaceForm(ActForm):
    """Another pace for a replay that runs."""

    unthrottled = forms.BooleanField(label=_("As fast as the server takes them"), required=False)
    pace_from = forms.FloatField(label=_("From"), required=False, min_value=0.01, max_value=FASTEST)
    pace_to = forms.FloatField(label=_("to"), required=False, min_value=0.01, max_value=FASTEST)
    double_s = forms.IntegerField(label=_("Doubling every"), required=False, min_value=1, max_value=86_400, initial=30)

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        if given.get("unthrottled"):
            return given | {"pace_from": None, "pace_to": None, "double_s": given.get("double_s") or 30}
        if given.get("pace_to") is None and "pace_to" not in self.errors:
            self.add_error("pace_to", _("Say how many a second."))
        if given.get("pace_from") is None:
            given["pace_from"] = given.get("pace_to")
        given["double_s"] = given.get("double_s") or 30
        return given


class CancelForm(ActForm):
    """The end of a replay. `take_back`: jobs that were sent and that no worker has begun, too."""

    take_back = forms.BooleanField(
        label=_("Take back those that were sent and that no worker has begun"), required=False
    )
