"""From a valid form to the operation that it asks for."""

from __future__ import annotations

from typing import Any

from dashboard.actions.forms import ActionForm, DataForm
from queues import operations
from queues.actions import Action, Target
from queues.audit import Asked
from queues.models import AuditEntry
from queues.types import JobRef, QueueRef, State

_TARGETED = {
    Action.PROMOTE: operations.promote,
    Action.DELAY: operations.delay,
    Action.PRIORITY: operations.priority,
    Action.FAIL: operations.fail,
    Action.REQUEUE: operations.requeue,
}
_QUEUE = {
    Action.ADD: operations.add,
    Action.PAUSE: operations.pause,
    Action.RESUME: operations.resume,
    Action.CONCURRENCY: operations.concurrency,
    Action.RATE_LIMIT: operations.rate_limit,
    Action.RELEASE_LIMIT: operations.release_limit,
    Action.RELEASE_DEDUPLICATION: operations.release_deduplication,
    Action.DRAIN: operations.drain,
    Action.CLEAN: operations.clean,
    Action.OBLITERATE: operations.obliterate,
    Action.TRIM_EVENTS: operations.trim_events,
}
BACKGROUND = frozenset({Action.DRAIN, Action.CLEAN, Action.OBLITERATE})


def to_job(asked: Asked, action: Action, ref: JobRef, form: ActionForm) -> AuditEntry:
    """Do it. Raises what `queues.operations` raises."""
    targets, told = [Target(ref.id, form.seen_mark)], form.arguments()
    if isinstance(form, DataForm):
        return _with_data(asked, action, ref, form)
    if action is Action.RETRY:
        return operations.retry(asked, ref.queue, targets, state=form.seen_state or State.FAILED, **told)
    if action is Action.REMOVE:
        return operations.remove(asked, ref.queue, targets, state=form.seen_state, **told)
    if action is Action.REMOVE_CHILDREN:
        return operations.remove_children(asked, ref)
    if action is Action.LOG:
        return operations.log(asked, ref, told["line"])
    call: Any = _TARGETED[action]
    return call(asked, ref.queue, targets, **told)  # type: ignore[no-any-return]


def _with_data(asked: Asked, action: Action, ref: JobRef, form: DataForm) -> AuditEntry:
    data = form.arguments().get("data")
    if action is Action.EDIT:
        return operations.edit(asked, ref, data or b"", was=form.raw)
    return operations.duplicate(asked, ref, data)


def to_queue(asked: Asked, action: Action, ref: QueueRef, form: ActionForm) -> AuditEntry:
    """Do it. Raises what `queues.operations` raises."""
    call: Any = _QUEUE[action]
    return call(asked, ref, **form.arguments())  # type: ignore[no-any-return]
