"""Jobs that are in a failed set no longer, and what is known to be in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.models import QuerySet

from queues.failures.store import adding, rows
from queues.failures.store.ids import id_of
from queues.failures.store.rows import Row
from queues.failures.store.tally import Tally
from queues.models import Failure

AT_ONCE = 2_000  # rows in one transaction: some 50 ms
_FIELDS = ("id", "job", "strand_id", "score_ms", "at_ms", "in_set", "present", "how")


def jobs(queue_pk: int, wanted: Sequence[str], tally: Tally) -> None:
    """These jobs left, whichever failure of them was in the set."""
    for part in rows.parts(wanted):
        _leave(_in_set(queue_pk).filter(job__in=part), tally)


def below(queue_pk: int, score_ms: int | None, tally: Tally) -> bool:
    """All with a lower score left, None: all. At most 2,000; whether there may be more."""
    found = _in_set(queue_pk)
    if score_ms is not None:
        found = found.filter(score_ms__lt=score_ms)
    return _leave(found.order_by("score_ms")[:AT_ONCE], tally) == AT_ONCE


def known(queue_pk: int, low: int | None, high: int | None) -> Mapping[bytes, int]:
    """Ids of those in the set with their scores."""
    found = _in_set(queue_pk)
    if low is not None:
        found = found.filter(score_ms__gte=low)
    if high is not None:
        found = found.filter(score_ms__lte=high)
    return {id_of(job): score for job, score in found.values_list("job", "score_ms").iterator(chunk_size=5_000)}


def count(queue_pk: int) -> int:
    return _in_set(queue_pk).count()


def _in_set(queue_pk: int) -> QuerySet[Failure]:
    return Failure.objects.filter(queue_id=queue_pk, in_set=True)


def _leave(found: QuerySet[Failure], tally: Tally) -> int:
    left = [Row(*values) for values in found.values_list(*_FIELDS)]
    adding.hide(left, tally)
    return len(left)
