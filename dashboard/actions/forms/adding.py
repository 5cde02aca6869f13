"""The form of a new job: its name, its data, and its options as BullMQ stores them."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.actions.forms.base import ActionForm
from dashboard.actions.forms.data import AREA
from dashboard.actions.forms.moves import UNIT_WORDS, UNITS
from dashboard.actions.hiding import valid_json
from queues.actions import PRIORITY_MAX, NewJob
from queues.backend import BODY_CAP
from queues.quantities import size

_PLAIN = {"autocomplete": "off", "spellcheck": "false"}
_MOST = 10**9
KEEP = (
    ("", _("as its workers are set, else for ever")),
    ("now", _("not at all")),
    ("count", _("among the newest")),
)


class AddForm(ActionForm):
    """A job to add. Everything but the name and the data may stay empty."""

    rows = (
        ("delay", "delay_unit"),
        ("attempts", "backoff", "backoff_amount", "backoff_unit"),
        ("keep_completed", "keep_completed_count"),
        ("keep_failed", "keep_failed_count"),
        ("dedup", "dedup_ttl", "dedup_unit"),
    )
    folded = (
        (_("When it runs"), ("delay", "delay_unit", "priority", "lifo")),
        (_("When it fails"), ("attempts", "backoff", "backoff_amount", "backoff_unit")),
        (_("Its id"), ("job_id", "dedup", "dedup_ttl", "dedup_unit")),
        (_("How long it is kept"), ("keep_completed", "keep_completed_count", "keep_failed", "keep_failed_count")),
    )
    folded_words = _("delay, priority, attempts, id, how long it is kept")

    job_name = forms.CharField(label=_("Name"), max_length=500, widget=forms.TextInput(attrs=_PLAIN))
    payload = forms.CharField(
        label=_("Data"),
        initial="{}",
        strip=False,
        help_text=_("Any JSON value."),
        widget=forms.Textarea(attrs=AREA | {"rows": 5}),
    )
    job_id = forms.CharField(
        label=_("Job id"),
        required=False,
        max_length=500,
        help_text=_("Empty: the next number. If a job has this id already, nothing is added."),
        widget=forms.TextInput(attrs=_PLAIN),
    )
    delay = forms.IntegerField(label=_("Delay"), required=False, min_value=0, max_value=_MOST)
    delay_unit = forms.ChoiceField(label=_("Unit of the delay"), required=False, choices=UNIT_WORDS, initial="s")
    attempts = forms.IntegerField(label=_("Attempts in all"), required=False, min_value=1, max_value=10_000)
    backoff = forms.ChoiceField(
        label=_("Backoff between them"),
        required=False,
        choices=(("", _("none")), ("fixed", _("fixed")), ("exponential", _("exponential"))),
    )
    backoff_amount = forms.IntegerField(label=_("First wait"), required=False, min_value=0, max_value=_MOST)
    backoff_unit = forms.ChoiceField(label=_("Unit of the wait"), required=False, choices=UNIT_WORDS, initial="s")
    priority = forms.IntegerField(
        label=_("Priority"),
        required=False,
        min_value=0,
        max_value=PRIORITY_MAX,
        help_text=_("1 is the most urgent. Jobs without a priority run before all others."),
    )
    lifo = forms.BooleanField(label=_("Put it at the front of the line"), required=False)
    keep_completed = forms.ChoiceField(label=_("When completed, keep it"), required=False, choices=KEEP)
    keep_completed_count = forms.IntegerField(label=_("How many"), required=False, min_value=1, max_value=_MOST)
    keep_failed = forms.ChoiceField(label=_("When failed, keep it"), required=False, choices=KEEP)
    keep_failed_count = forms.IntegerField(label=_("How many"), required=False, min_value=1, max_value=_MOST)
    dedup = forms.CharField(
        label=_("Deduplication id"),
        required=False,
        max_length=500,
        help_text=_("While it is held, no other job with it is added. Without a time: until the job ends."),
        widget=forms.TextInput(attrs=_PLAIN),
    )
    dedup_ttl = forms.IntegerField(label=_("Held for"), required=False, min_value=1, max_value=_MOST)
    dedup_unit = forms.ChoiceField(label=_("Unit of that time"), required=False, choices=UNIT_WORDS, initial="s")

    def clean_payload(self) -> str:
        text: str = self.cleaned_data["payload"]
        if wrong := valid_json(text):
            raise forms.ValidationError(wrong, code="json")
        if len(text.encode()) > BODY_CAP:
            most = {"size": size(BODY_CAP)}
            raise forms.ValidationError(gettext("At most %(size)s by this form.") % most, code="size")
        return text

    def clean_job_id(self) -> str:
        given: str = self.cleaned_data["job_id"]
        if given.isascii() and given.isdigit():
            raise forms.ValidationError(gettext("A number: BullMQ gives out those itself. Add a letter."), code="id")
        if ":" in given:
            raise forms.ValidationError(gettext("BullMQ takes no id with a colon."), code="id")
        return given

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        for choice in ("keep_completed", "keep_failed"):
            if given.get(choice) == "count" and given.get(f"{choice}_count") is None:
                self._ask_for(f"{choice}_count", gettext("Say how many."))
        if given.get("backoff") and given.get("backoff_amount") is None:
            self._ask_for("backoff_amount", gettext("Say how long."))
        if given.get("dedup_ttl") is not None and not given.get("dedup"):
            self._ask_for("dedup", gettext("Say which id."))
        return given

    def _ask_for(self, field: str, words: str) -> None:
        if field not in self.errors:
            self.add_error(field, words)

    def arguments(self) -> dict[str, Any]:
        given = self.cleaned_data
        opts = json.dumps(self._opts(given), separators=(",", ":"), ensure_ascii=False).encode()
        new = NewJob(given["job_name"].encode(), given["payload"].encode(), opts, given["job_id"].encode())
        return {"new": new}

    @staticmethod
    def _opts(given: dict[str, Any]) -> dict[str, Any]:
        opts: dict[str, Any] = {"attempts": given["attempts"] or 1}
        if given["delay"]:
            opts["delay"] = _ms(given, "delay", "delay_unit")
        if given["backoff"]:
            opts["backoff"] = {"type": given["backoff"], "delay": _ms(given, "backoff_amount", "backoff_unit")}
        if given["priority"]:
            opts["priority"] = given["priority"]
        if given["lifo"]:
            opts["lifo"] = True
        if given["job_id"]:
            opts["jobId"] = given["job_id"]
        for field, option in (("keep_completed", "removeOnComplete"), ("keep_failed", "removeOnFail")):
            if given[field]:
                opts[option] = True if given[field] == "now" else {"count": given[f"{field}_count"]}
        if given["dedup"]:
            ttl = {"ttl": _ms(given, "dedup_ttl", "dedup_unit")} if given["dedup_ttl"] else {}
            opts["de"] = {"id": given["dedup"], **ttl}
        return opts


def _ms(given: dict[str, Any], amount: str, unit: str) -> int:
    return int(given[amount] * UNITS[given[unit] or "s"])
