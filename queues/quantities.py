"""Numbers, sizes, durations and moments as all sentences and pages write them, in the active language.

What is unknown (None) is a dash. Nothing here fails for a number, however odd; NaN and infinities are the
callers' to refuse. Lengths of time are milliseconds and are rounded down: what is said to have passed has.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

from django.utils.formats import number_format
from django.utils.translation import get_language
from django.utils.translation import gettext as _

UNKNOWN = "–"

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000  # milliseconds
LAST_MS = 253_402_300_799_999  # the end of the year 9999: beyond it no calendar helps
LARGEST = 2**63 - 1  # that any database keeps


def number(value: float | None, language: str | None = None) -> str:
    """A number with its thousands apart: 1,234,567. Who writes thousands of them names the active language."""
    return UNKNOWN if value is None else _number(value, language or get_language())


# Kept by language, because a page of a list writes hundreds of numbers and durations.
@lru_cache(maxsize=16_384)
def _number(value: float, _language: str | None) -> str:
    return number_format(int(value) if value == int(value) else value, use_l10n=True, force_grouping=True)


@lru_cache(maxsize=32)
def _units(_language: str | None) -> Sequence[str]:
    return _("{} ms"), _("{} s"), _("{} min"), _("{} h"), _("{} d")


def spelled(value: int) -> str:
    """A number within a sentence: in words below ten, in figures from there on."""
    small = (
        _("none"), _("one"), _("two"), _("three"), _("four"),
        _("five"), _("six"), _("seven"), _("eight"), _("nine"),
    )  # fmt: skip
    return small[value] if 0 <= value < len(small) else number(value)


def size(count: int | None) -> str:
    """Bytes in powers of 1,024: 2.1 KB."""
    if count is None:
        return UNKNOWN
    units = (_("{} B"), _("{} KB"), _("{} MB"), _("{} GB"), _("{} TB"))
    power = min((count.bit_length() - 1) // 10, len(units) - 1) if count > 0 else 0
    return units[power].format(number(round(count / 1024**power, 1)))


def units() -> Sequence[str]:
    """Second, minute, hour and day as they stand behind a number, for scripts that count time up."""
    return _units(get_language())[1:]


def duration(ms: float | None, *, whole: bool = False) -> str:
    """The two largest units: 380 ms, 48.2 s, 4 min 33 s, 2 h 04 min, 6 d 4 h; `whole` drops parts of a second."""
    if ms is None:
        return UNKNOWN
    if whole:
        ms = int(ms / SECOND) * SECOND
    if ms < 0:
        return "−" + duration(-ms, whole=whole)
    language = get_language()
    tiny, second, minute, hour, day = _units(language)
    if ms < SECOND and not whole:
        return tiny.format(_number(int(ms) if ms >= 10 else int(ms * 10) / 10, language))
    if ms < MINUTE:
        return second.format(_number(ms // 100 / 10, language))
    if ms < HOUR:
        return _two(minute, str(int(ms // MINUTE)), second, f"{ms % MINUTE // SECOND:02.0f}")
    if ms < DAY:
        return _two(hour, str(int(ms // HOUR)), minute, f"{ms % HOUR // MINUTE:02.0f}")
    return _two(day, _number(ms // DAY, language), hour, f"{ms % DAY // HOUR:.0f}")


def _two(large: str, much: str, small: str, rest: str) -> str:
    said = large.format(much)
    return f"{said} {small.format(rest)}" if rest.strip("0") else said


def now_ms() -> int:
    """Our clock in milliseconds since 1970, as queues write times."""
    return time.time_ns() // 1_000_000


def instant(ms: float | None) -> datetime | None:
    """Milliseconds since 1970 as an aware datetime; None when there is no such day (hostile values)."""
    if ms is None:
        return None
    try:
        return datetime.fromtimestamp(ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
