"""When a pattern fires next, as the worker of a BullMQ major computes it.

Each next run is a search of its own that starts at the run before (`opts.prevMillis`) or at the worker's clock,
whichever is later, and takes `startDate` for the clock while that lies ahead (`job-scheduler.js` of 5.81.5 and 6.7.0,
`repeat.js` of 4.18.3 and 5.81.5). What is left of a change of the clocks in one search is not known to the next one.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from queues.cron.clock import Clock
from queues.cron.errors import CannotPreview
from queues.cron.parser import CronParser
from queues.cron.pattern import GivesUp, Pattern, parse
from queues.cron.walk4 import Walk4
from queues.cron.walk5 import Walk5
from queues.cron.zones import Offset, zone

FIRST_MS = 0
LAST_MS = 95_617_584_000_000  # the year 5000: a search that finds nothing still ends before the year 9999


@dataclass(frozen=True)
class Fires:
    """The next times of a schedule in milliseconds since 1970, in order.

    `ended` tells that there are no more after them: the end date is passed, or the library finds none.
    """

    times: tuple[int, ...]
    ended: bool


def next_fires(
    pattern: str,
    timezone: str,
    *,
    after: int,
    parser: CronParser,
    count: int = 10,
    start: int | None = None,
    end: int | None = None,
) -> Fires:
    """The next `count` times later than `after` (and than `start`, if that is later), the last one at `end` at most.

    All moments are milliseconds since 1970. A start that is itself a time of the pattern is passed over, as BullMQ
    does. A worker without a time zone uses its own: name that one, or say that it is assumed.

    Raises Refused where an upsert would throw, CannotPreview where the answer cannot be known. Cost: well below a
    millisecond each for common patterns, some 20 ms where there is none in centuries.
    """
    parsed = parse(pattern, parser)
    offset_at = zone(timezone)
    times: list[int] = []
    while len(times) < count:
        # A search takes the start date for the clock even when it is passed since: then the later one counts.
        found = _next(parsed, offset_at, max(after, start or after))
        if found is None or (end is not None and found > end):
            return Fires(tuple(times), ended=True)
        times.append(found)
        after = found
    return Fires(tuple(times), ended=False)


def _next(pattern: Pattern, offset_at: Offset, after: int) -> int | None:
    if not FIRST_MS <= after <= LAST_MS:
        raise CannotPreview(_("Times before 1970 and after the year 4999 are not computed."))
    second, rest_ms = divmod(after, 1000)
    clock = Clock(second, offset_at)
    walk = Walk4(pattern, clock) if pattern.parser is CronParser.V4 else Walk5(pattern, clock, rest_ms=rest_ms)
    try:
        return walk.next() * 1000
    except GivesUp:
        return None
