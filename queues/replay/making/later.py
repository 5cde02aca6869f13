"""What failed after a plan was frozen, and so is no part of it."""

from __future__ import annotations

from queues.models import Failure, Letter, Replay
from queues.replay.making import meant
from queues.replay.making.wish import Wish
from queues.replay.types import From
from queues.types import State

MOST = 10_000  # that are counted


def later(replay: Replay) -> int | None:
    """How many such failures there are now, as the index knows them; at most 10,001.

    None for a plan of jobs that were picked, or of those that have completed: nothing comes after these. Two queries.
    """
    if replay.frozen_ms is None:
        return None
    wish = Wish.of(replay.made_from)
    if wish.kind is From.GROUP:
        return meant.later(wish, replay.frozen_ms)[: MOST + 1].count()
    queue = {"queue__source": replay.source_id, "queue__slug": wish.queue}
    if wish.kind is From.LETTERS:
        # By their keys, which grow as they are read: there is no index by time.
        newest = Letter.objects.filter(**queue).order_by("-pk").values_list("at_ms", flat=True)[: MOST + 1]
        return sum(1 for at_ms in newest if at_ms > replay.frozen_ms)
    if wish.kind is From.STATE and wish.state is State.FAILED:
        newer = Failure.objects.filter(**queue, in_set=True, score_ms__gt=replay.frozen_ms)
        return newer[: MOST + 1].count()
    return None
