"""A schedule in words, in the active language: “Every 5 minutes from 09:00 to 17:59 on weekdays”."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from queues.cron.days import spell_days
from queues.cron.errors import PatternError
from queues.cron.hours import spell_times
from queues.cron.parser import CronParser
from queues.cron.pattern import parse

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000  # milliseconds


def pattern_in_words(pattern: str, *, parser: CronParser) -> str | None:
    """What a pattern says; None where words would be long or not quite right, and where it says nothing.

    The words are exact but for two things that no words tell: what happens to an hour in which clocks are changed, and
    the time zone. Never raises. Cost: the length of the text.
    """
    try:
        parsed = parse(pattern, parser)
    except PatternError:
        return None
    if parsed.breaks:
        return None
    fields = (parsed.seconds, parsed.minutes, parsed.hours)
    times = spell_times(*(sorted(set(field.numbers)) for field in fields))
    days = spell_days(parsed)
    if times is None or days is None:
        return None
    if not days:
        days = _("every day") if times.moments else ""
    return _("%(times)s %(days)s") % {"times": times.text, "days": days} if days else times.text


def every_in_words(every: int) -> str | None:
    """An interval in milliseconds, in the largest unit that is exact; None for one that is none."""
    if not 0 < every <= 10**15:
        return None
    if every % DAY == 0:
        return ngettext("Every day", "Every %(count)d days", every // DAY) % {"count": every // DAY}
    if every % HOUR == 0:
        return ngettext("Every hour", "Every %(count)d hours", every // HOUR) % {"count": every // HOUR}
    if every % MINUTE == 0:
        return ngettext("Every minute", "Every %(count)d minutes", every // MINUTE) % {"count": every // MINUTE}
    if every % SECOND == 0:
        return ngettext("Every second", "Every %(count)d seconds", every // SECOND) % {"count": every // SECOND}
    return ngettext("Every millisecond", "Every %(count)d milliseconds", every) % {"count": every}
