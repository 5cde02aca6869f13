"""Running a plan, a slice at a time, so that several share the worker's threads fairly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Later:
    """That a plan goes on, for whoever finds it at this epoch, after so many seconds."""

    epoch: int
    after_s: float = 0.0


def run(replay: int, epoch: int, *, slice_s: float | None = None) -> Later | None:
    """Run a plan for a slice. None when it has ended, is in other hands, or has gone on since `epoch`."""
    return None


def resting() -> Sequence[tuple[int, int]]:
    """The plans that could go on now, with their epochs: for whoever starts tasks by the clock."""
    return ()
