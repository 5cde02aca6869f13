"""Which jobs are meant, where an action is about failures of the index: read strand by strand, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Max, Q, QuerySet

from queues.actions import Members, Target
from queues.failures.occurrences import Which, strands
from queues.failures.store.ids import id_of, linked
from queues.models import Bulk, Failure, FailureGroup
from queues.types import QueueRef

GROUP, UPTO, STRANDS = "group", "upto", "strands"


def frozen(group: FailureGroup, which: Which) -> dict[str, Any]:
    """What `Bulk.failures` keeps: failures of this group that are known by now and whose jobs are in the failed set.

    By its strands as they are now: groups that are merged with it later do not become part of what is meant, and what
    is split off stays meant.
    """
    last = Failure.objects.aggregate(last=Max("pk"))["last"] or 0
    return {GROUP: group.pk, UPTO: last, STRANDS: [strand.pk for strand in strands(group, which)], **which.kept()}


def meant(failures: Mapping[str, Any], queue: QueueRef, until_ms: int, keys: list[int]) -> QuerySet[Failure]:
    """Failures of these strands that are meant."""
    which = Which.of(failures)
    found = Failure.objects.filter(
        strand__in=keys, queue__slug=queue.slug, in_set=True, pk__lte=failures[UPTO], score_ms__lte=until_ms
    )
    if which.since_ms is not None:
        found = found.filter(at_ms__gte=which.since_ms)
    if which.until_ms is not None:
        found = found.filter(at_ms__lt=which.until_ms)
    return found if which.worker is None else found.filter(worker=which.worker)


def members(bulk: Bulk, queue: QueueRef, cursor: str, most: int) -> Members:
    """The next jobs behind a cursor (“strand-at-key”), the newest of each strand first. Never more than `most`.

    Jobs whose id was too long to be kept are left out: nobody could name them.
    """
    at = tuple(map(int, cursor.split("-"))) if cursor else (0, 0, 0)
    for strand in sorted(bulk.failures[STRANDS]):
        if strand < at[0]:
            continue
        found = meant(bulk.failures, queue, bulk.until_ms, [strand])
        if strand == at[0]:
            found = found.filter(Q(at_ms__lt=at[1]) | Q(at_ms=at[1], pk__lt=at[2]), at_ms__lte=at[1])
        rows = list(found.order_by("-at_ms", "-pk").values_list("at_ms", "pk", "job", "score_ms")[:most])
        if rows:
            targets = [Target(id_of(job), b"%d" % score) for _at, _pk, job, score in rows if linked(job)]
            return Members(targets, len(rows), f"{strand}-{rows[-1][0]}-{rows[-1][1]}")
    return Members((), 0, None)


def count(group: FailureGroup, which: Which, queue: QueueRef, until_ms: int, most: int = 1_000_000) -> int:
    """How many jobs an action would be about now; at most `most`. One query that reads as many rows of an index."""
    failures = frozen(group, which)
    return meant(failures, queue, until_ms, failures[STRANDS])[:most].count()
