"""A group as the list shows it: its sums, its class, how fast it grows. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from queues.failures.types import UNSOLVED, Kind, Life
from queues.failures.windows import WINDOWS
from queues.failures.windows import since as begin_of
from queues.quantities import DAY
from queues.types import QueueRef

SPARK_HOURS = 48
FAST = 2.0  # times the usual, and beyond what chance does
CHANCE = 3.0  # standard deviations of a number that has this mean


@dataclass(frozen=True, slots=True)
class Windows:
    """How many failed in the last hour, 3 h, 24 h, 3 d and 7 d; windows overlap."""

    h1: int = 0
    h3: int = 0
    h24: int = 0
    d3: int = 0
    d7: int = 0

    def __add__(self, other: Windows) -> Windows:
        return Windows(
            self.h1 + other.h1, self.h3 + other.h3, self.h24 + other.h24, self.d3 + other.d3, self.d7 + other.d7
        )


class GrowthWord(StrEnum):
    """How the last hour compares with what is usual, where no factor says it."""

    NEW = "new"  # first seen within 24 hours
    BACK = "back"  # seen again after it was resolved
    RARE = "rare"  # there are failures, and at this hour there usually are none


@dataclass(frozen=True, slots=True)
class Growth:
    """The last hour against the mean of this hour on the 7 days before: a word, or how many times that; else unknown.

    `fast`: it is at least twice the usual, and by more than chance.
    """

    word: GrowthWord | None = None
    times: float | None = None
    fast: bool = False

    @property
    def known(self) -> bool:
        return self.word is not None or self.times is not None


def growth(life: str, first_ms: int, h1: int, usual: float | None, now_ms: int) -> Growth:
    """How a group grows. `usual` None: not known. Without failures in the last hour a factor says nothing."""
    fast = usual is not None and h1 >= FAST * usual and h1 - usual > CHANCE * math.sqrt(max(usual, 1.0))
    if life == Life.REGRESSED:
        return Growth(GrowthWord.BACK, fast=fast)
    if now_ms - first_ms < DAY:
        return Growth(GrowthWord.NEW, fast=fast)
    if not h1 or usual is None:
        return Growth()
    if usual <= 0:
        return Growth(GrowthWord.RARE, fast=fast)
    return Growth(times=h1 / usual, fast=fast)


@dataclass(frozen=True, slots=True)
class Row:
    """A group in the list. `kind` is that of most of its failures (`mixed`: not of all), or set by hand (`by_hand`).

    `queues` are the first few of `queue_count`, those with the most failures first. `hours` are counts of the last 48
    hours, the newest last; None where nobody knows. `windows_ms` is the moment up to which its windows are counted.
    `rule` decided most failures of its class; "" where none did, or where somebody said it.
    """

    slug: str
    title: str
    source: str
    life: Life
    kind: Kind
    mixed: bool
    by_hand: bool
    counts: Windows
    total: int
    present: int
    usual: float | None
    growth: Growth
    first_ms: int
    last_ms: int
    windows_ms: int
    regressed_ms: int | None = None
    owner: str = ""
    queues: Sequence[QueueRef] = ()
    queue_count: int = 0
    name: str = ""
    name_count: int = 0
    rule: str = ""
    hours: Sequence[int | None] = ()

    @property
    def live(self) -> bool:
        """Whether it failed in the last hour and is still to be looked at."""
        return self.counts.h1 > 0 and self.life in UNSOLVED

    @property
    def since(self) -> Mapping[str, int]:
        """Where each window begins, in ms: what its cell links to."""
        return {name: begin_of(name, self.windows_ms) for name in WINDOWS}
