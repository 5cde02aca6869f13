"""What groups come to together, by life and class: the sums of any choice of both are sums of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from queues.failures.find.known import Known
from queues.failures.find.rows import WINDOWS, Windows
from queues.failures.find.scan import Sums
from queues.failures.types import Kind, Life
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

    def add(self, group: Sums, now_ms: int) -> None:
        """One more group."""
        h1, h3, h24, d3, d7 = group.counts
        self.matching += 1
        self.h3 += h3
        self.h24 += h24
        self.d3 += d3
        self.d7 += d7
        if h1:
            self.h1 += h1
            self.hit += 1
            self.top_h1 = max(self.top_h1, h1)
            self.transient_h1 += group.h1_of(Kind.TRANSIENT)
            self.permanent_h1 += group.h1_of(Kind.PERMANENT)
        if now_ms - group.group_first_ms < DAY:
            self.fresh += 1
            self.fresh_ms = min(self.fresh_ms or group.group_first_ms, group.group_first_ms)
        if group.life == Life.REGRESSED:
            self.back += 1

    def join(self, other: Tally) -> None:
        """All of another."""
        for name in ("matching", *WINDOWS, "transient_h1", "permanent_h1", "hit", "fresh", "back"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.top_h1 = max(self.top_h1, other.top_h1)
        self.fresh_ms = min((at for at in (self.fresh_ms, other.fresh_ms) if at is not None), default=None)


def tally(groups: Iterable[Sums], known: Known) -> Tallies:
    """All groups, a microsecond or two each."""
    found: dict[tuple[str, Kind], Tally] = {}
    for group in groups:
        key = (group.life, group.kind)
        if key not in found:
            found[key] = Tally()
        found[key].add(group, known.now_ms)
    return found


def together(many: Iterable[Tallies]) -> Tallies:
    """The tallies of several sources as one."""
    found: dict[tuple[str, Kind], Tally] = {}
    for tallies in many:
        for key, each in tallies.items():
            found.setdefault(key, Tally()).join(each)
    return found
