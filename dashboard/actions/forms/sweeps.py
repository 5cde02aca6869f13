"""The forms of what empties a queue: drain, clean by age, obliterate."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.actions.forms.base import ActionForm
from dashboard.actions.forms.moves import UNIT_WORDS, UNITS
from dashboard.words import STATE_WORDS
from queues.actions import CLOCKS, Clock
from queues.types import State

CLOCK_WORDS = {
    Clock.FINISHED: _("since finished"),
    Clock.CREATED: _("since created"),
    Clock.DUE: _("since due"),
}


class DrainForm(ActionForm):
    """Drain: with or without what is delayed."""

    delayed = forms.BooleanField(
        label=_("Also remove delayed jobs"),
        required=False,
        help_text=_("Including retries that wait for their backoff. The next runs of schedules stay."),
    )


class ObliterateForm(ActionForm):
    """Obliterate: also while jobs are active."""

    force = forms.BooleanField(
        label=_("Also while jobs are active"),
        required=False,
        help_text=_("Their workers will find them gone; what they did meanwhile is recorded nowhere."),
    )


class CleanForm(ActionForm):
    """Clean: which state, how old, by which clock."""

    rows = (("amount", "unit", "clock"),)

    state = forms.ChoiceField(
        label=_("State"), choices=[(state.value, STATE_WORDS[state]) for state in CLOCKS], initial=State.COMPLETED.value
    )
    amount = forms.IntegerField(label=_("Older than"), min_value=0, max_value=10**9, initial=1)
    unit = forms.ChoiceField(label=_("Unit of time"), choices=UNIT_WORDS, initial="d")
    clock = forms.ChoiceField(
        label=_("Counted"),
        choices=[(clock.value, words) for clock, words in CLOCK_WORDS.items()],
        initial=Clock.FINISHED.value,
    )

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if "state" in given and "clock" in given and Clock(given["clock"]) not in CLOCKS[State(given["state"])]:
            self.add_error("clock", self._not_known(State(given["state"])))
        return given

    @staticmethod
    def _not_known(state: State) -> str:
        known = ", ".join(str(CLOCK_WORDS[clock]) for clock in CLOCKS[state])
        said = gettext("Jobs in this state have no such time. What they have: %(clocks)s.")
        return said % {"clocks": known}

    def arguments(self) -> dict[str, Any]:
        given = self.cleaned_data
        older_ms = given["amount"] * UNITS[given["unit"]]
        return {"state": State(given["state"]), "clock": Clock(given["clock"]), "older_ms": older_ms}
