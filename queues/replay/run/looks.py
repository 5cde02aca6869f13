"""How often a plan looks at what became of its jobs: often while something happens, seldom while nothing does."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from queues.replay.run import facts
from queues.replay.run.run import Run
from queues.replay.watching import Watching

SENDING_S = 0.5  # between two looks while jobs are sent
WAITING_S = 1.0  # at most, while something may happen: a busy stream keeps but some seconds
LONG_S = 5.0  # while nothing has happened for a minute or so
GROWS = 1.1
SHARE = 4  # looks take no more than one part of the time in so many
_SEEN = ("completed", "failed", "other", "retrying", "running")


@dataclass
class Looks:
    """Looks at intervals from `least_s` to `most_s`, which grow while nothing happens."""

    run: Run
    least_s: float = SENDING_S
    most_s: float = SENDING_S
    _watching: Watching = field(init=False)
    _at: float | None = None  # of the next look (time.monotonic())

    def __post_init__(self) -> None:
        self._watching = Watching(self.run)

    @property
    def wait_s(self) -> float:
        """Seconds until the next look is due; 0 where it is."""
        return 0.0 if self._at is None else max(0.0, self._at - time.monotonic())

    @property
    def is_late(self) -> bool:
        """Whether the next look should have been long ago, or there was none yet."""
        return self._at is None or time.monotonic() - self._at >= SENDING_S

    def look(self) -> bool:
        """Look now; gives whether anything has happened. Nothing may be under way to the server meanwhile.

        What a job came to before it is written down as sent would not be understood. Raises what the backend raises.
        """
        plan, began = self.run.replay, time.monotonic()
        before = [getattr(plan, name) for name in _SEEN]
        self._watching.step()
        took = time.monotonic() - began
        happened = before != [getattr(plan, name) for name in _SEEN]
        quiet = 0.0 if happened else GROWS * float(self.run.facts.get(facts.QUIET, 0.0))
        quiet = max(self.least_s, min(quiet, self.most_s, self._watching.within_s))
        self.run.facts[facts.QUIET] = quiet
        self._at = time.monotonic() + max(quiet, SHARE * took)
        return happened

    def at_once(self) -> None:
        """The next look is due."""
        self._at = None

    def rest(self) -> None:
        self._watching.rest()
