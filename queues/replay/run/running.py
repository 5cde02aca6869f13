"""Running a plan, a slice at a time, so that several share the worker's threads fairly."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, cast

from django.db import Error as DatabaseError
from django.db import connection
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from queues import readonly
from queues.errors import OutOfMemory, QueueError, ReadOnly, Unreachable, Unsupported
from queues.lease import LeaseLost, Leases, Watch
from queues.models import Replay
from queues.operations.sending import writer
from queues.registry import backend
from queues.replay.hands import Reader, Sender
from queues.replay.run import facts, troubles
from queues.replay.run.cancelling import Cancelling
from queues.replay.run.clock import Clock
from queues.replay.run.early import Arming, Early
from queues.replay.run.ending import AWAITING, TIDYING, Ending
from queues.replay.run.going import Going
from queues.replay.run.halted import Halted
from queues.replay.run.run import Run, Steered
from queues.replay.run.settling import settle
from queues.replay.run.tidying import REST, Tidying
from queues.replay.types import ENDED, HALTED, SENDS, TENDED, Phase
from queues.types import Capability

SLICE_S = 2.0  # reading all sources waits for this when every thread runs one
PACED_SLICE_S = 10.0  # of a plan that sends a few jobs at a time, while few plans run here
FEW = 2  # of the threads of a worker (`worker_concurrency`): the others are left to what is short
AGAIN_S = 1.0  # after an error of our database
SHORT_S = 0.3  # that is slept within a slice

logger = logging.getLogger(__name__)


class Work(Protocol):
    """What a slice does in some phases of a plan."""

    def step(self) -> float:
        """A bounded piece; gives after how many seconds the next makes sense, `inf` for never."""

    def rest(self) -> None:
        """Write down what is pending."""

    def close(self) -> None:
        """What is left to do on the server, once all is written down."""


@dataclass(frozen=True, slots=True)
class Later:
    """That a plan goes on, for whoever finds it at this epoch, after so many seconds."""

    epoch: int
    after_s: float = 0.0


def run(replay: int, epoch: int, *, slice_s: float | None = None) -> Later | None:
    """Run a plan for a slice. None when it has ended, waits for a person, is in other hands, or has gone on since
    `epoch`.

    What goes wrong is written into the plan. An error of the database is raised where the plan cannot even be given
    back: the lease is left, and freed when it has been silent for long enough, as that of a worker that was lost.
    """
    began = time.monotonic()
    lease = None if _ends.is_set() else _LEASES.take(replay, epoch)
    if lease is None:
        return None
    run = Run(Replay.objects.select_related("source").get(pk=replay), lease, began)
    try:
        with _counted():
            wait = _guarded(run, slice_s)
            lease.release()
    except LeaseLost:
        logger.warning("%s was taken over by another worker, or by a person.", run.replay)
        return None
    except DatabaseError as error:
        logger.warning("%s was given back, as our database did not write: %s", run.replay, error)
        _give_back(run, error)
        return Later(lease.epoch, AGAIN_S)
    return None if wait == math.inf else Later(lease.epoch, min(wait, troubles.LONGEST_PAUSE_S))


def resting() -> Sequence[tuple[int, int]]:
    """The plans that could go on now, with their epochs: for whoever starts tasks by the clock."""
    return _watch.resting()


def watch(clock: Callable[[], float] = time.monotonic) -> Watch[Replay]:
    """What looks after those that hold a plan."""
    return Watch(_LEASES, clock)


def unended() -> QuerySet[Replay]:
    """The plans that are still to be run: halted and cancelled ones as long as anything that they sent is under way."""
    under_way = Q(phase__in=HALTED, sent__gt=F("completed") + F("failed") + F("other"))
    untidy = Q(phase__in=ENDED, step=TIDYING, ended_at__lt=timezone.now() - REST)
    awaits = Q(phase__in=ENDED, step=AWAITING)
    return Replay.objects.filter(Q(phase__in=TENDED - HALTED) | under_way | awaits | untidy)


def end_soon() -> None:
    """This process ends: slices come to their end, and no new one begins."""
    _ends.set()


def _give_back(run: Run, error: DatabaseError) -> None:
    """Let the next slice begin, which looks for what was sent and not written down. Raises the error if that fails."""
    known = {**run.replay.facts, facts.UNSETTLED: True}
    try:
        if not connection.in_atomic_block:  # as in tests
            connection.close_if_unusable_or_obsolete()
        Replay.objects.filter(pk=run.replay.pk, epoch=run.lease.epoch).update(facts=known)
        run.lease.release()
    except DatabaseError:
        raise error from None


def _guarded(run: Run, slice_s: float | None) -> float:
    """A slice; gives after how many seconds the next makes sense."""
    try:
        return _slice(run, slice_s)
    except (Unreachable, OutOfMemory, ReadOnly) as error:
        if isinstance(error, ReadOnly) and _forbidden(run):
            return troubles.break_off(run, error)
        return troubles.wait(run, error)
    except QueueError as error:
        return troubles.break_off(run, error)
    except (LeaseLost, DatabaseError):
        raise
    except Exception:
        logger.exception("%s has met an error of ours.", run.replay)
        run.facts[facts.UNSETTLED] = True
        return troubles.break_off(run, QueueError(_("An error of Mirante; its log tells more.")))


def _slice(run: Run, slice_s: float | None) -> float:
    troubles.lost(run)
    if run.phase is Phase.CANCELLING and run.replay.started_at is None:
        return _steps(run, slice_s)  # nothing was sent, and no server is needed
    if run.phase in SENDS | {Phase.ARMED} and (forbidden := _forbidden(run)):
        raise ReadOnly(forbidden)
    name = run.replay.source.name
    reader = backend(name)
    if Capability.REPLAYS not in reader.capabilities:
        raise Unsupported(_("Jobs of the source “%(source)s” cannot be replayed.") % {"source": name})
    with writer(name) as actions:
        run.reader, run.actions = cast(Reader, reader), cast(Sender, actions)
        run.clock = Clock.of(run.reader)
        try:
            settle(run)
            return _steps(run, slice_s)
        finally:
            run.land()  # whatever was raised: what was given to the server is over before its connections are


def _forbidden(run: Run) -> str:
    return readonly.by_setting(run.replay.source.name)


def _steps(run: Run, slice_s: float | None) -> float:
    """At least one step, until the time is over, or there is nothing to do for a while. All is written down then."""
    began, work, wait = time.monotonic(), None, 0.0
    while True:
        work = _work(run, work)
        if work is None:
            _finish(run, None)
            return math.inf
        try:
            wait = work.step()
            troubles.back(run)
        except Steered:
            work.rest()
            work = None
        except QueueError:
            work.rest()
            raise
        run.look()
        over = time.monotonic() + min(wait, SHORT_S) - began >= _lasts(work, slice_s)
        if wait > SHORT_S or over or _ends.is_set():
            break
        if wait:
            _ends.wait(wait)
    _finish(run, work)
    return wait


def _work(run: Run, before: Work | None) -> Work | None:
    """What is to be done in this phase; the same as before where that goes on."""
    kind = _kind(run)
    if before is not None and type(before) is kind:
        return before
    if before is not None:
        before.rest()
        before.close()
    return None if kind is None else kind(run)


def _kind(run: Run) -> Callable[[Run], Work] | None:
    if run.phase in ENDED:
        if run.replay.step == AWAITING:
            return Ending
        return Tidying if run.replay.step == TIDYING and _is_rested(run) else None
    return _WORK.get(run.phase)


def _is_rested(run: Run) -> bool:
    return run.replay.ended_at is not None and timezone.now() - run.replay.ended_at >= REST


def _lasts(work: Work | None, slice_s: float | None) -> float:
    """Seconds that a slice may take: longer where it mostly sleeps, as long as others find a thread."""
    if slice_s is not None:
        return slice_s
    return PACED_SLICE_S if isinstance(work, Going) and work.paced and len(_busy) <= FEW else SLICE_S


def _finish(run: Run, work: Work | None) -> None:
    if work is not None:
        work.rest()
    if run.facts != run.replay.facts:
        with run.saving():
            pass
    if work is not None:
        work.close()


@contextmanager
def _counted() -> Iterator[None]:
    """How many plans this process runs just now."""
    _busy.add(threading.get_ident())
    try:
        yield
    finally:
        _busy.discard(threading.get_ident())


_WORK: dict[Phase, Callable[[Run], Work]] = {
    Phase.FREEZING: Early,
    Phase.ARMED: Arming,
    Phase.CANARY: Going,
    Phase.RUNNING: Going,
    Phase.ENDING: Ending,
    Phase.CANCELLING: Cancelling,
    **dict.fromkeys(HALTED, Halted),
}
_LEASES = Leases(Replay, unended)
_watch = watch()
_busy: set[int] = set()  # threads
_ends = threading.Event()
