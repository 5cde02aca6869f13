"""Running an action, a slice at a time, so that several share the worker's threads fairly."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import Error as DatabaseError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from queues.audit.types import Status
from queues.bulk import facts
from queues.bulk.acting import Acting
from queues.bulk.freezing import Collecting
from queues.bulk.lease import take, watch
from queues.bulk.phases import Phase
from queues.bulk.progress import doubtful, remaining
from queues.bulk.run import Run
from queues.bulk.sweeping import Sweeping
from queues.errors import OutOfMemory, QueueError, Unreachable
from queues.lease import LeaseLost
from queues.models import AuditEntry, Bulk
from queues.names import show_controls

SLICE_S = 2.0  # reading all sources waits for this when every thread runs one
LONGEST_PAUSE_S = 10.0
GIVE_UP_AFTER = timedelta(hours=1)  # of a source that does not answer, or has no memory left

_WORK: Mapping[Phase, type[Collecting | Acting | Sweeping]] = {
    Phase.COLLECTING: Collecting,
    Phase.ACTING: Acting,
    Phase.SWEEPING: Sweeping,
}

logger = logging.getLogger(__name__)
_watch = watch()


@dataclass(frozen=True, slots=True)
class Later:
    """That an action goes on, for whoever finds it at this epoch, after so many seconds."""

    epoch: int
    after_s: float = 0.0


def run(bulk: int, epoch: int, *, slice_s: float | None = None) -> Later | None:
    """Run an action for a slice. None when it has ended, is in other hands, or has gone on since `epoch`.

    What goes wrong is written into its audit entry. Errors of the database alone are raised: the lease is left, and
    freed when it has been silent for long enough, as that of a worker that was lost.
    """
    lease = take(bulk, epoch)
    if lease is None:
        return None
    run = Run(Bulk.objects.select_related("entry").get(pk=bulk), lease)
    try:
        return _guarded(run, time.monotonic() + (SLICE_S if slice_s is None else slice_s))
    except LeaseLost:
        logger.warning("Action %d was taken over by another worker.", run.entry.pk)
    return None


def resting() -> Sequence[tuple[int, int]]:
    """The actions that could go on now, with their epochs: for whoever starts tasks by the clock."""
    return _watch.resting()


def _guarded(run: Run, until: float) -> Later | None:
    try:
        return _slice(run, until)
    except (Unreachable, OutOfMemory) as error:
        return _wait(run, error)
    except QueueError as error:
        run.finish(Status.FAILED, _told(run, str(error)))
    except (LeaseLost, DatabaseError):
        raise
    except Exception:
        logger.exception("Action %d has failed.", run.entry.pk)
        run.finish(Status.FAILED, _told(run, _("An error of Mirante; its log tells more.")))
    return None


def _slice(run: Run, until: float) -> Later | None:
    """Steps within their time. None when the action has ended."""
    # Not above: the package of operations begins actions, too.
    from queues.operations.guard import ensure_writable
    from queues.operations.sending import writer

    ensure_writable(run.queue)
    with writer(run.queue.source) as run.actions:
        _steps(run, until)
    if run.phase is Phase.ENDED:
        return None
    run.lease.release()
    return Later(run.lease.epoch)


def _steps(run: Run, until: float) -> None:
    """At least one step, until the time is over, the action has ended, or somebody asks it to stop."""
    work: Collecting | Acting | Sweeping | None = None
    while run.phase is not Phase.ENDED and (work is None or time.monotonic() < until):
        by = run.stop_asked_by()
        if by and work:
            work.rest()
        if by:
            run.finish(Status.STOPPED, _told(run, _("Stopped by %(name)s.") % {"name": by}))
            return
        if not isinstance(work, _WORK[run.phase]):
            work = _WORK[run.phase](run)
        work.step()
    if work and run.phase is not Phase.ENDED:
        work.rest()


def _wait(run: Run, error: Unreachable | OutOfMemory) -> Later | None:
    """The source is away, or its memory full: say so, and come back; give up after an hour."""
    now = timezone.now()
    since = run.bulk.down_since or now
    if now - since >= GIVE_UP_AFTER:
        run.finish(Status.FAILED, _told(run, _("%(error)s It was tried for an hour.") % {"error": error}))
        return None
    if isinstance(error, OutOfMemory):
        note = _("%(error)s It goes on by itself as soon as there is room.") % {"error": error}
    else:
        note = _("%(error)s It goes on by itself as soon as the source answers.") % {"error": error}
    with transaction.atomic():
        run.lease.keep(down_since=since, tries=run.bulk.tries + 1, facts=run.facts, holder="")
        AuditEntry.objects.filter(pk=run.entry.pk).update(note=show_controls(note))
    return Later(run.lease.epoch, min(2.0 ** min(run.bulk.tries, 10) / 2, LONGEST_PAUSE_S))


def _told(run: Run, text: str) -> str:
    """A note on an end before the end: with what was not handled, and that a lost worker may have done more."""
    if run.phase is Phase.SWEEPING and run.facts.get(facts.LOST):
        run.facts[facts.UNCOUNTED] = True
    if count := doubtful(run.bulk):
        run.facts[facts.DOUBTFUL] = count
    return f"{show_controls(text)} {facts.left(remaining(run.bulk))}"
