"""Jobs that go on: retried, promoted, moved in time or in rank, and those whose worker is gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from queues.actions import BATCH, LAST_RUN_MS, PRIORITY_MAX, Outcome, Result, Target
from queues.backends.bullmq.hinting import Hinted
from queues.backends.bullmq.replies import Reply, array, blob, integer
from queues.backends.bullmq.writer import STATES, Writer
from queues.errors import BadInput, LimitExceeded
from queues.types import QueueRef, State

# A scheduler's next run, and why it stays.
_SCHEDULED = gettext_lazy(
    "It is the next run of a schedule: moving it would end the schedule. Change or run the schedule instead."
)
_WHY: Mapping[str, Promise] = {
    "damaged": gettext_lazy("Its {0} is damaged: a worker would fail on it over and over, or work on nothing."),
    "twin": gettext_lazy("Job {0} has the same deduplication id and has not ended: both would run."),
    "four": gettext_lazy("BullMQ 4.x works on this queue: only retry, promote and remove are done there."),
    "begins": gettext_lazy("A worker may be taking it just now: it is not marked as begun."),
    "deferred": gettext_lazy(
        "It waits with this failure: the next worker fails it at once, since more hangs on its end."
    ),
    "parent-failed": gettext_lazy("Its parent has failed: retry it after this job has completed."),
    "parent-gone": gettext_lazy("Its parent is gone: nothing waits for this job."),
    "parent-gone-on": gettext_lazy("Its parent has gone on and does not wait for it again."),
    "children": gettext_lazy("Children of it have not ended: it fails again unless its processor waits for them."),
}
_PLAIN = [b"done", b"", b""]  # what nearly every job comes to
_NAMES_SHOWN = 120  # characters of an id in a sentence


def retry(
    writer: Writer, queue: QueueRef, targets: Sequence[Target], *, state: State, reset: bool, twins: bool = False
) -> list[Result]:
    return writer.batch("retry", queue, targets, state.value, int(reset), int(twins), read=_read)


def promote(writer: Writer, queue: QueueRef, targets: Sequence[Target]) -> list[Result]:
    return writer.batch("promote", queue, targets, read=_read)


def delay(writer: Writer, queue: QueueRef, targets: Sequence[Target], *, run_at_ms: int) -> list[Result]:
    if run_at_ms < 0:
        raise BadInput(_("This is no moment at which a job can run."))
    if run_at_ms > LAST_RUN_MS:
        raise BadInput(_("A job cannot be delayed beyond the year 2039."))
    return writer.batch("delay", queue, targets, run_at_ms, read=_read)


def priority(writer: Writer, queue: QueueRef, targets: Sequence[Target], *, priority: int) -> list[Result]:
    if not 0 <= priority <= PRIORITY_MAX:
        raise BadInput(_("A priority is a whole number from 0 to %(most)s.") % {"most": f"{PRIORITY_MAX:,}"})
    if len(targets) > BATCH:
        raise LimitExceeded(_("This can be done to at most %(most)d jobs at once.") % {"most": BATCH})
    ranking = Hinted(writer, queue, "priority", (priority,), targets, _read)
    ranking.ask(sought=False)
    return ranking.results


def fail(writer: Writer, queue: QueueRef, targets: Sequence[Target], *, reason: str) -> list[Result]:
    return writer.batch("fail", queue, targets, reason.encode(errors="replace"), read=_read)


def requeue(writer: Writer, queue: QueueRef, targets: Sequence[Target]) -> list[Result]:
    return writer.batch("requeue", queue, targets, read=_read)


def _read(target: Target, told: Reply) -> Result:
    """An outcome, the state or the lock's ms, and where there is more to say a reason with the name that it needs."""
    if told == _PLAIN:
        return Result(target.id, Outcome.DONE)
    outcome, detail, *more = array(told)
    kind = Outcome((blob(outcome) or b"").decode())
    code = (blob(more[0]) or b"").decode() if more else ""
    named = (blob(more[1]) or b"") if len(more) > 1 else b""
    return Result(
        target.id,
        kind,
        state=None if kind is Outcome.LOCKED else STATES.get((blob(detail) or b"").decode(errors="replace")),
        lock_ms=integer(detail) if kind is Outcome.LOCKED else None,
        why=str(_SCHEDULED) if kind is Outcome.SCHEDULED else _sentence(code, named),
        made=named if code == "twin" else b"",
    )


def _sentence(code: str, named: bytes) -> str:
    return str(_WHY[code]).format(named.decode(errors="replace")[:_NAMES_SHOWN]) if code else ""
