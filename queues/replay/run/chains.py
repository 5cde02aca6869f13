"""Jobs of one key, each of which waits for the end of the one before it: what `watching.chains` has not let go."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Q

from queues.models import ReplayJob
from queues.replay.naming import goes_to
from queues.replay.run.run import Run
from queues.replay.terms import KeyFailed
from queues.replay.types import ENDS, Place
from queues.sendings import Conflict, Fate


def are_held(run: Run) -> bool:
    """Whether any job waits for the end of another. One query by an index."""
    return ReplayJob.objects.filter(replay=run.replay.pk, place=Place.HELD).exists()


def free(run: Run) -> int:
    """Let those be sent that wait for what has ended, where nothing else let them; gives how many."""
    with run.saving():
        return release_ended(run)


def release_ended(run: Run) -> int:
    """The same within a transaction of `saving`. Not behind one that failed again, where the terms hold these."""
    ends = set(ENDS)
    if run.terms.key_failed is KeyFailed.HOLD:
        ends.discard(Fate.FAILED)
    before = ReplayJob.objects.filter(replay=run.replay.pk)
    over = before.filter(Q(place=Place.SENT, fate__in=ends) | Q(place__in=(Place.REFUSED, Place.LEFT_OUT)))
    held = ReplayJob.objects.filter(replay=run.replay.pk, place=Place.HELD, after__in=over.values("pk"))
    return held.update(place=Place.READY, conflict=Conflict.NONE)


def blocked(run: Run) -> int:
    """How many are held, each of which is told now that a job before it failed again."""
    held = ReplayJob.objects.filter(replay=run.replay.pk, place=Place.HELD)
    with run.saving():
        return held.update(conflict=Conflict.BEFORE_IT)


def awaited(run: Run) -> Collection[int]:
    """The queues, by their keys, in which jobs are that have not ended. One query by an index."""
    under_way = ReplayJob.objects.filter(replay=run.replay.pk, place=Place.SENT, ended_ms=None)
    rows = under_way.values_list("acts", "queue_id", "target_id").distinct()
    return {goes_to(*row) for row in rows}
