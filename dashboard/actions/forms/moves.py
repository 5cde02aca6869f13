"""The forms of what moves jobs: retry, another time, another priority."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.actions.forms.base import ActionForm
from queues.actions import LAST_RUN_MS, PRIORITY_MAX
from queues.quantities import DAY, HOUR, MINUTE, SECOND, now_ms

UNITS = {"s": SECOND, "min": MINUTE, "h": HOUR, "d": DAY}
UNIT_WORDS = (("s", _("seconds")), ("min", _("minutes")), ("h", _("hours")), ("d", _("days")))
LOCAL = "%Y-%m-%dT%H:%M"  # as a browser's field of date and time writes it


class RetryForm(ActionForm):
    """Retry: what becomes of the attempts that were made. `twin`: another job holds its deduplication id."""

    attempts = forms.ChoiceField(
        label=_("Attempts already made"),
        choices=(
            ("keep", _("Keep them: only the attempts that are left, at least one")),
            ("reset", _("Forget them: it gets all its attempts again")),
        ),
        initial="keep",
        widget=forms.RadioSelect,
    )

    def __init__(self, *args: Any, twin: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if twin:
            self.fields["twins"] = forms.BooleanField(
                label=_("Retry it all the same"),
                help_text=_("Both jobs are then there with the same deduplication id."),
                error_messages={"required": _("Nothing was done: tick this if both jobs should be there.")},
            )

    def arguments(self) -> dict[str, Any]:
        reset = {"reset": self.cleaned_data["attempts"] == "reset"}
        return reset | {"twins": True} if "twins" in self.fields else reset


class DelayForm(ActionForm):
    """Another moment: so much from now, or at a time of day.

    `at` is read as UTC, unless a script that knows the reader's zone has put the same moment into `at_ms`.
    """

    rows = (("amount", "unit"),)

    how = forms.ChoiceField(
        label=_("When it should run"),
        choices=(("in", _("In a while, from now")), ("at", _("At a date and time"))),
        initial="in",
        widget=forms.RadioSelect,
    )
    amount = forms.IntegerField(label=_("In"), required=False, min_value=0, max_value=10**9, initial=10)
    unit = forms.ChoiceField(label=_("Unit of time"), required=False, choices=UNIT_WORDS, initial="min")
    at = forms.DateTimeField(
        label=_("At"),
        required=False,
        input_formats=[LOCAL, "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"],
        help_text=_("In UTC."),
        widget=forms.DateTimeInput(
            format=LOCAL,
            attrs={
                "type": "datetime-local",
                "data-when": _("{} in your time zone, {} UTC"),
                "data-local": _("In your time zone."),
            },
        ),
    )
    at_ms = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if not self.errors:
            run_at_ms, now = self._run_at_ms(given), now_ms()
            field = "at" if given["how"] == "at" else "amount"
            if run_at_ms is None:
                self.add_error(field, gettext("Say when."))
            elif run_at_ms < now - MINUTE:
                self.add_error(field, gettext("This moment has passed. To run a job at once, promote it."))
            elif run_at_ms > LAST_RUN_MS:
                self.add_error(field, gettext("A job cannot be delayed beyond the year 2039."))
            given["run_at_ms"] = run_at_ms
        return given

    @staticmethod
    def _run_at_ms(given: dict[str, Any]) -> int | None:
        if given["how"] == "in":
            amount: int | None = given.get("amount")
            return None if amount is None else now_ms() + amount * UNITS[given.get("unit") or "s"]
        at: datetime | None = given.get("at")
        if given.get("at_ms") is not None and at is not None:
            return int(given["at_ms"])
        return None if at is None else int(at.replace(tzinfo=UTC).timestamp() * 1000)

    def arguments(self) -> dict[str, Any]:
        return {"run_at_ms": self.cleaned_data["run_at_ms"]}


class PriorityForm(ActionForm):
    """Another priority."""

    priority = forms.IntegerField(
        label=_("Priority"),
        min_value=0,
        max_value=PRIORITY_MAX,
        help_text=_(
            "1 is the most urgent, 2,097,152 the least. 0 is none: jobs without a priority run before all others."
        ),
    )
