"""Since when failures come as they come now: where the present burst of a group began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from queues.failures.about.series import by_hour, by_minute
from queues.failures.about.whole import Whole
from queues.quantities import DAY, HOUR, MINUTE, now_ms

STEP = 5 * MINUTE
CALM = 6  # steps below the mark, one after the other, that part two waves
PART = 5  # the mark: a fifth of the busiest step of the last hour
REACH = 48 * HOUR  # as far as minutes are kept


@dataclass(frozen=True, slots=True)
class Wave:
    """`since_ms` is right to a minute, or to an hour where `coarse`. `open_end`: it began before all that is kept."""

    since_ms: int
    coarse: bool = False
    open_end: bool = False


def wave(about: Whole, *, now: int | None = None) -> Wave | None:
    """`wave_of` a whole group."""
    return wave_of(about.strand_keys, now=now)


def wave_of(strands: Sequence[int], *, now: int | None = None) -> Wave | None:
    """The burst that goes on; None where nothing failed within the last hour.

    Looks back from now in steps of 5 minutes for the first half hour in which each had less than a fifth of the
    busiest step of the last hour: the wave began right behind it. What began more than two days ago is told by hours.
    """
    now = now_ms() if now is None else now
    last = now // STEP
    minutes = by_minute(strands, now - REACH, (last + 1) * STEP)
    steps: dict[int, int] = {}
    for at, count in minutes.items():
        steps[at // STEP] = steps.get(at // STEP, 0) + count
    most = max((steps.get(last - back, 0) for back in range(HOUR // STEP + 1)), default=0)
    if not most:
        return None
    mark = max(1, most / PART)
    found = _first(steps, last, last - REACH // STEP, mark)
    if found is None:
        return _by_hours(strands, now, max(1.0, mark))
    begin = found * STEP
    within = [at for at in minutes if begin <= at < begin + STEP and minutes[at] >= mark / (STEP // MINUTE)]
    return Wave(min(within, default=begin))


def _first(steps: dict[int, int], last: int, lowest: int, mark: float) -> int | None:
    """The step with which the wave began; None where it goes on beyond the lowest."""
    begin, calm = last, 0
    for step in range(last, lowest - 1, -1):
        if steps.get(step, 0) >= mark:
            begin, calm = step, 0
        else:
            calm += 1
        if calm >= CALM and steps.get(begin, 0) >= mark:
            return begin
    return None


def _by_hours(strands: Sequence[int], now: int, mark: float) -> Wave:
    """The same by hours, over 30 days: an hour below the mark of one step parts two waves."""
    hours = by_hour(strands, now - 30 * DAY, now)
    hour = (now - REACH) // HOUR
    lowest = (now - 30 * DAY) // HOUR
    while hour > lowest and hours.get((hour - 1) * HOUR, 0) >= mark:
        hour -= 1
    return Wave(hour * HOUR, coarse=True, open_end=hour <= lowest)
