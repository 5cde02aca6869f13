"""The fields of each action. `arguments()` of a valid form is what `queues.operations` takes by keyword."""

from __future__ import annotations

from dashboard.actions.forms.base import ActionForm
from dashboard.actions.forms.moves import DelayForm, PriorityForm, RetryForm
from dashboard.actions.forms.removal import RemoveForm

__all__ = ["ActionForm", "DelayForm", "PriorityForm", "RemoveForm", "RetryForm"]
