"""One socket as the hub sees it: what it watches, up to where it was told, and what it has not acknowledged."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from dashboard.live.board import Place
from queues.live import Topic

UNACKNOWLEDGED = 2


@dataclass(eq=False, slots=True)
class Viewer:
    """`topics` are what it is shown, `read_ms` is when its page was read, `after` the last event that is on it."""

    topics: tuple[Topic, ...]
    language: str
    rows: frozenset[str] = frozenset()
    read_ms: int = 0
    after: str = ""
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    places: tuple[Place, ...] = ()
    due: dict[Topic, dict[str, None]] = field(default_factory=dict)  # ids of parts to be told whatever the place
    base: Mapping[str, int] | None = None  # what had entered each state when `then` was counted; None: not known yet
    then: Mapping[str, int] = field(default_factory=dict)
    learning: bool = False
    entered: Mapping[str, int] = field(default_factory=dict)  # as last told
    pulse: str = ""  # as last told
    told_at: float = -1e9  # by the loop's clock
    unacknowledged: deque[int] = field(default_factory=deque)
    last: int = 0  # the number of the last frame

    @property
    def is_full(self) -> bool:
        """Whether it has to acknowledge before it is told more."""
        return len(self.unacknowledged) >= UNACKNOWLEDGED

    def acknowledge(self, number: int) -> None:
        """Frames up to this one are on the screen."""
        while self.unacknowledged and self.unacknowledged[0] <= number:
            self.unacknowledged.popleft()
        self.woken.set()

    def sent(self, number: int, now: float) -> None:
        self.unacknowledged.append(number)
        self.last, self.told_at = number, now
