"""The forms of what is done to a queue itself."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.actions.forms.base import ActionForm
from dashboard.actions.forms.moves import UNIT_WORDS, UNITS
from queues.names import decode_part, encode_part

MOST = 10**9


class ConcurrencyForm(ActionForm):
    """How many jobs may run at once; empty = no limit."""

    most = forms.IntegerField(
        label=_("Jobs at once, at most"),
        required=False,
        min_value=1,
        max_value=MOST,
        help_text=_("Over all workers together; those of BullMQ 4 ignore it. Empty: no limit."),
    )


class RateLimitForm(ActionForm):
    """How many jobs may start in a span of time; empty = no limit."""

    rows = (("span", "unit"),)

    most = forms.IntegerField(
        label=_("Jobs, at most"), required=False, min_value=1, max_value=MOST, help_text=_("Empty: no limit.")
    )
    span = forms.IntegerField(label=_("In every"), required=False, min_value=1, max_value=MOST, initial=1)
    unit = forms.ChoiceField(label=_("Unit of time"), required=False, choices=UNIT_WORDS, initial="min")

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if given.get("most") is not None and given.get("span") is None and "span" not in self.errors:
            self.add_error("span", gettext("Say in what span of time."))
        return given

    def arguments(self) -> dict[str, Any]:
        most = self.cleaned_data["most"]
        if most is None:
            return {"most": None}
        return {"most": most, "duration_ms": self.cleaned_data["span"] * UNITS[self.cleaned_data["unit"] or "s"]}


class TrimEventsForm(ActionForm):
    """How many events are kept."""

    keep = forms.IntegerField(
        label=_("Keep about"),
        min_value=0,
        max_value=MOST,
        initial=10_000,
        help_text=_("Redis drops the oldest in blocks, so a few more may stay."),
    )


class ReleaseDeduplicationForm(ActionForm):
    """Which deduplication id; `id_slug` names exact bytes where what is typed cannot."""

    dedup = forms.CharField(
        label=_("Deduplication id"),
        max_length=2000,
        strip=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def clean_dedup(self) -> str:
        typed: str = self.cleaned_data["dedup"]
        if typed.startswith("~"):
            try:
                decode_part(typed, colon=True)
            except ValueError as error:
                raise forms.ValidationError(gettext("This is not a coded id.")) from error
        return typed

    def arguments(self) -> dict[str, Any]:
        typed: str = self.cleaned_data["dedup"]
        coded = typed.startswith("~")
        return {"dedup_id": decode_part(typed, colon=True) if coded else typed.encode()}


def coded(raw: bytes) -> str:
    """A deduplication id as its field takes it: as it is where that is plain text."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return encode_part(raw, colon=True)
    return text if text.isprintable() and not text.startswith("~") else encode_part(raw, colon=True)
