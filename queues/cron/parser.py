"""The two generations of npm `cron-parser` that give a pattern its meaning in BullMQ.

Which is which is read from the `package.json` of BullMQ 4.18.3 (`^4.6.0`), 5.81.5 (`4.9.0`) and 6.7.0 (`5.10.3`).
"""

from __future__ import annotations

from enum import Enum


class CronParser(Enum):
    """A generation of cron-parser; the value is the version that the facts here were compared with."""

    V4 = "4.9"
    V5 = "5.10"

    @classmethod
    def of_bullmq(cls, major: int) -> CronParser:
        """The one that workers of a BullMQ major use: a pattern means what the worker's library makes of it."""
        return cls.V5 if major >= 6 else cls.V4
