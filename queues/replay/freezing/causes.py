"""Why jobs failed, as the index of failures knows it: their groups, and whether they may succeed as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from queues.failures.types import Kind
from queues.models import Failure, Letter
from queues.replay.freezing.choosing import FINISHED
from queues.replay.freezing.items import Item, by_queue
from queues.types import State

# Of a failure: the group and classes of its strand.
_OF = ("strand__group_id", "strand__kind", "strand__group__kind_set")


def tell_causes(items: Sequence[Item]) -> None:
    """Fill in groups and classes; what the index has not read is of no group, and not permanent. A query a queue."""
    for item in items:
        item.group, item.permanent = None, False
    for queue, part in by_queue(items).items():
        if failed := [item for item in part if item.state == State.FAILED.value]:
            _failed(queue, failed)
        if letters := [item for item in part if item.state not in FINISHED]:
            _letters(queue, letters)


def _failed(queue: int, items: Sequence[Item]) -> None:
    """By the job and when it failed: what is known of the time before says nothing."""
    scores = {(item.job, item.failed_ms): item for item in items if item.failed_ms is not None}
    if not scores:
        return
    # A range, and not these scores: SQLite would look each of them up for each of the jobs.
    first, last = min(score for _job, score in scores), max(score for _job, score in scores)
    rows = Failure.objects.filter(queue=queue, job__in=[job for job, _score in scores])
    rows = rows.filter(score_ms__gte=first, score_ms__lte=last)
    for job, score, *of in rows.values_list("job", "score_ms", *_OF):
        if item := scores.get((job, score)):
            _take(item, of)


def _letters(queue: int, items: Sequence[Item]) -> None:
    by_job = {item.job: item for item in items}
    rows = Letter.objects.filter(queue=queue, job__in=list(by_job))
    for job, *of in rows.values_list("job", *(f"failure__{name}" for name in _OF)):
        _take(by_job[job], of)


def _take(item: Item, of: Iterable[object]) -> None:
    group, kind, by_hand = of
    item.group = group if isinstance(group, int) else None
    item.permanent = Kind.of(str(by_hand or kind)) is Kind.PERMANENT
