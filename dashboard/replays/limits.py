"""The form of what admins allow of replays."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.replays.forms import ActForm
from queues.models import ReplayLimits
from queues.replay.limits import FASTEST, LONGEST_UNDO_S, MOST_JOBS, SLOWEST

NAMES = ("largest", "fastest", "approval", "undo_s", "typed")


class LimitsForm(ActForm):
    """The limits. Those that may stay empty are none then."""

    largest = forms.IntegerField(
        label=_("Largest set, jobs"),
        required=False,
        min_value=1,
        max_value=MOST_JOBS,
        help_text=_("A plan of more jobs is not made. Empty: any number."),
    )
    fastest = forms.FloatField(
        label=_("Highest pace, jobs a second"),
        required=False,
        min_value=SLOWEST,
        max_value=FASTEST,
        help_text=_("Empty: any pace, also as fast as the server takes them."),
    )
    approval = forms.IntegerField(
        label=_("Approval above, jobs"),
        required=False,
        min_value=0,
        max_value=MOST_JOBS,
        help_text=_("A plan that sends more needs a second person. Empty: never. 0: always."),
    )
    undo_s = forms.IntegerField(
        label=_("Time to take a start back, seconds"),
        min_value=0,
        max_value=LONGEST_UNDO_S,
        help_text=_("Between the start and the first job."),
    )
    typed = forms.IntegerField(
        label=_("Name to type above, jobs"),
        min_value=0,
        max_value=MOST_JOBS,
        help_text=_("Who starts a plan that sends more has to type the name of its queue. 0: always."),
    )
    field_order = (*NAMES, "reason")

    @classmethod
    def of(cls, now: ReplayLimits) -> LimitsForm:
        """What holds now, to be changed."""
        return cls(initial={name: getattr(now, name) for name in NAMES})

    def values(self) -> dict[str, Any]:
        """What `queues.replay.limits.change` takes. Only of a valid form."""
        return {name: self.cleaned_data[name] for name in NAMES}
