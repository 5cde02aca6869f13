"""Letters that were read in a way that holds no longer: they are forgotten, with what they alone told."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from django.db.models import Max, Min

from queues.failures.store import rows
from queues.failures.store.places import Place
from queues.failures.store.rows import Row
from queues.failures.store.tally import Tally
from queues.failures.types import How
from queues.models import Failure, FailureGroup, FailureStrand, Letter


def untell(place: Place, jobs: Sequence[str], tally: Tally) -> None:
    """Forget these letters. Failures of which only they told are taken out; others stay without them."""
    for part in rows.parts(jobs):
        ours = Letter.objects.filter(queue_id=place.pk, job__in=part)
        told = rows.by_id(set(ours.values_list("failure_id", flat=True)))
        ours.delete()
        held = rows.held(told)
        left = [row for row in told.values() if row.id not in held and not row.in_set]
        _take_out([row for row in left if row.how == How.LETTER], tally)
        _hide([row for row in left if row.how != How.LETTER and row.present], tally)


def _take_out(never: Sequence[Row], tally: Tally) -> None:
    Failure.objects.filter(pk__in=[row.id for row in never]).delete()
    for row in never:
        tally.take(row.strand, row.at_ms)
        tally.presence(row.strand, -int(row.present))


def _hide(gone: Sequence[Row], tally: Tally) -> None:
    rows.mark([row.id for row in gone], in_set=False, present=False)
    for row in gone:
        tally.presence(row.strand, -1)


def mend_ends(went: Mapping[int, Sequence[int]], groups: Collection[int]) -> None:
    """Say anew when strands that lost failures, and their groups, failed first and last. After the counts are right."""
    for strand in FailureStrand.objects.filter(pk__in=list(went)):
        times = went[strand.pk]
        if min(times) <= strand.first_ms or max(times) >= strand.last_ms:
            _mend(strand)
    for group in groups:
        ends = FailureStrand.objects.filter(group_id=group).aggregate(first_ms=Min("first_ms"), last_ms=Max("last_ms"))
        if ends["first_ms"] is not None:
            FailureGroup.objects.filter(pk=group).update(**ends)


def _mend(strand: FailureStrand) -> None:
    kept = Failure.objects.filter(strand=strand)
    times = kept.values_list("at_ms", flat=True)
    first, last = times.order_by("at_ms").first(), times.order_by("-at_ms").first()
    if first is None or last is None:
        return
    if first > strand.first_ms and kept.count() < strand.total:
        first = strand.first_ms  # older ones are forgotten by now, and they were
    if (first, last) != (strand.first_ms, strand.last_ms):
        FailureStrand.objects.filter(pk=strand.pk).update(first_ms=first, last_ms=last)
