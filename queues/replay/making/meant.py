"""Which failures of the index a plan of groups is about, and what failed after a plan was frozen: no part of it."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q, QuerySet, Sum

from queues.failures.occurrences import Where, Which
from queues.models import Failure, FailureStrand, Letter, Replay
from queues.replay.making.wish import Wish
from queues.replay.types import From
from queues.types import State

LATE_MS = 600_000  # so long at most the index may be behind
COUNTED = 100_000  # failures that are counted one by one; beyond, the strands' own counts have to do
LATER_MOST = 10_000  # later ones that are counted


def meant(wish: Wish, frozen_ms: int, strands: Sequence[int]) -> QuerySet[Failure]:
    """Failures of these strands that are part of it: there now, known when it was made, and not newer."""
    found = Failure.objects.filter(strand__in=list(strands), pk__lte=wish.upto, score_ms__lte=frozen_ms)
    return _like(wish.which, found.filter(present=True))


def count(wish: Wish, frozen_ms: int) -> int:
    """About how many there are: exact up to 100,000, then as the strands count them. One or two queries."""
    keys = list(wish.strands)
    number = meant(wish, frozen_ms, keys)[: COUNTED + 1].count()
    if number <= COUNTED:
        return number
    present = FailureStrand.objects.filter(pk__in=keys).aggregate(sum=Sum("present"))["sum"] or 0
    return max(number, int(present))


def later(replay: Replay) -> int | None:
    """How many failures of its sort came after a plan was frozen, as the index knows them; at most 10,001.

    None for a plan of jobs that were picked, or of those that have completed: nothing comes after these. Two queries.
    """
    if replay.frozen_ms is None:
        return None
    wish = Wish.of(replay.made_from)
    if wish.kind is From.GROUP:
        return _of_groups_later(wish, replay.frozen_ms)[: LATER_MOST + 1].count()
    queue = {"queue__source": replay.source_id, "queue__slug": wish.queue}
    if wish.kind is From.LETTERS:
        # By their keys, which grow as they are read: there is no index by time.
        newest = Letter.objects.filter(**queue).order_by("-pk").values_list("at_ms", flat=True)[: LATER_MOST + 1]
        return sum(1 for at_ms in newest if at_ms > replay.frozen_ms)
    if wish.kind is From.STATE and wish.state is State.FAILED:
        newer = Failure.objects.filter(**queue, in_set=True, score_ms__gt=replay.frozen_ms)
        return newer[: LATER_MOST + 1].count()
    return None


def missed(replay: Replay) -> int:
    """Of the failures that `later` counts for a plan of groups, those from before it was frozen, which the index read
    afterwards: of the ten minutes before. At most 10,001; two queries.
    """
    wish, frozen_ms = Wish.of(replay.made_from), replay.frozen_ms
    if wish.kind is not From.GROUP or frozen_ms is None:
        return 0
    return _of_groups_later(wish, frozen_ms).filter(score_ms__lte=frozen_ms)[: LATER_MOST + 1].count()


def _of_groups_later(wish: Wish, frozen_ms: int) -> QuerySet[Failure]:
    """Failures of the same groups, as these are now, that came afterwards and are there now."""
    newer = Q(pk__gt=wish.upto) | Q(score_ms__gt=frozen_ms)
    among = FailureStrand.objects.filter(Q(group__strands__in=list(wish.strands)) | Q(group__in=list(wish.groups)))
    if wish.which.queue:
        among = among.filter(queue__slug=wish.which.queue)
    if wish.which.name is not None:
        among = among.filter(name=wish.which.name)
    keys = list(among.filter(last_ms__gte=frozen_ms - LATE_MS).values_list("pk", flat=True).distinct())
    lately = Failure.objects.filter(strand__in=keys, at_ms__gte=frozen_ms - LATE_MS, present=True)
    return _like(wish.which, lately.filter(newer))


def _like(which: Which, found: QuerySet[Failure]) -> QuerySet[Failure]:
    if which.since_ms is not None:
        found = found.filter(at_ms__gte=which.since_ms)
    if which.until_ms is not None:
        found = found.filter(at_ms__lt=which.until_ms)
    if which.worker is not None:
        found = found.filter(worker=which.worker)
    if which.where is Where.SET:
        found = found.filter(in_set=True)
    if which.where is Where.LETTER:
        found = found.filter(in_set=False)
    return found
