"""A pattern, parsed: which seconds, minutes and hours, and which days of which months.

The fields are cron's; the rule by which days of the month and weekdays are joined is that of cron-parser, each
generation its own (4.9.0 `lib/expression.js`, 5.10.3 `CronExpression.js`).
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass, replace
from functools import lru_cache

from django.utils.translation import gettext as _

from queues.cron import atoms
from queues.cron.atoms import Values
from queues.cron.errors import CannotPreview, Refused
from queues.cron.parser import CronParser

LONGEST = 1024  # characters; 5.10 refuses longer ones itself
MOST_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

# White space as JavaScript has it.
_SPACE = "\\t\\n\\v\\f\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
_GAP = re.compile(f"[{_SPACE}]+")
_DEFAULTS = ("0", "*", "*", "*", "*", "*")
_SHORTHANDS = {
    "@yearly": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_NEWER_SHORTHANDS = {
    "@annually": "0 0 1 1 *",
    "@minutely": "* * * * *",
    "@secondly": "* * * * * *",
    "@weekdays": "0 0 * * 1-5",
    "@weekends": "0 0 * * 0,6",
}


class GivesUp(Exception):
    """The library throws while it looks for the next time; BullMQ takes that for “never again”."""


@dataclass(frozen=True)
class Pattern:
    """What a pattern says. Weekdays count from Sunday, 0; `nth` is the number behind `#`, or 0.

    `days_wild` and `weekdays_wild` tell whether 5.10 takes the field for `*`; 4.9 counts values instead.
    """

    parser: CronParser
    seconds: Values
    minutes: Values
    hours: Values
    days: Values
    months: Values
    weekdays: Values
    nth: int = 0
    days_wild: bool = False
    weekdays_wild: bool = False
    # For 5.10 an L anywhere in the field is enough, in `JUL` too, and makes every weekday named a last one as well.
    days_last: bool = False
    weekdays_last: bool = False

    @property
    def breaks(self) -> bool:
        """Whether 4.9 throws on days that no number names: an L that no weekday stands in front of."""
        return self.parser is CronParser.V4 and any(not last[0].isdigit() for last in self.weekdays.lasts)

    def days_of(self, year: int, month: int) -> tuple[int, ...]:
        """The days of a month that match, months left aside. Not for a pattern that `breaks`."""
        first, length = monthrange(year, month)
        return _matching(self, (first + 1) % 7, length, MOST_DAYS[month - 1])

    def on(self, year: int, month: int, day: int) -> bool:
        """Whether a day matches, months left aside. Raises GivesUp where the library throws for it."""
        if not self.breaks:
            return day in self.days_of(year, month)
        first, length = monthrange(year, month)
        return _matches_4(self, day, (first + day) % 7, length, MOST_DAYS[month - 1])


def parse(text: str, parser: CronParser) -> Pattern:
    """A pattern of five or six fields (the first then is seconds) or a shorthand such as `@daily`.

    Missing fields in front are `*`. Raises Refused where the library throws, CannotPreview where it accepts what
    cannot be known: a random `H`, or more text than is read here (1,024 characters). Cost: the length of the text.
    """
    if len(text) > LONGEST:
        told = _("A pattern of more than %(most)d characters is not read.") % {"most": LONGEST}
        raise Refused(told) if parser is CronParser.V5 else CannotPreview(told)
    return _parse(text, parser)


@lru_cache(maxsize=4096)
def _parse(text: str, parser: CronParser) -> Pattern:
    *times, days, months, weekdays = split(text, parser)
    kinds = zip(times, atoms.KINDS, strict=False)
    seconds, minutes, hours = (atoms.read(field, kind, parser) for field, kind in kinds)
    which, nth = _nth(weekdays)
    pattern = Pattern(
        parser,
        seconds,
        minutes,
        hours,
        atoms.read(days, atoms.DAY, parser),
        atoms.read(months, atoms.MONTH, parser),
        atoms.read(which, atoms.WEEKDAY, parser),
        nth,
        days_wild=days in ("*", "?"),
        weekdays_wild=weekdays in ("*", "?"),
        days_last="L" in days,
        weekdays_last="L" in weekdays,
    )
    return _possible(pattern)


def split(text: str, parser: CronParser) -> tuple[str, ...]:
    """The six fields of a pattern as they are written."""
    shorthands = {**_SHORTHANDS, **_NEWER_SHORTHANDS} if parser is CronParser.V5 else _SHORTHANDS
    fields = [field for field in _GAP.split(shorthands.get(text, text)) if field]
    if len(fields) > 6:
        told = _("A pattern has five fields, or six with seconds; this one has %(count)d.")
        raise Refused(told % {"count": len(fields)})
    # Nothing at all is refused by BullMQ (`job-scheduler.js`); 4.9 takes mere white space for `* * * * *`.
    if not fields and (not text or parser is CronParser.V5):
        raise Refused(_("The pattern is empty."))
    return (*_DEFAULTS[: 6 - len(fields)], *fields)


def _nth(weekdays: str) -> tuple[str, int]:
    which, found, nth = weekdays.partition("#")
    if not found:
        return weekdays, 0
    if any(character in weekdays for character in ",-/") or nth.lstrip("0") not in tuple("12345"):
        raise atoms.refused(weekdays, atoms.WEEKDAY)
    return which, int(nth)


def _possible(pattern: Pattern) -> Pattern:
    """Refuses a day that its only month never has, and leaves out such days beside others."""
    if len(pattern.months) != 1:
        return pattern
    most = MOST_DAYS[pattern.months.numbers[0] - 1]
    days = pattern.days
    kept = tuple(day for day in days.numbers if day <= most)
    if pattern.parser is CronParser.V4:
        if days.numbers and days.numbers[0] > most:
            raise Refused(_("The month never has such a day."))
        days = Values(kept, tuple(last for last in days.lasts if last == "L"))
    elif not kept and not days.lasts and not pattern.days_last:
        # A weekday saves the pattern in 5.10: either of the two is enough.
        if pattern.weekdays_wild:
            raise Refused(_("The month never has such a day."))
    else:
        days = Values(kept, days.lasts)
    return replace(pattern, days=days)


@lru_cache(maxsize=8192)
def _matching(pattern: Pattern, first: int, length: int, most: int) -> tuple[int, ...]:
    """The matching days of a month of `length` days that begins on weekday `first`."""
    matches = _matches_4 if pattern.parser is CronParser.V4 else _matches_5
    return tuple(day for day in range(1, length + 1) if matches(pattern, day, (first + day - 1) % 7, length, most))


def _matches_4(pattern: Pattern, day: int, weekday: int, length: int, most: int) -> bool:
    on_day = day in pattern.days.numbers or (bool(pattern.days.lasts) and day == length)
    on_weekday = weekday in pattern.weekdays.numbers or _last_weekday_4(pattern, day, weekday, length)
    # “Any” is told by the number of values: eight weekdays (0 to 7), as many days as the month can have.
    any_day, any_weekday = len(pattern.days) >= most, len(pattern.weekdays) == 8
    if not on_day and (not on_weekday or any_weekday):
        return False
    if any_day and not any_weekday and not on_weekday:
        return False
    return not pattern.nth or (day + 6) // 7 == pattern.nth


def _last_weekday_4(pattern: Pattern, day: int, weekday: int, length: int) -> bool:
    for last in pattern.weekdays.lasts:
        if not last[0].isdigit():
            raise GivesUp
        if int(last[0]) % 7 == weekday and day > length - 7:
            return True
    return False


def _matches_5(pattern: Pattern, day: int, weekday: int, length: int, _most: int) -> bool:
    weekdays = pattern.weekdays
    on_day = day in pattern.days.numbers or (pattern.days_last and day == length)
    on_weekday = weekday in weekdays.numbers and (not pattern.nth or (day + 6) // 7 == pattern.nth)
    if pattern.weekdays_last and day > length - 7:
        on_weekday = on_weekday or weekday in weekdays.numbers
        on_weekday = on_weekday or any(int(last[0]) % 7 == weekday for last in weekdays.lasts)
    if pattern.weekdays_wild:
        return on_day
    return on_weekday if pattern.days_wild else on_day or on_weekday
