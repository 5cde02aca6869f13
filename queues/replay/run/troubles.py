"""What goes wrong on the way of a plan: sources that are away, servers that refuse, workers that were lost."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from queues.errors import OutOfMemory, QueueError, ReadOnly
from queues.names import show_controls
from queues.replay.run import facts
from queues.replay.run.cancelling import Cancelling
from queues.replay.run.ending import awaits, finish, is_overdue
from queues.replay.run.run import Run
from queues.replay.run.stopping import stop
from queues.replay.terms import AfterLoss
from queues.replay.types import ACTIVE, ENDED, SENDS, Phase, Stop, Told

LONGEST_PAUSE_S = 10.0
UNWELL_AFTER = timedelta(minutes=1)  # of a server that answers and takes no writes
AWAY_AFTER = timedelta(minutes=10)  # of one that does not answer
GIVE_UP_AFTER = timedelta(hours=1)  # where there is nothing to stop
ERROR = 1_000  # characters

logger = logging.getLogger(__name__)


def lost(run: Run) -> None:
    """A worker was lost: what it had sent is looked for, and a person is asked first where the terms say so."""
    if not run.facts.pop(facts.LOST, False):
        return
    run.facts[facts.UNSETTLED] = True
    if run.phase in SENDS and run.terms.after_loss is AfterLoss.WAIT:
        run.facts[facts.HALTED] = Stop.LOST
        run.move(Phase.PAUSED, Told.PAUSED, {"why": Stop.LOST}, why=Stop.LOST, holding="")
        return
    with run.saving():
        if run.phase in ACTIVE:
            run.tell(Told.LOST)


def back(run: Run) -> None:
    """The source has answered: an outage ends by it."""
    since = run.replay.down_since
    if since is not None:
        with run.saving(down_since=None, tries=0):
            run.tell(Told.UP, {"since_ms": round(since.timestamp() * 1000)})


def wait(run: Run, error: QueueError) -> float:
    """The source is away, or takes no writes: say so once, and come back after so many seconds, or stop."""
    since, text = run.replay.down_since, show_controls(str(error)[:ERROR])
    now = timezone.now()
    unwell = isinstance(error, (OutOfMemory, ReadOnly))
    with run.saving(down_since=since or now, tries=run.replay.tries + 1):
        if since is None:
            run.tell(Told.DOWN, {"error": text})
    lasted = now - (since or now)
    if run.phase in SENDS and lasted >= (UNWELL_AFTER if unwell else AWAY_AFTER):
        stop(run, Stop.UNWELL if unwell else Stop.AWAY, {"seconds": round(lasted.total_seconds())}, note=text)
    elif awaits(run.replay):
        if is_overdue(run.replay):
            finish(run)
    elif lasted >= GIVE_UP_AFTER:
        give_up(run, _("%(error)s It was tried for an hour.") % {"error": text})
    return min(2.0 ** min(run.replay.tries - 1, 10) / 2, LONGEST_PAUSE_S)


def break_off(run: Run, error: QueueError) -> float:
    """The server refuses, and would again: what can be stopped is."""
    text = show_controls(str(error)[:ERROR])
    if run.phase in SENDS or run.phase is Phase.ARMED:
        stop(run, Stop.UNWELL, note=text)
        return 0.0
    if awaits(run.replay) and is_overdue(run.replay):
        finish(run)
    elif run.phase in (Phase.FREEZING, Phase.CANCELLING) or (run.phase in ENDED and not awaits(run.replay)):
        give_up(run, text)
    else:
        with run.saving(note=text):
            pass
    return LONGEST_PAUSE_S


def give_up(run: Run, text: str) -> None:
    """There is nothing to wait for: a set that could not be frozen, or a plan that was cancelled or has ended."""
    if run.phase is Phase.FREEZING:
        run.move(Phase.FAILED, None, note=text, ended_at=timezone.now(), down_since=None)
    elif run.phase is Phase.CANCELLING:
        # What a lost worker may have sent stays unknown; nothing more will be.
        while run.phase is Phase.CANCELLING:
            Cancelling(run, blind=True).step()
    elif run.phase in ENDED:
        with run.saving(step=""):
            pass
