"""What anybody can cause as often as they like is written down only so often."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable

EVERY_S = 60.0
MOST = 60  # in that time, whatever they are about


class Rarely:
    """Allows each kind once a minute, and all kinds together `MOST` times. `clock` is monotonic, in seconds.

    Each process counts for itself. Bounded in memory, whatever it is asked about.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._allowed: deque[tuple[float, Hashable]] = deque()

    def allows(self, kind: Hashable) -> bool:
        """Whether this may be written down now; True counts as written."""
        now = self._clock()
        while self._allowed and self._allowed[0][0] <= now - EVERY_S:
            self._allowed.popleft()
        if len(self._allowed) >= MOST or any(kind == known for _at, known in self._allowed):
            return False
        self._allowed.append((now, kind))
        return True
