"""The windows in which failures are counted: from where each counts, and what leaves it as time goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from struct import Struct

from queues.quantities import DAY, HOUR, MINUTE

MINUTES = Struct("<60I")  # `FailureHour.minutes`
# The fields of `FailureStrand`, in order, with their lengths in ms.
WINDOWS = {"h1": HOUR, "h3": 3 * HOUR, "h24": DAY, "d3": 3 * DAY, "d7": 7 * DAY}
DAYS = range(1, 8)  # before, which say what is usual
BY_HOUR = ("d3", "d7")  # minutes are not kept for so long: these begin with a whole hour


def since(window: str, windows_ms: int) -> int:
    """From which `at_ms` a window counts, if counted at `windows_ms` (`Indexing.windows_ms`): always a whole minute.

    A list of the jobs of a cell takes this as its `since`, and holds as many as the cell says.
    """
    begins = windows_ms - WINDOWS[window]
    return begins // HOUR * HOUR if window in BY_HOUR else begins


def until_now(now_ms: int) -> int:
    """The whole minute up to which windows are counted at this time."""
    return now_ms // MINUTE * MINUTE


def leaving(before_ms: int, windows_ms: int) -> dict[str, tuple[int, int]]:
    """From when until when failures leave each window, as it is counted at `windows_ms` after `before_ms`."""
    return {name: (since(name, before_ms), since(name, windows_ms)) for name in WINDOWS}


def hours(begin_ms: int, end_ms: int) -> range:
    """The hours that this time touches."""
    return range(begin_ms // HOUR, -(-end_ms // HOUR))


def within(hour: int, count: int, minutes: Sequence[int] | None, begin_ms: int, end_ms: int) -> int:
    """How many of the failures of an hour fall into this time, whose ends are whole minutes.

    In proportion, where the minutes of an hour that is only partly meant are forgotten.
    """
    first = min(60, max(0, begin_ms // MINUTE - hour * 60))
    last = min(60, max(0, end_ms // MINUTE - hour * 60))
    if (first, last) == (0, 60):
        return count
    if minutes is None:
        return count * max(0, last - first) // 60
    return sum(minutes[first:last])


def usual(counts: Mapping[int, int], windows_ms: int, known_ms: int) -> float | None:
    """How many fail in this hour of the day, on the mean of the days before, seven at most; None: not known yet.

    `counts` by hour; failures are known since `known_ms`. The hour that ends now touches two hours of each day, and
    takes of each in proportion.
    """
    begins = [windows_ms - HOUR - day * DAY for day in DAYS]
    known = [begin for begin in begins if begin >= known_ms]
    if not known:
        return None
    return round(sum(_share(counts, begin) for begin in known) / len(known), 2)


def usual_hours(windows_ms: int) -> list[int]:
    """The hours that `usual` asks about."""
    begins = [windows_ms - HOUR - day * DAY for day in DAYS]
    return [hour for begin in begins for hour in (begin // HOUR, begin // HOUR + 1)]


def _share(counts: Mapping[int, int], begin_ms: int) -> float:
    hour, into = divmod(begin_ms, HOUR)
    return counts.get(hour, 0) * (HOUR - into) / HOUR + counts.get(hour + 1, 0) * into / HOUR
