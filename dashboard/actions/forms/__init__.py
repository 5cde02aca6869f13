"""The fields of each action. `arguments()` of a valid form is what `queues.operations` takes by keyword."""

from __future__ import annotations

from dashboard.actions.forms.adding import AddForm
from dashboard.actions.forms.base import ActionForm
from dashboard.actions.forms.data import DataForm
from dashboard.actions.forms.moves import DelayForm, PriorityForm, RetryForm
from dashboard.actions.forms.orphans import FailForm, LogForm
from dashboard.actions.forms.removal import RemoveForm
from dashboard.actions.forms.steering import ConcurrencyForm, RateLimitForm, ReleaseDeduplicationForm, TrimEventsForm
from dashboard.actions.forms.sweeps import CleanForm, DrainForm, ObliterateForm

__all__ = [
    "ActionForm",
    "AddForm",
    "CleanForm",
    "ConcurrencyForm",
    "DataForm",
    "DelayForm",
    "DrainForm",
    "FailForm",
    "LogForm",
    "ObliterateForm",
    "PriorityForm",
    "RateLimitForm",
    "ReleaseDeduplicationForm",
    "RemoveForm",
    "RetryForm",
    "TrimEventsForm",
]
