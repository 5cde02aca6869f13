"""How many jobs one script takes: as many as keep it within its time, learnt from how long the last ones took."""

from __future__ import annotations

from dataclasses import dataclass

AIM_MS = 8.0  # a script holds the server for about so long; twice that is the most that is meant to happen
FIRST, LEAST, MOST = 100, 1, 1_000


@dataclass(slots=True)
class Pace:
    """The size of the next batch. Threads may share it: what one learns late another has learnt, and no more."""

    size: int = FIRST

    def took(self, count: int, ms: float) -> None:
        """Learn from a script that took `ms` on the server for `count` jobs."""
        if count <= 0:
            return
        fits = int(count * AIM_MS / max(ms, 0.1))
        self.size = max(LEAST, min(MOST, fits, self.size * 2))
