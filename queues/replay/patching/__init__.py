"""Edits of a job's data that touch nothing else: a merge patch, lines that set paths, or other data as a whole.

Everything that an edit does not name keeps its bytes: numbers of any length, escapes, layout, order and doubled keys.
"""

from queues.replay.patching.comparing import Line, compared
from queues.replay.patching.making import Patcher, checked, patcher
from queues.replay.patching.trying import Tried, trial
from queues.replay.patching.unfit import Unfit

__all__ = ["Line", "Patcher", "Tried", "Unfit", "checked", "compared", "patcher", "trial"]
