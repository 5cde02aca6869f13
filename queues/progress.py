"""What a job says about its progress: any JSON value, of which some are a percentage."""

from __future__ import annotations

from typing import TypeGuard

from queues.jsonload import Unreadable, load
from queues.text import text
from queues.types import Mark, Progress

PERCENT_KEYS = ("progress", "percent", "percentage")
SHOWN = 200  # characters


def parse(raw: bytes, *, size: int | None = None) -> Progress:
    """The progress in `raw`, of which `size` bytes are stored (more than `raw` holds when it was cut).

    A percentage is a number from 0 to 100 (not a boolean), the same below one of `PERCENT_KEYS` of
    an object, or `done` of a positive `total`. Anything else is only text. Never fails.
    """
    if size is not None and len(raw) < size:
        return Progress(None, text(raw, size=size, cap=SHOWN))
    if not raw:
        return Progress(None, text(raw))  # updateProgress(undefined)
    try:
        value = load(raw)
    except Unreadable as error:
        return Progress(None, text(raw, cap=SHOWN, marks=(Mark.DEEP if error.too_deep else Mark.MALFORMED,)))
    percent = _percent(value)
    return Progress(percent, text(raw, cap=SHOWN), bare=percent is not None and not isinstance(value, dict))


def _percent(value: object) -> float | None:
    if not isinstance(value, dict):
        return _within(value)
    for key in PERCENT_KEYS:
        if (percent := _within(value.get(key))) is not None:
            return percent
    done, total = value.get("done"), value.get("total")
    if _number(done) and _number(total) and total > 0 and 0 <= done <= total:
        return float(100 * done / total)
    return None


def _within(value: object) -> float | None:
    return float(value) if _number(value) and 0 <= value <= 100 else None


def _number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
