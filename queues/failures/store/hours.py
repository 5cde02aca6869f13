"""Hours of two strands made those of one."""

from __future__ import annotations

from queues.failures.store.tally import MINUTES
from queues.models import FailureHour


def join(strand: int, into: int) -> None:
    """Add the hours of a strand to those of another. Some 700 rows at most, for a month."""
    there = {hour.hour: hour for hour in FailureHour.objects.filter(strand_id=into)}
    changed = []
    for hour in FailureHour.objects.filter(strand_id=strand):
        ours = there.get(hour.hour)
        if ours is not None:
            ours.count += hour.count
            ours.minutes = _sum(ours.minutes, hour.minutes)
            changed.append(ours)
    FailureHour.objects.bulk_update(changed, ["count", "minutes"], batch_size=200)
    FailureHour.objects.filter(strand_id=strand).exclude(hour__in=list(there)).update(strand_id=into)
    FailureHour.objects.filter(strand_id=strand).delete()


def _sum(one: bytes | memoryview | None, other: bytes | memoryview | None) -> bytes | None:
    """Of minutes that are not all known, none are."""
    if one is None or other is None:
        return None
    pairs = zip(MINUTES.unpack(bytes(one)), MINUTES.unpack(bytes(other)), strict=True)
    return MINUTES.pack(*(min(2**32 - 1, first + second) for first, second in pairs))
