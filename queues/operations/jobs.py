"""What is done to jobs that were picked from one page: one or some, of one queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.conf import settings
from django.utils.translation import gettext as _

from queues import undo
from queues.actions import BATCH, LAST_RUN_MS, PRIORITY_MAX, Action, Outcome, Result, Target
from queues.audit.clean import line
from queues.audit.tally import Tally
from queues.audit.types import Asked
from queues.backend import Actions
from queues.errors import BadInput, LimitExceeded
from queues.models import AuditEntry
from queues.operations.guard import Begun, act
from queues.quantities import number
from queues.types import JobRef, QueueRef, State

REASON = 1_000  # characters

Do = Callable[[Actions, Sequence[Target]], Sequence[Result]]


def retry(
    asked: Asked, queue: QueueRef, targets: Sequence[Target], *, state: State, reset: bool, twins: bool = False
) -> AuditEntry:
    """Failed or completed jobs, back to where they wait. `reset` forgets their attempts.

    `twins`: also those whose deduplication id another job holds by now.
    """
    if state not in (State.FAILED, State.COMPLETED):
        raise BadInput(_("Only failed and completed jobs can be retried."))
    return _some(
        *(asked, Action.RETRY, queue, targets),
        lambda actions, some: actions.retry(queue, some, state=state, reset=reset, twins=twins),
        state=state.value,
        reset=reset,
        twins=twins,
    )


def promote(asked: Asked, queue: QueueRef, targets: Sequence[Target]) -> AuditEntry:
    """Delayed jobs, at once."""
    return _some(asked, Action.PROMOTE, queue, targets, lambda actions, some: actions.promote(queue, some))


def delay(asked: Asked, queue: QueueRef, targets: Sequence[Target], *, run_at_ms: int) -> AuditEntry:
    """Delayed jobs, at another moment."""
    if run_at_ms < 0:
        raise BadInput(_("This is no moment at which a job can run."))
    if run_at_ms > LAST_RUN_MS:
        raise BadInput(_("A job cannot be delayed beyond the year 2039."))
    return _some(
        *(asked, Action.DELAY, queue, targets),
        lambda actions, some: actions.delay(queue, some, run_at_ms=run_at_ms),
        run_at_ms=run_at_ms,
    )


def priority(asked: Asked, queue: QueueRef, targets: Sequence[Target], *, priority: int) -> AuditEntry:
    """Jobs that wait or are delayed: another priority, 0 to 2,097,152."""
    if not 0 <= priority <= PRIORITY_MAX:
        raise BadInput(_("A priority is a whole number from 0 to %(most)s.") % {"most": number(PRIORITY_MAX)})
    return _some(
        *(asked, Action.PRIORITY, queue, targets),
        lambda actions, some: actions.priority(queue, some, priority=priority),
        priority=priority,
    )


def remove(
    asked: Asked, queue: QueueRef, targets: Sequence[Target], *, state: State | None, children: bool
) -> AuditEntry:
    """Jobs that no worker holds, with all their keys. Copies are kept for a while where undo is on (`queues.undo`)."""

    def do(actions: Actions, tally: Tally, start: Begun) -> None:
        ids = [target.id for target in targets]
        with undo.kept_back(start.entry, queue, actions, ids, state, below=children) as settle:
            results = actions.remove(queue, targets, state=state, children=children)
            tally.add(results)
            along = sum(result.removed for result in results if result.outcome is Outcome.DONE)
            unkept = tally.outcomes.get(Outcome.DONE, 0) + along - settle(results)
        if unkept > 0 and settings.MIRANTE_UNDO_HOURS:
            tally.note = undo.unkept(unkept)

    told = {"state": state.value if state else None, "children": children}
    return act(asked, Action.REMOVE, queue, do, jobs=_slugs(queue, targets), parameters=told)


def fail(asked: Asked, queue: QueueRef, targets: Sequence[Target], *, reason: str) -> AuditEntry:
    """Active jobs whose lock is gone, to failed. `reason` becomes the job's reason of failure."""
    if len(reason) > REASON:
        raise BadInput(_("A reason has at most %(most)s characters.") % {"most": number(REASON)})
    return _some(
        *(asked, Action.FAIL, queue, targets),
        lambda actions, some: actions.fail(queue, some, reason=reason),
        failed_reason=line(reason, REASON),
    )


def requeue(asked: Asked, queue: QueueRef, targets: Sequence[Target]) -> AuditEntry:
    """Active jobs whose lock is gone, back to where they wait."""
    return _some(asked, Action.REQUEUE, queue, targets, lambda actions, some: actions.requeue(queue, some))


def _some(
    asked: Asked, action: Action, queue: QueueRef, targets: Sequence[Target], do: Do, **told: object
) -> AuditEntry:
    def work(actions: Actions, tally: Tally, start: Begun) -> None:
        tally.add(do(actions, targets))

    return act(asked, action, queue, work, jobs=_slugs(queue, targets), parameters=told)


def _slugs(queue: QueueRef, targets: Sequence[Target]) -> list[str]:
    if not 0 < len(targets) <= BATCH:
        raise LimitExceeded(_("This can be done to 1 to %(most)s jobs at once.") % {"most": number(BATCH)})
    return [JobRef(queue, target.id).slug for target in targets]
