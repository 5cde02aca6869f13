"""A plan that waits for a person: what was sent goes on, and is watched."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from queues.replay.run import ending, facts
from queues.replay.run.looks import LONG_S, SENDING_S, Looks
from queues.replay.run.run import Run
from queues.replay.watching import unended, unexplained


@dataclass
class Halted:
    """Phases PAUSED, STOPPED and DECIDING."""

    run: Run
    _looks: Looks = field(init=False)
    _over_at: float | None = None  # since when nothing is under way (monotonic)

    def __post_init__(self) -> None:
        self._looks = Looks(self.run, SENDING_S, LONG_S)
        self.run.facts.setdefault(facts.HALTED, self.run.replay.why)

    def step(self) -> float:
        """A look; gives after how many seconds the next makes sense: never where nothing is under way, and the index
        of failures knows of every failure again, or has had its time.
        """
        if wait := self._looks.wait_s:
            return wait
        if self.run.replay.started_at is None:
            return math.inf
        self._looks.look()
        return self._looks.wait_s if unended(self.run.replay) or not self._is_explained() else math.inf

    def rest(self) -> None:
        self._looks.rest()

    def _is_explained(self) -> bool:
        if not unexplained(self.run.replay):
            return True
        self._over_at = time.monotonic() if self._over_at is None else self._over_at
        return time.monotonic() - self._over_at > ending.EXPLAINED_S

    def close(self) -> None:
        """There is nothing left to do on the server."""
