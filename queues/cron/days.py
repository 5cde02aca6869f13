"""The days of a pattern in words: “on weekdays”, “on the last day of the month”, “on 1 January”."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from queues.cron.parser import CronParser
from queues.cron.pattern import MOST_DAYS, Pattern

MOST_LISTED = 6


def listed(words: Sequence[str]) -> str:
    """One, two and three: as many as there are."""
    *before, last = words
    return _("%(list)s and %(last)s") % {"list": ", ".join(before), "last": last} if before else last


def spell_days(pattern: Pattern) -> str | None:
    """Which days, empty for every day; None where no short words would be right."""
    days, weekdays = _days_wild(pattern), _weekdays_wild(pattern)
    if days is None or weekdays is None:
        return None
    if days and weekdays and not pattern.nth:
        return _only_months(pattern)
    if days:
        return _in_months(_weekdays(pattern), pattern)
    if weekdays:
        return None if pattern.nth else _dates(pattern)
    if pattern.nth or any(len(field.lasts) for field in (pattern.days, pattern.weekdays)):
        return None
    dates, names = _of_month(pattern), _weekdays(pattern)
    months = _months(pattern)
    if dates is None or names is None or months is None or set(range(7)) <= set(pattern.weekdays.numbers):
        return None
    either = _("%(days)s or %(weekdays)s") % {"days": dates, "weekdays": names}
    return _("in %(months)s, %(days)s") % {"months": months, "days": either} if months else either


def _days_wild(pattern: Pattern) -> bool | None:
    """Whether days of the month are left open; None where 4.9 takes them so in some months and not in others."""
    if pattern.parser is CronParser.V5:
        return pattern.days_wild
    wild = {len(pattern.days) >= MOST_DAYS[month - 1] for month in pattern.months.numbers}
    # A wild field is said to be every day, so it has to be.
    whole = len(set(pattern.days.numbers)) >= max(MOST_DAYS[month - 1] for month in pattern.months.numbers)
    return None if len(wild) > 1 or (True in wild and not whole) else wild.pop()


def _weekdays_wild(pattern: Pattern) -> bool | None:
    if pattern.parser is CronParser.V5:
        return pattern.weekdays_wild
    wild = len(pattern.weekdays) == 8
    return None if wild and not set(range(7)) <= set(pattern.weekdays.numbers) else wild


def _only_months(pattern: Pattern) -> str | None:
    months = _months(pattern)
    return months and _("every day in %(months)s") % {"months": months}


def _in_months(said: str | None, pattern: Pattern) -> str | None:
    months = _months(pattern)
    if not said or months is None:
        return None
    return _("%(days)s in %(months)s") % {"days": said, "months": months} if months else said


def _dates(pattern: Pattern) -> str | None:
    """Days of the month alone; one day of one month is a date."""
    days, months = pattern.days.numbers, set(pattern.months.numbers)
    if len(set(days)) == len(months) == 1 and not pattern.days.lasts and days[0] <= MOST_DAYS[min(months) - 1]:
        return _("on %(day)d %(month)s") % {"day": days[0], "month": _month_names()[min(months) - 1]}
    return _in_months(_of_month(pattern), pattern)


def _of_month(pattern: Pattern) -> str | None:
    days = sorted(set(pattern.days.numbers))
    if pattern.days.lasts or pattern.days_last:
        return _("on the last day of the month") if not days else None
    if not days:
        return None
    if len(days) == 1:
        return _("on day %(day)d of the month") % {"day": days[0]}
    if len(days) > 2 and even(days) == 1:
        return _("on days %(first)d to %(last)d of the month") % {"first": days[0], "last": days[-1]}
    if len(days) <= MOST_LISTED:
        return _("on days %(days)s of the month") % {"days": listed([str(day) for day in days])}
    step = even(days)
    if step and days[-1] + step > 31:
        # Not “every 2 days”: the count begins anew with each month.
        text = ngettext(
            "every day from day %(first)d of the month",
            "every %(step)d days from day %(first)d of the month",
            step,
        )
        return text % {"step": step, "first": days[0]}
    return None


def _weekdays(pattern: Pattern) -> str | None:
    names = sorted({day % 7 for day in pattern.weekdays.numbers})
    lasts = [last[0] for last in pattern.weekdays.lasts]
    if pattern.nth:
        return None if lasts or pattern.weekdays_last or len(names) != 1 else _nth(pattern.nth, names[0])
    if lasts or pattern.weekdays_last:
        whole = len(lasts) == 1 and not names and lasts[0].isdigit() and pattern.weekdays.lasts[0] == f"{lasts[0]}L"
        return _last(int(lasts[0]) % 7) if whole else None
    if names == [1, 2, 3, 4, 5]:
        return _("on weekdays")
    if names == [0, 6]:
        return _("on weekends")
    if len(names) == 7:
        return _("every day")
    plural = _weekday_names()
    # From Monday on: that is how weeks are spoken of.
    return _("on %(weekdays)s") % {"weekdays": listed([plural[day] for day in sorted(names, key=lambda day: day or 7)])}


def _nth(nth: int, weekday: int) -> str:
    text = (
        _("on the first %(weekday)s of the month"), _("on the second %(weekday)s of the month"),
        _("on the third %(weekday)s of the month"), _("on the fourth %(weekday)s of the month"),
        _("on the fifth %(weekday)s of the month"),
    )  # fmt: skip
    return text[nth - 1] % {"weekday": _weekday_name(weekday)}


def _last(weekday: int) -> str:
    return _("on the last %(weekday)s of the month") % {"weekday": _weekday_name(weekday)}


def even(values: Sequence[int]) -> int:
    """The step between values that lie evenly, or 0."""
    steps = {after - before for before, after in pairwise(values)}
    return steps.pop() if len(steps) == 1 else 0


def _months(pattern: Pattern) -> str | None:
    """Which months, empty for all of them."""
    months = sorted(set(pattern.months.numbers))
    names = [_month_names()[month - 1] for month in months]
    if len(months) == 12:
        return ""
    if len(months) > 2 and even(months) == 1:
        return _("the months from %(first)s to %(last)s") % {"first": names[0], "last": names[-1]}
    return listed(names) if len(names) <= MOST_LISTED else None


def _month_names() -> tuple[str, ...]:
    return (
        _("January"), _("February"), _("March"), _("April"), _("May"), _("June"),
        _("July"), _("August"), _("September"), _("October"), _("November"), _("December"),
    )  # fmt: skip


def _weekday_name(weekday: int) -> str:
    names = (
        _("Sunday"), _("Monday"), _("Tuesday"), _("Wednesday"), _("Thursday"), _("Friday"), _("Saturday"),
    )  # fmt: skip
    return names[weekday]


def _weekday_names() -> tuple[str, ...]:
    """On each of them."""
    return (
        pgettext("each", "Sundays"), pgettext("each", "Mondays"), pgettext("each", "Tuesdays"),
        pgettext("each", "Wednesdays"), pgettext("each", "Thursdays"), pgettext("each", "Fridays"),
        pgettext("each", "Saturdays"),
    )  # fmt: skip
