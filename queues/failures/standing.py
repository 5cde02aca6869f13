"""How the index of a source stands, for pages: what was read, how far it can be trusted, why it may not go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from django.db.models import Count, Q, Sum
from django.utils import timezone

from queues.models import FailureStrand, IndexedQueue, Indexing
from queues.quantities import now_ms

SILENT = timedelta(seconds=15)  # an index gives a sign of life every four seconds
BEHIND_MS = 5_000  # a failure that was not read for so long has the index behind


class Index(StrEnum):
    """What can be said of an index in one word."""

    NEVER = "never"  # nothing was indexed yet, and nobody does
    READING = "reading"  # the first scan of some queue has not come to its end
    CURRENT = "current"
    BEHIND = "behind"  # failures come faster than they are read
    BLIND = "blind"  # the server cannot be read: `why`
    SILENT = "silent"  # nobody indexes now: what is shown was right at `at_ms`


@dataclass(frozen=True, slots=True)
class Standing:
    """`at_ms`: what is shown was right then (ms since 1970); None: never. Numbers are of jobs, sums over all queues.

    `scanned` of `expected` failed jobs have been read by first scans, `scanning` counts the queues that are not
    through. `gaps` counts queues that may lack failures which nobody saw, `refused` those that cannot be read.
    """

    index: Index
    at_ms: int | None = None
    why: str = ""
    scanning: int = 0
    scanned: int = 0
    expected: int = 0
    refused: int = 0
    behind_ms: int = 0
    compared_ms: int | None = None
    commands_per_s: float | None = None
    since_ms: int | None = None

    @property
    def complete(self) -> bool:
        """Whether all that is in the failed sets has been read at some time."""
        return self.index is not Index.NEVER and not self.scanning


@dataclass(frozen=True, slots=True)
class _Sums:
    scanning: int = 0
    scanned: int = 0
    expected: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """What the index of a source holds: failures ever counted, and those whose job or letter is still there.

    Failures may be missing from `gaps` stretches of `gap_queues` queues, the last of which ended at `gap_ms`.
    """

    counted: int = 0
    present: int = 0
    gaps: int = 0
    gap_queues: int = 0
    gap_ms: int | None = None


def standings(sources: Sequence[str]) -> Mapping[str, Standing]:
    """How the index of each source stands, by its name. Two queries."""
    rows = {row.source.name: row for row in Indexing.objects.filter(source__name__in=sources).select_related("source")}
    sums = _sums(sources)
    return {name: _standing(rows.get(name), sums.get(name, _Sums())) for name in sources}


def standing(source: str) -> Standing:
    """The same for one source."""
    return standings([source])[source]


def kept(sources: Sequence[str]) -> Mapping[str, Kept]:
    """What the index of each source holds, by its name. Two queries; some milliseconds for 15,000 strands."""
    strands = FailureStrand.objects.filter(queue__source__name__in=sources).order_by()
    sums = strands.values("queue__source__name").annotate(all=Sum("total"), there=Sum("present"))
    counted = {name: (all_, there) for name, all_, there in sums.values_list("queue__source__name", "all", "there")}
    gaps: dict[str, list[Sequence[Sequence[int]]]] = {name: [] for name in sources}
    holed = IndexedQueue.objects.filter(queue__source__name__in=sources).exclude(gaps=[])
    for name, told in holed.values_list("queue__source__name", "gaps"):
        gaps[name].append(told)
    return {name: _kept(*counted.get(name, (0, 0)), gaps[name]) for name in sources}


def _kept(counted: int, present: int, gaps: Sequence[Sequence[Sequence[int]]]) -> Kept:
    last = max((until for told in gaps for _first, until in told), default=None)
    return Kept(counted, present, sum(map(len, gaps)), len(gaps), last)


def _sums(sources: Sequence[str]) -> Mapping[str, _Sums]:
    here = IndexedQueue.objects.filter(queue__source__name__in=sources, queue__gone_since=None)
    # What was found beside what was expected is no more than all of it.
    # One that cannot be read is waited for no longer: it is said to be refused.
    scanning = Q(scanning=True, error="")
    rows = here.values_list("queue__source__name").annotate(
        under_way=Count("pk", filter=scanning),
        read=Sum("scanned", filter=scanning, default=0),
        awaited=Sum("expected", filter=scanning, default=0),
        refused=Count("pk", filter=~Q(error="")),
        done=Sum("scanned", filter=Q(scanning=False), default=0),
    )
    return {
        name: _Sums(number, min(scanned, expected) + done, expected + done, refused)
        for name, number, scanned, expected, refused, done in rows
    }


def _standing(row: Indexing | None, sums: _Sums) -> Standing:
    if row is None or row.beat_at is None:
        return Standing(Index.NEVER)
    beat_ms = int(row.beat_at.timestamp() * 1000)
    return Standing(
        _word(row, sums),
        at_ms=min(beat_ms, now_ms()) - row.behind_ms,
        why=row.why,
        scanning=sums.scanning,
        scanned=sums.scanned,
        expected=sums.expected,
        refused=sums.refused,
        behind_ms=row.behind_ms,
        compared_ms=row.compared_ms,
        commands_per_s=row.commands_per_s,
        since_ms=row.since_ms,
    )


def _word(row: Indexing, sums: _Sums) -> Index:
    if row.beat_at is None or row.beat_at < timezone.now() - SILENT:
        return Index.SILENT
    if row.why:
        return Index.BLIND
    if sums.scanning:
        return Index.READING
    return Index.BEHIND if row.behind_ms >= BEHIND_MS else Index.CURRENT
