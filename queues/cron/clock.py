"""A wall clock in a time zone that is moved as cron-parser moves its own, to the second.

Where a wall time exists twice or not at all the answer is luxon's (3.7.2, `datetime.js`): a clock keeps the offset it
has while that is possible, and is moved on by the length of a gap.
"""

from __future__ import annotations

from datetime import date

from queues.cron.zones import QUARTER, Offset

MINUTE, HOUR, DAY = 60, 3600, 86400  # seconds
_EPOCH = date(1970, 1, 1).toordinal()


class Clock:
    """`at` is seconds since 1970, `offset` seconds east of UTC; the wall time is their sum."""

    __slots__ = ("_offset_at", "at", "offset")

    def __init__(self, at: int, offset_at: Offset) -> None:
        self._offset_at = offset_at
        self.to(at)

    def copy(self) -> Clock:
        """Another clock at the same moment."""
        return Clock(self.at, self._offset_at)

    def to(self, at: int) -> None:
        """The moment itself."""
        self.at = at
        self.offset = self._offset_at(at // QUARTER)

    def to_wall(self, wall: int) -> None:
        """A wall time, in seconds since 1970 as if it were UTC."""
        at = wall - self.offset
        offset = self._offset_at(at // QUARTER)
        if offset != self.offset:
            at -= offset - self.offset
            other = self._offset_at(at // QUARTER)
            if other != offset:
                at, offset = wall - min(offset, other), max(offset, other)
        self.at, self.offset = at, offset

    @property
    def wall(self) -> int:
        return self.at + self.offset

    @property
    def day(self) -> date:
        return date.fromordinal(_EPOCH + self.wall // DAY)

    @property
    def hour(self) -> int:
        return self.wall // HOUR % 24

    @property
    def minute(self) -> int:
        return self.wall // MINUTE % 60

    @property
    def second(self) -> int:
        return self.wall % 60

    def forward(self, seconds: int) -> None:
        """So much time on, then the start of that hour or minute; a lone second has no start."""
        self.to(self.at + seconds)
        if seconds > 1:
            self.to_wall(self.wall // seconds * seconds)

    def to_day(self, day: date) -> None:
        """The start of a later day, reached by way of the day before as if day by day."""
        start = (day.toordinal() - _EPOCH) * DAY
        if start - self.wall > DAY:
            self.to_wall(start - DAY)
        self.to_wall(self.wall + DAY)
        self.to_wall(self.wall // DAY * DAY)

    def to_next_month(self) -> None:
        """The start of the next month, reached by way of the same day in it."""
        today = self.day
        year, month = (today.year + 1, 1) if today.month == 12 else (today.year, today.month + 1)
        first = date(year, month, 1).toordinal()
        last = date(year + month // 12, month % 12 + 1, 1).toordinal() - 1
        same = min(first + today.day - 1, last)
        self.to_wall((same - _EPOCH) * DAY + self.wall % DAY)
        self.to_wall((first - _EPOCH) * DAY)

    def is_steady(self, seconds: int) -> bool:
        """Whether the zone keeps its offset so much longer; asked for an hour or a day, in which it changes once."""
        return self._offset_at((self.at + seconds) // QUARTER) == self.offset
