"""How much is written at once, and how long others may write in between: SQLite has one writer."""

from __future__ import annotations

import time
from collections.abc import Callable

LONGEST_S = 0.1  # that a transaction should take
PAUSE_S, PAUSE_SHARE = 0.010, 0.2  # between two: at least so long, and so much of the one before
ROWS = (400, 1_000)  # of one transaction, as long as it takes; fewer cost nearly as much: each has its counts to write


class Pace:
    """For one thread. `clock` in seconds, monotonic."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.rows = ROWS[1]
        self._clock, self._sleep = clock, sleep
        self._ended = self._took = 0.0

    def wait(self) -> None:
        """Let others have the lock. What was done since the last writing counts, so most calls return at once."""
        pause = max(PAUSE_S, PAUSE_SHARE * self._took)
        missing = self._ended + pause - self._clock()
        if missing > 0:
            self._sleep(missing)

    def wrote(self, rows: int, seconds: float) -> None:
        """A transaction of so many rows has ended just now; the next ones are sized by it."""
        self._ended, self._took = self._clock(), seconds
        if seconds > LONGEST_S:
            self.rows = max(ROWS[0], int(self.rows * max(0.5, LONGEST_S / seconds)))
        elif rows >= self.rows // 2 and seconds < LONGEST_S / 2:
            self.rows = min(ROWS[1], self.rows * 2)
