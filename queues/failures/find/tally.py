"""What groups come to together, by life and class: the sums of any choice of both are sums of these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from queues.failures.find.rows import Windows
from queues.failures.find.scan import Sums
from queues.failures.types import Kind, Life
from queues.failures.windows import WINDOWS
from queues.quantities import DAY

Tallies = Mapping[tuple[str, Kind], "Tally"]


@dataclass(slots=True)
class Tally:
    """Of groups of one life and class, or of several together. Mutable while it is made; see `Listing`."""

    matching: int = 0
    h1: int = 0
    h3: int = 0
    h24: int = 0
    d3: int = 0
    d7: int = 0
    transient_h1: int = 0
    permanent_h1: int = 0
    top_h1: int = 0
    hit: int = 0
    fresh: int = 0
    fresh_ms: int | None = None
    back: int = 0

    @property
    def windows(self) -> Windows:
        return Windows(self.h1, self.h3, self.h24, self.d3, self.d7)

    def add(self, group: Sums, now_ms: int, sign: int = 1) -> None:
        """One more group; or, with `sign` -1, one less, which leaves `top_h1` and `fresh_ms` as they are."""
        h1, h3, h24, d3, d7 = group.counts
        self.matching += sign
        self.h3 += sign * h3
        self.h24 += sign * h24
        self.d3 += sign * d3
        self.d7 += sign * d7
        if h1:
            self.h1 += sign * h1
            self.hit += sign
            self.top_h1 = max(self.top_h1, h1)
            self.transient_h1 += sign * group.h1_of(Kind.TRANSIENT)
            self.permanent_h1 += sign * group.h1_of(Kind.PERMANENT)
        if now_ms - group.group_first_ms < DAY:
            self.fresh += sign
            self.fresh_ms = min(self.fresh_ms or group.group_first_ms, group.group_first_ms)
        if group.life == Life.REGRESSED:
            self.back += sign

    def join(self, other: Tally) -> None:
        """All of another."""
        for name in ("matching", *WINDOWS, "transient_h1", "permanent_h1", "hit", "fresh", "back"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.top_h1 = max(self.top_h1, other.top_h1)
        self.fresh_ms = min((at for at in (self.fresh_ms, other.fresh_ms) if at is not None), default=None)


def tally(groups: Iterable[Sums], now_ms: int) -> dict[tuple[str, Kind], Tally]:
    """All groups, some 3 us each."""
    found: dict[tuple[str, Kind], Tally] = {}
    for group in groups:
        key = (group.life, group.kind)
        if key not in found:
            found[key] = Tally()
        found[key].add(group, now_ms)
    return found


class Tallying:
    """The tallies of groups that change one by one. `now_ms` is when all were looked at: what is fresh was so then."""

    def __init__(self, groups: Collection[Sums], now_ms: int) -> None:
        self.now_ms = now_ms
        self._cells = tally(groups, now_ms)

    def move(self, before: Sums | None, after: Sums | None, groups: Collection[Sums]) -> None:
        """A group of these came, changed or went. Some 10 us; looks at all groups where it was the highest."""
        if after is not None:
            self._cells.setdefault((after.life, after.kind), Tally()).add(after, self.now_ms)
        if before is None:
            return
        key = (before.life, before.kind)
        cell = self._cells[key]
        cell.add(before, self.now_ms, -1)
        now = after if after and (after.life, after.kind) == key else None
        if before.counts[0] == cell.top_h1 and not (now and now.counts[0] >= before.counts[0]):
            cell.top_h1 = max((each.counts[0] for each in groups if (each.life, each.kind) == key), default=0)
        if before.group_first_ms == cell.fresh_ms and not (now and now.group_first_ms == before.group_first_ms):
            cell.fresh_ms = min(self._fresh(key, groups), default=None)

    def copy(self) -> Tallies:
        """As they are now."""
        return {key: replace(each) for key, each in self._cells.items() if each.matching}

    def _fresh(self, key: tuple[str, Kind], groups: Collection[Sums]) -> Iterable[int]:
        ours = (each.group_first_ms for each in groups if (each.life, each.kind) == key)
        return (first for first in ours if self.now_ms - first < DAY)


def together(many: Iterable[Tallies]) -> Tallies:
    """The tallies of several sources as one."""
    found: dict[tuple[str, Kind], Tally] = {}
    for tallies in many:
        for key, each in tallies.items():
            found.setdefault(key, Tally()).join(each)
    return found
