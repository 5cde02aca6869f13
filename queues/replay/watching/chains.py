"""Order by key: when a job has ended, the next one of its key may be sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from queues.failures.store.rows import parts
from queues.models import Replay, ReplayJob
from queues.replay.terms import KeyFailed, Terms
from queues.replay.types import Place
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
    told = held.filter(conflict=Conflict.BEFORE_IT)
    freed = 0
    for part in parts(sorted(after)):
        freed += told.filter(after__in=part).update(place=Place.READY, conflict=Conflict.NONE)
        freed += held.filter(after__in=part).update(place=Place.READY)
    return freed
