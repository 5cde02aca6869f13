"""What is asked of the list of groups: which of them, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from queues.failures.types import UNSOLVED, Kind, Life


class SortKey(StrEnum):
    """What groups can be sorted by, in the words of the query string."""

    WORST = "worst"
    LAST = "last"
    FIRST = "first"
    GROWTH = "growth"
    H1 = "h1"
    H3 = "h3"
    H24 = "h24"
    D3 = "d3"
    D7 = "d7"


@dataclass(frozen=True, slots=True)
class Sorting:
    """A sort key and its direction. Every order is total: what is equal goes by its later parts and by age."""

    key: SortKey = SortKey.WORST
    descending: bool = True

    @classmethod
    def parse(cls, text: str) -> Sorting:
        """`h1` or `-h1` (the highest first) as in a query string; the worst first for anything else."""
        word = text.removeprefix("-")
        if word not in set(SortKey) or word == SortKey.WORST:
            return cls()
        return cls(SortKey(word), text.startswith("-"))

    def __str__(self) -> str:
        return f"-{self.key}" if self.descending else str(self.key)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which groups. What is empty or None means all; `sources` are those of which anything is shown at all.

    `queue` is a slug, `name` a job name as it stands in the index: with either, counts are those of its strands alone.
    `text` is looked for in titles, messages, codes and error classes. `since_ms` and `until_ms` bound when a group was
    last seen.
    """

    sources: Sequence[str] = ()
    queue: str = ""
    name: str = ""
    text: str = ""
    since_ms: int | None = None
    until_ms: int | None = None
    lives: Sequence[Life] = UNSOLVED
    kind: Kind | None = None
