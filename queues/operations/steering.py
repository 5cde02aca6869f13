"""What is done to a queue itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from django.utils.translation import gettext as _

from queues.actions import Action, NewJob, Result, Step
from queues.audit.clean import body, line
from queues.audit.tally import Tally
from queues.audit.types import Asked
from queues.backend import Actions
from queues.errors import BadInput, LimitExceeded
from queues.models import AuditEntry
from queues.names import visible
from queues.operations.guard import Begun, act
from queues.quantities import LARGEST, number
from queues.types import QueueRef

LONGEST_S = 20.0  # that a request goes on with steps
JOB_MAX = 16 * 1024 * 1024  # bytes of a job that is added


def add(asked: Asked, queue: QueueRef, new: NewJob) -> AuditEntry:
    """A new job. `audit.made(entry)` is its slug."""
    ensure_fits(new.data)

    def work(actions: Actions, tally: Tally, start: Begun) -> None:
        tally.add([actions.add(queue, new, token=start.token)])

    exact = b"\0".join((new.name, new.id, new.opts, new.data))
    return act(asked, Action.ADD, queue, work, parameters=told_of(new), exact=exact)


def ensure_fits(data: bytes) -> None:
    """BadInput for more data than we put into a job."""
    if len(data) > JOB_MAX:
        raise BadInput(_("A job may hold at most 16 MB."))


def told_of(new: NewJob) -> dict[str, object]:
    """What the log keeps of a new job."""
    told: dict[str, object] = {"name": line(visible(new.name)), "bytes": len(new.data), "data": body(new.data)}
    told["options"] = body(new.opts)
    return told | ({"id": line(visible(new.id))} if new.id else {})


def pause(asked: Asked, queue: QueueRef) -> AuditEntry:
    """Let no worker take a job."""
    return _stepwise(asked, Action.PAUSE, queue, lambda actions: actions.pause(queue))


def resume(asked: Asked, queue: QueueRef) -> AuditEntry:
    """Let workers take jobs again: loops until both lists are merged."""
    return _stepwise(asked, Action.RESUME, queue, lambda actions: actions.resume(queue))


def concurrency(asked: Asked, queue: QueueRef, most: int | None) -> AuditEntry:
    """How many jobs may be active at once; None = no limit."""
    _positive(most)
    return _once(asked, Action.CONCURRENCY, queue, {"most": most}, lambda actions: actions.concurrency(queue, most))


def rate_limit(asked: Asked, queue: QueueRef, most: int | None, duration_ms: int = 0) -> AuditEntry:
    """How many jobs may start in a span of time; None = no limit."""
    _positive(most)
    if most is not None:
        _positive(duration_ms)
    told = {"most": most, "duration_ms": duration_ms}
    return _once(asked, Action.RATE_LIMIT, queue, told, lambda actions: actions.rate_limit(queue, most, duration_ms))


def release_limit(asked: Asked, queue: QueueRef) -> AuditEntry:
    """End the wait of a queue that has reached its rate limit."""
    return _once(asked, Action.RELEASE_LIMIT, queue, {}, lambda actions: actions.release_limit(queue))


def release_deduplication(asked: Asked, queue: QueueRef, dedup_id: bytes) -> AuditEntry:
    """Forget which job holds a deduplication id, where that job is gone or has ended."""
    return _once(
        asked,
        Action.RELEASE_DEDUPLICATION,
        queue,
        {"id": line(visible(dedup_id), 500)},
        lambda actions: actions.release_deduplication(queue, dedup_id),
        exact=dedup_id,
    )


def trim_events(asked: Asked, queue: QueueRef, *, keep: int) -> AuditEntry:
    """Drop the oldest events until about `keep` are left."""
    if not 0 <= keep <= LARGEST:
        raise BadInput(_("Say how many events to keep: 0 or more."))
    return _stepwise(
        asked, Action.TRIM_EVENTS, queue, lambda actions: actions.trim_events(queue, keep=keep), {"keep": keep}
    )


def _once(
    asked: Asked,
    action: Action,
    queue: QueueRef,
    told: Mapping[str, object],
    do: Callable[[Actions], Result],
    *,
    exact: bytes = b"",
) -> AuditEntry:
    def work(actions: Actions, tally: Tally, start: Begun) -> None:
        tally.add([do(actions)])

    return act(asked, action, queue, work, parameters=told, exact=exact)


def _stepwise(
    asked: Asked,
    action: Action,
    queue: QueueRef,
    do: Callable[[Actions], Step],
    told: Mapping[str, object] | None = None,
) -> AuditEntry:
    def work(actions: Actions, tally: Tally, start: Begun) -> None:
        until = time.monotonic() + LONGEST_S
        while True:
            step = do(actions)
            tally.step(step)
            if step.cursor is None:
                return
            if time.monotonic() > until:
                raise LimitExceeded(
                    _("It is not at its end after %(seconds)s seconds. Ask for the same again to go on.")
                    % {"seconds": number(LONGEST_S)}
                )

    return act(asked, action, queue, work, parameters=told)


def _positive(value: int | None) -> None:
    if value is not None and not 0 < value <= LARGEST:
        raise BadInput(_("Expected a number above zero."))
