"""Edits of a job's data that touch nothing else: a merge patch, lines that set paths, or other data as a whole.

Everything that an edit does not name keeps its bytes: numbers of any length, escapes, layout, order and doubled keys.
"""

from queues.replay.patching.comparing import Line, compared
from queues.replay.patching.edit import Unfit
from queues.replay.patching.making import Patcher, Tried, checked, patcher, trial

__all__ = ["Line", "Patcher", "Tried", "Unfit", "checked", "compared", "patcher", "trial"]
