"""Jobs of one key, each of which waits for the end of the one before it: let go one by one, or held for good."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.db.models import Q, QuerySet

from queues.failures.store.rows import parts
from queues.models import Replay, ReplayJob
from queues.replay.hands import Hands
from queues.replay.naming import goes_to
from queues.replay.terms import KeyFailed, Terms
from queues.replay.types import ENDS, Place
from queues.sendings import Conflict, Fate


def release(replay: Replay, terms: Terms, ended: Mapping[int, Fate]) -> int:
    """Let those be sent that wait for these rows to end; gives how many.

    Behind one that failed again they stay, where the terms say so. Within the transaction that writes the ends.
    """
    if not terms.key:
        return 0
    holds = terms.key_failed is KeyFailed.HOLD
    return let_go(replay, [pk for pk, fate in ended.items() if not (holds and fate is Fate.FAILED)])


def let_go(replay: Replay, after: Collection[int]) -> int:
    """Let those be sent that wait behind these rows, whatever became of them. Within a transaction."""
    held = ReplayJob.objects.filter(replay=replay.pk, place=Place.HELD)
    return sum(_ready(held.filter(after__in=part)) for part in parts(sorted(after)))


def _ready(held: QuerySet[ReplayJob]) -> int:
    """Ready from now on. What was found about them before they were held still says how they are sent."""
    told = held.filter(conflict=Conflict.BEFORE_IT).update(place=Place.READY, conflict=Conflict.NONE)
    return told + held.update(place=Place.READY)


def are_held(run: Hands) -> bool:
    """Whether any job waits for the end of another. One query by an index."""
    return ReplayJob.objects.filter(replay=run.replay.pk, place=Place.HELD).exists()


def free(run: Hands) -> int:
    """Let those be sent that wait for what has ended, where nothing else let them; gives how many."""
    with run.saving():
        return release_ended(run)


def release_ended(run: Hands) -> int:
    """The same within a transaction of `saving`. Not behind one that failed again, where the terms hold these."""
    ends = set(ENDS)
    if run.terms.key_failed is KeyFailed.HOLD:
        ends.discard(Fate.FAILED)
    before = ReplayJob.objects.filter(replay=run.replay.pk)
    over = before.filter(Q(place=Place.SENT, fate__in=ends) | Q(place__in=(Place.REFUSED, Place.LEFT_OUT)))
    return _ready(ReplayJob.objects.filter(replay=run.replay.pk, place=Place.HELD, after__in=over.values("pk")))


def blocked(run: Hands) -> int:
    """How many are held, each of which is told now that a job before it failed again.

    But for those of which something else is known: by that they are sent, where a person lets them go on.
    """
    held = ReplayJob.objects.filter(replay=run.replay.pk, place=Place.HELD)
    with run.saving():
        held.filter(conflict=Conflict.NONE).update(conflict=Conflict.BEFORE_IT)
    return held.count()


def awaited(run: Hands) -> Collection[int]:
    """The queues, by their keys, in which jobs are that have not ended. One query by an index."""
    under_way = ReplayJob.objects.filter(replay=run.replay.pk, place=Place.SENT, ended_ms=None)
    rows = under_way.values_list("acts", "queue_id", "target_id").distinct()
    return {goes_to(*row) for row in rows}
