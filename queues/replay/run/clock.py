"""The monitored server's clock, as this process knows it: one for all who send to a server, on whichever machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from queues.backend import Events


@dataclass
class Clock:
    """Milliseconds since 1970 by the server's clock: never ahead of it, and behind by as long as its answer took.

    Who reckons from a moment that `hear` gives waits rather too long than too short. `offset` is added to `monotonic`;
    it can be no more than `most`.
    """

    offset: float
    most: float
    monotonic: Callable[[], float] = time.monotonic

    @classmethod
    def of(cls, reader: Events, monotonic: Callable[[], float] = time.monotonic) -> Clock:
        """What the server says now. One call."""
        began = monotonic()
        told = reader.server_ms()
        return cls(told - monotonic() * 1000.0, told + 1 - began * 1000.0, monotonic)

    def hear(self, told_ms: int) -> float:
        """The server has told a moment just now, to the millisecond; gives one that is surely not before it."""
        self.offset = max(self.offset, min(told_ms - self.monotonic() * 1000.0, self.most))
        # A server whose clock was put forward meanwhile tells nothing about ours.
        return max(self.now_ms, min(told_ms, self.now_ms) + 1.0)

    @property
    def now_ms(self) -> float:
        return self.at_ms(self.monotonic())

    def at_ms(self, monotonic_s: float) -> float:
        """A moment of `monotonic`, in seconds, by the server's clock."""
        return self.offset + monotonic_s * 1000.0
