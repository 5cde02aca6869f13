"""From a valid form to the operation that it asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from dashboard.actions.forms import ActionForm, DataForm
from queues import operations
from queues.actions import Action, Target
from queues.audit import Asked
from queues.errors import BadInput
from queues.models import AuditEntry
from queues.types import JobRef, QueueRef, State

_TARGETED: Mapping[Action, Callable[..., AuditEntry]] = {
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
    told = form.arguments()
    if isinstance(form, DataForm):
        return _with_data(asked, action, ref, form)
    if action is Action.REMOVE_CHILDREN:
        return operations.remove_children(asked, ref)
    if action is Action.LOG:
        return operations.log(asked, ref, told["line"])
    state = form.seen_state or (State.FAILED if action is Action.RETRY else None)
    return to_jobs(asked, action, ref.queue, [Target(ref.id, form.seen_mark)], state=state, told=told)


def to_jobs(
    asked: Asked,
    action: Action,
    queue: QueueRef,
    targets: Sequence[Target],
    *,
    state: State | None,
    told: Mapping[str, Any],
) -> AuditEntry:
    """Do it at once to jobs that were seen in this state. Raises what `queues.operations` raises."""
    if action is Action.REMOVE:
        return operations.remove(asked, queue, targets, state=state, **told)
    if action is not Action.RETRY:
        return _TARGETED[action](asked, queue, targets, **told)
    if state is None:
        raise BadInput(_("Only failed or completed jobs can be retried: open one of both lists."))
    return operations.retry(asked, queue, targets, state=state, **told)


def _with_data(asked: Asked, action: Action, ref: JobRef, form: DataForm) -> AuditEntry:
    data = form.arguments().get("data")
    if action is Action.EDIT:
        return operations.edit(asked, ref, data or b"", was=form.raw)
    return operations.duplicate(asked, ref, data)


def to_queue(asked: Asked, action: Action, ref: QueueRef, form: ActionForm) -> AuditEntry:
    """Do it. Raises what `queues.operations` raises."""
    call: Any = _QUEUE[action]
    return call(asked, ref, **form.arguments())  # type: ignore[no-any-return]
