"""The times of day of a pattern in words: “At 08:00”, “Every 5 minutes from 09:00 to 17:59”."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from queues.cron.days import even, listed

MOST_LISTED = 4


@dataclass(frozen=True)
class Said:
    """Words for times of day; `moments` where they name the moments themselves, which “every day” goes well with."""

    text: str
    moments: bool = False


def spell_times(seconds: Sequence[int], minutes: Sequence[int], hours: Sequence[int]) -> Said | None:
    """Words for the product of three sets, each in order; None where none would be short and right."""
    if len(minutes) * len(hours) <= MOST_LISTED and len(seconds) == 1:
        moments = [_time(hour, minute, seconds[0]) for hour in hours for minute in minutes]
        return Said(_("At %(times)s") % {"times": listed(moments)}, moments=True)
    if list(seconds) != [0]:
        return _by_seconds(seconds) if len(minutes) == 60 and len(hours) == 24 else None
    if len(minutes) == 1:
        return _once_an_hour(minutes[0], hours)
    return _within_hours(minutes, hours)


def _time(hour: int, minute: int, second: int = 0) -> str:
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")


def _fills(values: Sequence[int], whole: int) -> int:
    """The step of values that go on evenly from one hour, or day, into the next; 0 for others."""
    step = even(values)
    return step if step and values[0] == 0 and values[-1] + step == whole else 0


def _by_seconds(seconds: Sequence[int]) -> Said | None:
    step = _fills(seconds, 60)
    if not step:
        return None
    return Said(ngettext("Every second", "Every %(count)d seconds", step) % {"count": step})


def _once_an_hour(minute: int, hours: Sequence[int]) -> Said | None:
    step = even(hours)
    if not step:
        return None
    first, last = _time(hours[0], minute), _time(hours[-1], minute)
    each = ngettext("Every hour", "Every %(count)d hours", step) % {"count": step}
    if _fills(hours, 24) and minute == 0:
        return Said(each)
    if len(hours) == 24:
        return Said(_("At %(minutes)s past every hour") % {"minutes": _minutes([minute])})
    return Said(_("%(each)s from %(first)s to %(last)s") % {"each": each, "first": first, "last": last})


def _minutes(minutes: Sequence[int]) -> str:
    text = ngettext("%(minutes)s minute", "%(minutes)s minutes", max(minutes))
    return text % {"minutes": listed([str(minute) for minute in minutes])}


def _within_hours(minutes: Sequence[int], hours: Sequence[int]) -> Said | None:
    """Several minutes of each hour. Hours that are not in one piece have no short words."""
    if len(hours) > 1 and even(hours) != 1:
        return None
    step = _fills(minutes, 60)
    span = {"first": _time(hours[0], 0), "last": _time(hours[-1], 59)}
    if step:
        each = ngettext("Every minute", "Every %(count)d minutes", step) % {"count": step}
        whole = len(hours) == 24
        return Said(each if whole else _("%(each)s from %(first)s to %(last)s") % {"each": each, **span})
    if len(hours) == 1 and even(minutes):
        each = ngettext("Every minute", "Every %(count)d minutes", even(minutes)) % {"count": even(minutes)}
        span = {"first": _time(hours[0], minutes[0]), "last": _time(hours[0], minutes[-1])}
        return Said(_("%(each)s from %(first)s to %(last)s") % {"each": each, **span})
    if len(minutes) > MOST_LISTED:
        return _restarting(minutes) if len(hours) == 24 else None
    said = _("At %(minutes)s past every hour") % {"minutes": _minutes(minutes)}
    if len(hours) == 24:
        return Said(said)
    return Said(_("%(each)s from %(first)s to %(last)s") % {"each": said, **span})


def _restarting(minutes: Sequence[int]) -> Said | None:
    """Not “every 7 minutes”: the count begins anew with each hour."""
    step = even(minutes)
    if not step:
        return None
    each = ngettext("Every minute", "Every %(count)d minutes", step) % {"count": step}
    said = _("%(each)s from minute %(first)d to %(last)d of every hour")
    return Said(said % {"each": each, "first": minutes[0], "last": minutes[-1]})
