"""What people say about a group of failures."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from dashboard.failures.words import KIND_WORDS, SPLIT_WORDS
from dashboard.forms import InkField
from queues.failures.types import Kind, SplitBy

NOTE = 4_000  # characters
MOST = 10_000_000  # failures or failures an hour that can be waited for
HOURS = ((1, _("1 hour")), (8, _("8 hours")), (24, _("1 day")), (168, _("7 days")), (720, _("30 days")))
UNTIL, COUNT, RATE = "until", "count", "rate"
SCHEMES = ("http", "https")


class ReasonForm(forms.Form):
    bound_field_class = InkField
    reason = forms.CharField(label=_("Why"), required=False, max_length=1_000)


class IgnoreForm(ReasonForm):
    """Until when: a time, so many more failures, or so many an hour."""

    how = forms.ChoiceField(
        label=_("Until"),
        choices=(
            (UNTIL, _("a time has passed")),
            (COUNT, _("it has failed so often again")),
            (RATE, _("it fails so often within an hour")),
        ),
        initial=UNTIL,
    )
    hours = forms.TypedChoiceField(label=_("Time"), choices=HOURS, coerce=int, initial=24, required=False)
    number = forms.IntegerField(label=_("Failures"), min_value=1, max_value=MOST, required=False)

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or {}
        how = found.get("how")
        if how == UNTIL and not found.get("hours"):
            self.add_error("hours", _("Choose for how long."))
        if how in (COUNT, RATE) and not found.get("number") and "number" not in self.errors:
            self.add_error("number", _("Say after how many failures it shall be looked at again."))
        return found

    def until(self) -> datetime | None:
        given = self.cleaned_data
        return timezone.now() + timedelta(hours=given["hours"]) if given["how"] == UNTIL else None

    def more(self) -> int | None:
        return self.cleaned_data["number"] if self.cleaned_data["how"] == COUNT else None

    def rate(self) -> int | None:
        return self.cleaned_data["number"] if self.cleaned_data["how"] == RATE else None


class ClassForm(ReasonForm):
    kind = forms.ChoiceField(
        label=_("Class"),
        required=False,
        choices=(*((kind.value, KIND_WORDS[kind]) for kind in Kind), ("", _("as the rules say"))),
    )

    def chosen(self) -> Kind | None:
        told = self.cleaned_data["kind"]
        return Kind(told) if told else None


class OwnerForm(forms.Form):
    bound_field_class = InkField
    owner = forms.CharField(label=_("Owner"), required=False, max_length=150)


class RunbookForm(forms.Form):
    bound_field_class = InkField
    runbook = forms.CharField(label=_("Runbook"), required=False, max_length=2_000)

    def clean_runbook(self) -> str:
        told = str(self.cleaned_data["runbook"]).strip()
        if told and not is_link(told):
            raise forms.ValidationError(_("An address begins with https:// or http:// and names a host."))
        return told


class NoteForm(forms.Form):
    bound_field_class = InkField
    text = forms.CharField(
        label=_("Note"),
        max_length=NOTE,
        widget=forms.Textarea(attrs={"rows": 3, "placeholder": _("What you know, for the next person")}),
    )


class SplitForm(forms.Form):
    """A signature: taken out of its group whole, or told apart by something from now on."""

    signature = forms.IntegerField(min_value=1)
    by = forms.ChoiceField(required=False, choices=[("", ""), *((by.value, SPLIT_WORDS[by]) for by in SplitBy)])

    def chosen(self) -> SplitBy | None:
        return SplitBy(self.cleaned_data["by"]) if self.cleaned_data["by"] else None


def is_link(told: str) -> bool:
    """Whether an address leads to a web page and nowhere else: no script, no user and password, nothing unseen."""
    if not told.isprintable() or any(char in told for char in " \"'<>\\"):
        return False
    try:
        parts = urlsplit(told)
        return parts.scheme in SCHEMES and bool(parts.hostname) and not parts.username and not parts.password
    except ValueError:
        return False
