"""The windows in which failures are counted: from where each counts, and what leaves it as time goes on."""

from __future__ import annotations

MINUTE_MS = 60_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
# The fields of `FailureStrand`, in order, with their lengths in ms.
WINDOWS = {"h1": HOUR_MS, "h3": 3 * HOUR_MS, "h24": DAY_MS, "d3": 3 * DAY_MS, "d7": 7 * DAY_MS}
BY_HOUR = ("d3", "d7")  # minutes are not kept for so long: these begin with a whole hour


def since(window: str, windows_ms: int) -> int:
    """From which `at_ms` a window counts, if counted at `windows_ms` (`Indexing.windows_ms`): always a whole minute.

    A list of the jobs of a cell takes this as its `since`, and holds as many as the cell says.
    """
    begins = windows_ms - WINDOWS[window]
    return begins // HOUR_MS * HOUR_MS if window in BY_HOUR else begins
