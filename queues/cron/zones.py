"""Time zones by the names that BullMQ's workers take, and wall clocks in them.

The names are those of luxon, which both generations of cron-parser use (3.7.2, `zoneUtil.js`, `fixedOffsetZone.js`),
and of the ICU in Node. Zones change at quarters of an hour, so offsets are kept by the quarter.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from django.utils.translation import gettext as _

from queues.cron.errors import CannotPreview, Refused

QUARTER = 900  # seconds
Offset = Callable[[int], int]  # seconds east of UTC, of a quarter since 1970

_FIXED = re.compile("utc(?:([+-])([0-9]{1,2})(?::([0-9]{2}))?)?", re.IGNORECASE)
_OF_THE_WORKER = {"local", "system", "default"}
# Names that the ICU of some versions of Node knows beside those of the tz database, `PST` among them.
_ICU_ONLY = re.compile("[a-z]{2}t|mit|systemv/.*|us/pacific-new")
_NOT_IN_ICU = {"factory", "localtime"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def zone(name: str) -> Offset:
    """The offsets of a zone, `America/New_York`, `UTC` or `UTC+5:30`, in any case.

    Raises Refused for a name that no library knows, CannotPreview for one that only the worker can tell.
    Cost: that of a dictionary, and of a file the first time.
    """
    lowered = name.lower() if name.isascii() and len(name) <= 64 else ""
    if not lowered or "\0" in lowered:
        raise _unknown(name)
    if fixed := _FIXED.fullmatch(lowered):
        return _fixed(fixed)
    if lowered in _OF_THE_WORKER:
        raise CannotPreview(
            _("The time zone “%(zone)s” is the worker’s own, which is not known here.") % {"zone": lowered}
        )
    if (known := _names().get(lowered)) is not None:
        return _offsets(known)
    if not _names():
        raise CannotPreview(_("This server has no time zone database; install the package “tzdata”."))
    if _ICU_ONLY.fullmatch(lowered):
        raise CannotPreview(
            _("“%(zone)s” is no name of the time zone database; workers may read it in their own way.") % {"zone": name}
        )
    raise _unknown(name)


def _unknown(name: str) -> Refused:
    told = name if len(name) <= 40 else f"{name[:40]}…"
    return Refused(_("There is no time zone “%(zone)s”. Names are like “Europe/Berlin” or “UTC”.") % {"zone": told})


def _fixed(match: re.Match[str]) -> Offset:
    sign, hours, minutes = match.groups()
    seconds = int(hours or 0) * 3600 + int(minutes or 0) * 60
    offset = -seconds if sign == "-" else seconds
    return lambda _quarter: offset


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones() if name.lower() not in _NOT_IN_ICU}


@lru_cache(maxsize=512)
def _offsets(name: str) -> Offset:
    info = ZoneInfo(name)

    @lru_cache(maxsize=4096)
    def offset(quarter: int) -> int:
        at = (_EPOCH + timedelta(seconds=quarter * QUARTER)).astimezone(info).utcoffset()
        assert at is not None
        return round(at.total_seconds())

    return offset
