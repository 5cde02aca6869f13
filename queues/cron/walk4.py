"""The next time as cron-parser 4.9 finds it (4.9.0, `lib/expression.js` and `lib/date.js`).

It walks from the moment on, by days, months, hours, minutes and seconds, and gives up after 10,000 steps: about 28
years where a day is rare. A walk that meets a change of the clocks remembers the hour, so that an hour that is left
out runs in the one after it, and one that comes twice runs once. Steps that cannot meet a change are taken together
here, and counted.
"""

from __future__ import annotations

from datetime import date

from queues.cron.clock import HOUR, MINUTE, Clock
from queues.cron.pattern import GivesUp, Pattern

MOST_STEPS = 10_000


class Walk4:
    """One search. Work: at most a few thousand turns, whatever the pattern."""

    def __init__(self, pattern: Pattern, clock: Clock) -> None:
        self.pattern = pattern
        self.clock = clock
        self.start = clock.at
        self.steps = 0
        self.left_out: int | None = None  # the hour after a gap
        self.repeated: int | None = None  # the hour that begins again
        self.all_hours = len(pattern.hours) == 24

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
        return self._moves_day() or self._moves_hour() or self._moves_within() or self._moves_off_the_start()

    def _moves_day(self) -> bool:
        today = self.clock.day
        if not self.pattern.on(today.year, today.month, today.day):
            self._next_day(today)
            return True
        if today.month not in self.pattern.months.numbers:
            self.clock.to_next_month()
            return True
        return False

    def _next_day(self, today: date) -> None:
        later = () if self.pattern.breaks else self.pattern.days_of(today.year, today.month)
        following = next((day for day in later if day > today.day), None)
        if following is not None:
            found = today.replace(day=following)
        elif self.pattern.breaks:
            found = date.fromordinal(today.toordinal() + 1)
        else:
            found = date(today.year + today.month // 12, today.month % 12 + 1, 1)
        self._count((found - today).days - 1)
        self.clock.to_day(found)

    def _moves_hour(self) -> bool:
        hour = self.clock.hour
        if hour not in self.pattern.hours.numbers:
            if self.left_out != hour:
                self.left_out = None
                self._forward(HOUR)
                return True
            if hour - 1 not in self.pattern.hours.numbers:
                self._add(HOUR)
                return True
        elif self.repeated == hour:
            self.repeated = None
            self._forward(HOUR)
            return True
        return False

    def _moves_within(self) -> bool:
        clock, pattern = self.clock, self.pattern
        if clock.minute not in pattern.minutes.numbers:
            self._skip(MINUTE, clock.minute, pattern.minutes.numbers)
            return True
        if clock.second not in pattern.seconds.numbers:
            self._skip(1, clock.second, pattern.seconds.numbers)
            return True
        return False

    def _skip(self, unit: int, value: int, wanted: tuple[int, ...]) -> None:
        if not self.clock.is_steady(HOUR):
            self._forward(unit)
            return
        # To the last step before the one that may leave the hour.
        steps = next((one for one in wanted if one > value), 60) - value
        self._count(steps - 1)
        if steps > 1:
            self.clock.forward(unit)
            self.clock.to(self.clock.at + (steps - 2) * unit)
        self._forward(unit)

    def _moves_off_the_start(self) -> bool:
        if self.clock.at == self.start:
            self._forward(1)
            return True
        return False

    def _forward(self, unit: int) -> None:
        before = self.clock.hour
        self._add(unit)
        clock = self.clock
        advance = clock.hour - before
        if self.all_hours:
            return
        if advance == 2:
            self.left_out = clock.hour
        elif advance == 0 and clock.minute == 0 and clock.second == 0:
            self.repeated = clock.hour

    def _add(self, unit: int) -> None:
        before = self.clock.at
        self.clock.forward(unit)
        # The start of an hour may lie before the moment, when a clock is put back within it.
        if self.clock.at < before or (unit == HOUR and self.clock.at == before):
            self.clock.to(self.clock.at + HOUR)
