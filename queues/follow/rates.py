"""How many a second, over the last ten seconds."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

WINDOW_S = 10


class Rate:
    """Counts by whole seconds. `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._slots: deque[tuple[int, int]] = deque()

    def add(self, number: int) -> None:
        second = int(self._clock())
        if self._slots and self._slots[-1][0] == second:
            number += self._slots.pop()[1]
        self._slots.append((second, number))

    def a_second(self) -> float:
        """The mean of the last ten seconds, or of the time since we began when that is shorter."""
        now = self._clock()
        while self._slots and self._slots[0][0] <= now - WINDOW_S - 1:
            self._slots.popleft()
        return sum(number for _second, number in self._slots) / max(1.0, min(WINDOW_S, now - self._began))
