"""What a schedule's pattern or interval means: its next times as BullMQ computes them.

No Python library stands in for cron-parser here. Over generated patterns croniter and cronsim gave other times than
its two generations for one in twenty to one in ten, without a sign: where clocks are changed, where both day fields
are set, for `#` and rare days; and they take or refuse other patterns.
"""

from __future__ import annotations

from queues.cron.errors import CannotPreview, PatternError, Refused
from queues.cron.every import next_legacy_slot, next_runs, next_slot
from queues.cron.fires import Fires, next_fires
from queues.cron.parser import CronParser

__all__ = [
    "CannotPreview",
    "CronParser",
    "Fires",
    "PatternError",
    "Refused",
    "next_fires",
    "next_legacy_slot",
    "next_runs",
    "next_slot",
]
