"""The next time as cron-parser 5.10 finds it (5.10.3, `CronExpression.js` and `CronDate.js`).

It goes by months, days, hours, minutes and seconds, leaps to the next value where no clock is changed that day, and
gives up after 10,000 steps: about 150 years where a day never comes. An hour that is left out runs in the one after
the gap, and one that comes twice runs once.
"""

from __future__ import annotations

from datetime import date

from queues.cron.clock import DAY, HOUR, MINUTE, Clock
from queues.cron.pattern import GivesUp, Pattern

MOST_STEPS = 10_000


class Walk5:
    """One search. Work: at most a few thousand turns, whatever the pattern."""

    def __init__(self, pattern: Pattern, clock: Clock, *, rest_ms: int) -> None:
        self.pattern = pattern
        self.clock = clock
        self.steps = 0
        self.all_hours = len(pattern.hours) == 24
        self.gap: range | None = None  # the hours left out, counted on beyond midnight
        self.repeated: int | None = None
        self.start: int | None = None if rest_ms else clock.at
        if rest_ms:
            self._forward(1)

    def next(self) -> int:
        """Seconds since 1970, later than the start. Raises GivesUp."""
        while self._moves():
            pass
        return self.clock.at

    def _count(self, steps: int) -> None:
        self.steps += steps
        if self.steps >= MOST_STEPS:
            raise GivesUp

    def _moves(self) -> bool:
        """Whether the clock did not match, and was moved on."""
        self._count(1)
        if self._moves_day() or self._moves_hour() or self._moves_within():
            return True
        if self.clock.at == self.start:
            self._forward(1)
            return True
        return False

    def _moves_day(self) -> bool:
        today = self.clock.day
        if today.month not in self.pattern.months.numbers:
            self.clock.to_next_month()
            return True
        days = self.pattern.days_of(today.year, today.month)
        if today.day in days:
            return False
        following = next((day for day in days if day > today.day), None)
        if following is None:
            found = date(today.year + today.month // 12, today.month % 12 + 1, 1)
        else:
            found = today.replace(day=following)
        self._count((found - today).days - 1)
        self.clock.to_day(found)
        return True

    def _moves_hour(self) -> bool:
        hour = self.clock.hour
        hours = self.pattern.hours.numbers
        if self.gap is not None and hour == self.gap.stop % 24 and any(one % 24 in hours for one in self.gap):
            return False
        if self.repeated == hour:
            self.repeated = None
            self._forward(HOUR)
            return True
        if hour in hours:
            return False
        self.gap = None
        following = next((one for one in hours if one > hour), None)
        if following is None:
            self.clock.to_day(date.fromordinal(self.clock.day.toordinal() + 1))
        else:
            self._to_hour(following)
        return True

    def _to_hour(self, following: int) -> None:
        clock = self.clock
        if self._changes_today():
            for _step in range(following - clock.hour):
                self._forward(HOUR)
                if clock.hour >= following:
                    break
        else:
            clock.to_wall(clock.wall + (following - clock.hour) * HOUR)
        self._set_minute(self.pattern.minutes.numbers[0])
        self._set_second(self.pattern.seconds.numbers[0])

    def _changes_today(self) -> bool:
        """Whether the day begins and ends with different offsets."""
        start, end = self.clock.copy(), self.clock.copy()
        start.to_wall(start.wall // DAY * DAY)
        end.to_wall(end.wall // DAY * DAY + DAY - 1)
        return start.offset != end.offset

    def _moves_within(self) -> bool:
        minutes, seconds = self.pattern.minutes.numbers, self.pattern.seconds.numbers
        minute, second = self.clock.minute, self.clock.second
        if minute not in minutes:
            following = next((one for one in minutes if one > minute), None)
            if following is None:
                self._forward(HOUR)
            self._set_minute(minutes[0] if following is None else following)
            self._set_second(seconds[0])
            return True
        if second not in seconds:
            following = next((one for one in seconds if one > second), None)
            if following is None:
                self._forward(MINUTE)
            self._set_second(seconds[0] if following is None else following)
            return True
        return False

    def _set_minute(self, minute: int) -> None:
        self.clock.to_wall(self.clock.wall + (minute - self.clock.minute) * MINUTE)

    def _set_second(self, second: int) -> None:
        self.clock.to_wall(self.clock.wall + second - self.clock.second)

    def _forward(self, unit: int) -> None:
        clock = self.clock
        before, offset = clock.hour, clock.offset
        clock.forward(unit)
        if self.all_hours:
            return
        advance = (clock.hour - before) % 24
        if clock.offset > offset and advance >= 2:
            self.gap = range(before + 1, before + advance)
        elif advance == 0 and clock.minute == 0 and clock.second == 0:
            self.repeated = clock.hour
