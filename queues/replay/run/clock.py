"""The monitored server's clock, as this process knows it: one for all who send to a server, on whichever machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from queues.backend import Events


@dataclass(frozen=True, slots=True)
class Clock:
    """Milliseconds since 1970 by the server's clock, never ahead of it by our doing."""

    server_ms: int
    at_s: float
    monotonic: Callable[[], float] = time.monotonic

    @classmethod
    def of(cls, reader: Events) -> Clock:
        """What the server says now. One call."""
        told = reader.server_ms()
        return cls(told, time.monotonic())

    @property
    def now_ms(self) -> float:
        return self.server_ms + (self.monotonic() - self.at_s) * 1000.0
