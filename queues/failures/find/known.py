"""How far the index of some sources can be trusted: since when it knows, how far it has read, why it cannot."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, Sum

from queues.failures.find.rows import WINDOWS
from queues.models import IndexedQueue, Indexing
from queues.quantities import HOUR, now_ms

LATE_MS = 3 * 60_000  # windows are counted each minute


@dataclass(frozen=True, slots=True)
class Known:
    """What the index knows of all asked sources together. Moments are ms since 1970; None: not known.

    `windows_ms` is the oldest moment up to which a source's windows are counted. `scanning` queues of `queues` are
    still read for the first time, `scanned` of `expected` failures so far. `why` is what keeps the first source that
    cannot be read from it, `unread` are all of those; `unindexed` are sources of which nothing was read yet.
    `gaps` are stretches where failures may be missing.
    """

    now_ms: int
    since_ms: int | None = None
    windows_ms: int | None = None
    compared_ms: int | None = None
    behind_ms: int = 0
    queues: int = 0
    scanning: int = 0
    scanned: int = 0
    expected: int | None = None
    why: str = ""
    unread: Sequence[str] = ()
    unread_since: datetime | None = None
    errors: int = 0
    unindexed: Sequence[str] = ()
    gaps: Sequence[tuple[int, int]] = ()
    by_source: Mapping[str, int] | None = None

    @property
    def late(self) -> bool:
        """Whether the windows are not those of now."""
        return self.windows_ms is not None and self.now_ms - self.windows_ms > LATE_MS

    @property
    def at_least(self) -> Collection[str]:
        """The windows of which failures may be missing: they reach back behind what is known, or over a gap."""
        if self.windows_ms is None or self.since_ms is None:
            return tuple(WINDOWS)
        begins = {name: self.windows_ms - hours * HOUR for name, hours in WINDOWS.items()}
        return [
            name
            for name, begin in begins.items()
            if self.scanning or begin < self.since_ms or any(until > begin for _, until in self.gaps)
        ]

    def hour_known(self, hour: int) -> bool:
        """Whether no failure in an hour (ms // 3,600,000) would be unknown."""
        begin, end = hour * HOUR, (hour + 1) * HOUR
        if self.since_ms is None or begin < self.since_ms - HOUR:
            return False
        return not any(first < end and until > begin for first, until in self.gaps)


def known(sources: Sequence[str]) -> Known:
    """How the index of some sources stands. Three queries."""
    rows = list(Indexing.objects.filter(source__name__in=sources).select_related("source"))
    read = [row for row in rows if row.since_ms is not None]
    told = IndexedQueue.objects.filter(queue__source__name__in=sources).aggregate(
        number=Count("pk"),
        unfinished=Count("pk", filter=Q(scanning=True)),
        read=Sum("scanned", filter=Q(scanning=True)),
        waited=Sum("expected", filter=Q(scanning=True)),
        broken=Count("pk", filter=~Q(error="")),
    )
    unread = [row for row in rows if row.why]
    there = {row.source.name for row in read}
    return Known(
        now_ms=now_ms(),
        since_ms=max((row.since_ms for row in read if row.since_ms is not None), default=None),
        windows_ms=min((row.windows_ms for row in read if row.windows_ms), default=None),
        compared_ms=_oldest(row.compared_ms for row in read),
        behind_ms=max((row.behind_ms for row in read), default=0),
        queues=told["number"],
        scanning=told["unfinished"],
        scanned=told["read"] or 0,
        expected=told["waited"],
        errors=told["broken"],
        why=next((row.why for row in unread), ""),
        unread=[row.source.name for row in unread],
        unread_since=min((row.beat_at for row in unread if row.beat_at), default=None),
        unindexed=[name for name in sources if name not in there],
        gaps=_gaps(sources),
        by_source={row.source.name: row.windows_ms for row in read if row.windows_ms},
    )


def _oldest(moments: Iterable[int | None]) -> int | None:
    """The oldest of them; None as soon as one is not known."""
    found = list(moments)
    return min((each for each in found if each is not None), default=None) if None not in found else None


def _gaps(sources: Sequence[str]) -> Sequence[tuple[int, int]]:
    kept = IndexedQueue.objects.filter(queue__source__name__in=sources).exclude(gaps=[]).values_list("gaps", flat=True)
    return [(int(first), int(until)) for gaps in kept for first, until in gaps]
