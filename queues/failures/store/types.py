"""What the index is told of what it wrote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


class Lost(Exception):
    """Another index writes for this source now: whoever gets this stops. Nothing of the transaction was written."""


@dataclass(frozen=True, slots=True)
class Written:
    """What came of a writing. `groups`: slugs of those that have other counts or another life now.

    `fresh`: those of them that are new or regressed. `wanted`: jobs (id, score in ms) whose data a sample wants:
    `Store.sample` keeps it, and until then it is wanted again.
    """

    new: int = 0  # failures that were not known before, each counted once
    groups: frozenset[str] = frozenset()
    fresh: frozenset[str] = frozenset()
    wanted: Sequence[tuple[bytes, int]] = field(default=())


def together(written: Iterable[Written]) -> Written:
    """What came of several writings."""
    new, groups, fresh, wanted = 0, frozenset[str](), frozenset[str](), list[tuple[bytes, int]]()
    for each in written:
        new, groups, fresh = new + each.new, groups | each.groups, fresh | each.fresh
        wanted += each.wanted
    return Written(new, groups, fresh, wanted)
