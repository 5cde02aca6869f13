"""One group of failures as its page tells it: its sums, when its failures were, where, and what they look like.

Everything here reads our own database, but for `fields`, which asks the source for the data of jobs that are there.
"""

from queues.failures.about.fields import Spread, at_path, suggested
from queues.failures.about.looks import Compared, compared
from queues.failures.about.series import Series, Span, series
from queues.failures.about.shares import shares
from queues.failures.about.wave import Wave, wave, wave_of
from queues.failures.about.whole import Whole, whole

__all__ = [
    "Compared",
    "Series",
    "Span",
    "Spread",
    "Wave",
    "Whole",
    "at_path",
    "compared",
    "series",
    "shares",
    "suggested",
    "wave",
    "wave_of",
    "whole",
]
