"""When an interval (`every`) runs next: slots that BullMQ's scripts compute, not the patterns' parser.

Job schedulers: `getJobSchedulerEveryNextMillis.lua`, the same in 5.81.5 and 6.7.0. Legacy repeatables of 4.18.3 and
5.81.5: `getNextMillis` in `repeat.js`. All numbers are whole milliseconds.
"""

from __future__ import annotations


def next_slot(
    *, previous: int | None, every: int, now: int, offset: int = 0, start: int | None = None
) -> tuple[int, int]:
    """The run that a scheduler arms at `now`, and the offset that belongs to it.

    `previous` is the run before, the score in `repeat`; None for a scheduler that is new, or whose interval was
    changed. `offset` is what its hash says, 0 where it says none. Without one the first run is now, or at the start
    date; a start date goes before an offset. A run that was missed is not made up for: the slots go on from now.
    Raises ValueError for an interval below 1.
    """
    if every < 1:
        raise ValueError(every)
    if previous is not None:
        found = previous + every
        if found < now:
            found = _aligned(every, now, offset)
    elif start is not None:
        found = max(start, now)
    elif offset > 0:
        found = _aligned(every, now, offset)
    else:
        found = now
    return found, offset or found % every


def _aligned(every: int, now: int, offset: int) -> int:
    slot = now // every * every + offset
    return slot + every if slot <= now else slot


def next_legacy_slot(*, previous: int, every: int, now: int, immediately: bool = False) -> int:
    """The run that a legacy repeatable arms: slots since 1970, without offset or start date.

    `previous` is the run before, 0 at first. Raises ValueError for an interval below 1.
    """
    if every < 1:
        raise ValueError(every)
    return max(previous, now) // every * every + (0 if immediately else every)


def next_runs(armed: int, every: int, *, count: int = 10, end: int | None = None) -> tuple[int, ...]:
    """The armed run and those after it, if a worker takes each in time; `count` of them, fewer where an end is near.

    A run arms the next one while the end date is not passed, without a look at when that one will be: so the last
    run comes up to one interval after the end. Raises ValueError for an interval below 1.
    """
    if every < 1:
        raise ValueError(every)
    runs = [armed]
    while len(runs) < count and (end is None or runs[-1] <= end):
        runs.append(runs[-1] + every)
    return tuple(runs[:count])
