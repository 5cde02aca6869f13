"""What a schedule's pattern or interval means: its next times as BullMQ computes them, and its words.

No Python library stands in for cron-parser here. Over generated patterns croniter and cronsim gave other times than
its two generations for one in twenty to one in ten, without a sign: where clocks are changed, where both day fields
are set, for `#` and rare days; and they take or refuse other patterns. cron-descriptor calls `*/7` “every 7 minutes”.
"""

from __future__ import annotations

from queues.cron.errors import CannotPreview, PatternError, Refused
from queues.cron.every import next_legacy_slot, next_runs, next_slot
from queues.cron.fires import Fires, next_fires
from queues.cron.parser import CronParser
from queues.cron.words import every_in_words, pattern_in_words

__all__ = [
    "CannotPreview",
    "CronParser",
    "Fires",
    "PatternError",
    "Refused",
    "every_in_words",
    "next_fires",
    "next_legacy_slot",
    "next_runs",
    "next_slot",
    "pattern_in_words",
]
