"""How many failures of a group fell into each step of a span, and which steps nobody can vouch for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Sum

from queues.failures.about.whole import Whole
from queues.failures.windows import MINUTES
from queues.models import FailureHour, IndexedQueue
from queues.quantities import HOUR, MINUTE, now_ms

_SILENT = 3 * MINUTE  # an index that has given no sign for so long may have missed what failed since


class Span(StrEnum):
    """How far back a page looks."""

    HOUR = "1h"
    THREE = "3h"
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"

    @property
    def ms(self) -> int:
        return _SPANS[self][0]

    @property
    def step_ms(self) -> int:
        return _SPANS[self][1]


_SPANS: Mapping[Span, tuple[int, int]] = {
    Span.HOUR: (HOUR, MINUTE),
    Span.THREE: (3 * HOUR, 2 * MINUTE),
    Span.DAY: (24 * HOUR, 20 * MINUTE),
    Span.WEEK: (7 * 24 * HOUR, 2 * HOUR),
    Span.MONTH: (30 * 24 * HOUR, 8 * HOUR),
}


@dataclass(frozen=True, slots=True)
class Series:
    """Counts by step, the oldest first; the last step is not over. `unknown` are those that may lack failures."""

    span: Span
    begin_ms: int
    counts: Sequence[int]
    unknown: frozenset[int] = frozenset()

    @property
    def step_ms(self) -> int:
        return self.span.step_ms

    @property
    def end_ms(self) -> int:
        return self.begin_ms + len(self.counts) * self.step_ms

    @property
    def total(self) -> int:
        return sum(self.counts)

    @property
    def peak(self) -> tuple[int, int]:
        """The largest count, and when its step began."""
        most = max(self.counts, default=0)
        return most, self.begin_ms + (self.counts.index(most) if self.counts else 0) * self.step_ms


def series(about: Whole, span: Span, *, now: int | None = None) -> Series:
    """The failures of a group over a span. Two queries; reads an hour's row of each strand at most once."""
    now = now_ms() if now is None else now
    step = span.step_ms
    number = span.ms // step
    end = (now // step + 1) * step
    begin = end - number * step
    found = (by_minute if step < HOUR else by_hour)(about.strand_keys, begin, end)
    counts = [0] * number
    for at, count in found.items():
        if 0 <= (at - begin) // step < number:
            counts[(at - begin) // step] += count
    return Series(span, begin, counts, frozenset(_unknown(about, begin, step, number, now)))


def by_minute(strands: Sequence[int], begin: int, end: int) -> dict[int, int]:
    """Counts by the ms at which their minute begins. An hour whose minutes are forgotten counts at its beginning."""
    rows = FailureHour.objects.filter(strand__in=strands, hour__gte=begin // HOUR, hour__lte=end // HOUR)
    found: dict[int, int] = {}
    for hour, count, minutes in rows.values_list("hour", "count", "minutes"):
        told = _told(minutes)
        if told is None:
            found[hour * HOUR] = found.get(hour * HOUR, 0) + count
            continue
        for minute, each in enumerate(told):
            if each:
                at = hour * HOUR + minute * MINUTE
                found[at] = found.get(at, 0) + each
    return {at: count for at, count in found.items() if begin - HOUR <= at < end}


def by_hour(strands: Sequence[int], begin: int, end: int) -> dict[int, int]:
    """Counts by the ms at which their hour begins."""
    rows = FailureHour.objects.filter(strand__in=strands, hour__gte=begin // HOUR, hour__lte=end // HOUR)
    return {row["hour"] * HOUR: row["sum"] for row in rows.values("hour").annotate(sum=Sum("count"))}


def _told(minutes: bytes | memoryview | None) -> Sequence[int] | None:
    raw = b"" if minutes is None else bytes(minutes)
    return MINUTES.unpack(raw) if len(raw) == MINUTES.size else None


def _unknown(about: Whole, begin: int, step: int, number: int, now: int) -> Iterable[int]:
    """Steps in which failures may be missing: before indexing began, while it was silent, and in its gaps."""
    holes = list(_holes(about, now))
    for at in range(number):
        since, until = begin + at * step, begin + (at + 1) * step
        if any(first < until and last > since for first, last in holes):
            yield at


def _holes(about: Whole, now: int) -> Iterable[tuple[int, int]]:
    indexing = about.indexing
    if indexing is None or indexing.since_ms is None:
        yield 0, now
        return
    yield 0, indexing.since_ms
    beat = int(indexing.beat_at.timestamp() * 1000) if indexing.beat_at else indexing.since_ms
    if now - beat > _SILENT:
        yield beat, now
    queues = {lane.pk for lane in about.lanes}
    for gaps in IndexedQueue.objects.filter(queue__in=queues).values_list("gaps", flat=True):
        yield from ((int(gap[0]), int(gap[1])) for gap in gaps or () if len(gap) == 2)
