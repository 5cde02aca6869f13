"""How far the counts of some sources can be trusted: since when they are known, where failures may be missing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from queues.failures.standing import Index, Standing, standings
from queues.failures.windows import WINDOWS, since
from queues.models import IndexedQueue, Indexing
from queues.quantities import HOUR, now_ms

LATE_MS = 3 * 60_000  # windows are counted each minute


@dataclass(frozen=True, slots=True)
class Known:
    """What the index knows of all asked sources together. Moments are ms since 1970; None: not known.

    `windows` are the moments up to which the windows of each source are counted, `gaps` are stretches in which
    failures may be missing.
    """

    now_ms: int
    standings: Mapping[str, Standing] = field(default_factory=dict)
    windows: Mapping[str, int] = field(default_factory=dict)
    gaps: Sequence[tuple[int, int]] = ()

    @property
    def since_ms(self) -> int | None:
        """Since when all sources that are indexed have been."""
        return max((each.since_ms for each in self.standings.values() if each.since_ms is not None), default=None)

    @property
    def windows_ms(self) -> int | None:
        """The oldest moment up to which windows are counted."""
        return min(self.windows.values(), default=None)

    @property
    def late(self) -> bool:
        """Whether the windows are not those of now."""
        return self.windows_ms is not None and self.now_ms - self.windows_ms > LATE_MS

    @property
    def compared_ms(self) -> int | None:
        """When the last of the sources was compared with its server; None as soon as one never was."""
        found = [each.compared_ms for each in self.standings.values()]
        known = [each for each in found if each is not None]
        return min(known) if known and len(known) == len(found) else None

    @property
    def behind_ms(self) -> int:
        return max((each.behind_ms for each in self.of(Index.BEHIND).values()), default=0)

    @property
    def scanning(self) -> int:
        """Queues that are still read for the first time."""
        return sum(each.scanning for each in self.standings.values())

    @property
    def scanned(self) -> int:
        """Failed jobs that were read, of `expected`."""
        return sum(each.scanned for each in self.standings.values())

    @property
    def expected(self) -> int:
        return sum(each.expected for each in self.standings.values())

    @property
    def refused(self) -> int:
        """Queues that cannot be read, though their server can."""
        return sum(each.refused for each in self.standings.values())

    @property
    def blind(self) -> Mapping[str, Standing]:
        """The sources that cannot be read."""
        return self.of(Index.BLIND)

    @property
    def silent(self) -> Mapping[str, Standing]:
        """The sources that nobody indexes now, though somebody did."""
        return self.of(Index.SILENT)

    @property
    def never(self) -> Mapping[str, Standing]:
        """The sources of which nothing was ever indexed."""
        return self.of(Index.NEVER)

    def of(self, index: Index) -> Mapping[str, Standing]:
        """The sources that stand so."""
        return {name: each for name, each in self.standings.items() if each.index is index}

    @property
    def at_least(self) -> Collection[str]:
        """The windows of which failures may be missing: they reach back behind what is known, or over a gap."""
        if self.windows_ms is None or self.since_ms is None or self.scanning or self.never:
            return tuple(WINDOWS)
        begins = {name: since(name, self.windows_ms) for name in WINDOWS}
        return [
            name
            for name, begin in begins.items()
            if begin < self.since_ms or any(until > begin for _, until in self.gaps)
        ]

    def hour_known(self, hour: int) -> bool:
        """Whether no failure of an hour (ms // 3,600,000) can be missing."""
        begin, end = hour * HOUR, (hour + 1) * HOUR
        if self.since_ms is None or end <= self.since_ms:
            return False
        return not any(first < end and until > begin for first, until in self.gaps)


def together(many: Sequence[Known]) -> Known:
    """What is known of several sources as one."""
    return Known(
        now_ms=max(each.now_ms for each in many),
        standings={name: standing for each in many for name, standing in each.standings.items()},
        windows={name: at_ms for each in many for name, at_ms in each.windows.items()},
        gaps=[gap for each in many for gap in each.gaps],
    )


def known(sources: Sequence[str]) -> Known:
    """How the index of some sources stands. Four queries."""
    counted = Indexing.objects.filter(source__name__in=sources, windows_ms__gt=0)
    return Known(
        now_ms=now_ms(),
        standings=standings(sources),
        windows=dict(counted.values_list("source__name", "windows_ms")),
        gaps=_gaps(sources),
    )


def _gaps(sources: Sequence[str]) -> Sequence[tuple[int, int]]:
    kept = IndexedQueue.objects.filter(queue__source__name__in=sources).exclude(gaps=[]).values_list("gaps", flat=True)
    return [(int(first), int(until)) for gaps in kept for first, until in gaps]
