"""Reads the English words for a pattern back, knowing nothing of how they were made."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NTH = ("first", "second", "third", "fourth", "fifth")
UNITS = {"second": 1, "minute": 60, "hour": 3600}
DAY = 86_400

_MONTH = "|".join(MONTHS)
_IN = rf"(?P<months>the months from (?:{_MONTH}) to (?:{_MONTH})|(?:{_MONTH})(?:(?:, | and )(?:{_MONTH}))*)"
_TIMES = (
    re.compile(r"At (?P<times>\d\d:\d\d(?::\d\d)?(?:(?:, | and )\d\d:\d\d(?::\d\d)?)*)"),
    re.compile(
        r"At (?P<minutes>[\d, and]+) minutes? past every hour(?: from (?P<first>\d\d:00) to (?P<last>\d\d:59))?"
    ),
    re.compile(
        r"Every (?:(?P<step>\d+) )?(?P<unit>second|minute|hour)s?"
        r"(?: from minute (?P<low>\d+) to (?P<high>\d+) of every hour|"
        r" from (?P<first>\d\d:\d\d) to (?P<last>\d\d:\d\d))?"
    ),
)


def read(words: str) -> tuple[set[int], Callable[[date], bool]]:
    """The seconds of the day, and whether a day is meant."""
    for form in _TIMES:
        if match := form.match(words):
            return _seconds(match.groupdict()), _days(words[match.end() :].strip())
    raise AssertionError(words)


def _second(clock: str) -> int:
    return sum(int(part) * unit for part, unit in zip(clock.split(":"), (3600, 60, 1), strict=False))


def _list(text: str) -> list[str]:
    return re.split(", | and ", text)


def _seconds(found: dict[str, str | None]) -> set[int]:
    if times := found.get("times"):
        return {_second(one) for one in _list(times)}
    first = _second(found["first"] or "00:00")
    last = _second(found["last"]) if found["last"] else DAY - 1
    if minutes := found.get("minutes"):
        return {hour + int(one) * 60 for hour in range(first, last + 1, 3600) for one in _list(minutes)}
    step = int(found["step"] or 1) * UNITS[found["unit"] or ""]
    if found["low"] is not None:
        low, high = int(found["low"]) * 60, int(found["high"] or "") * 60
        return {hour + one for hour in range(0, DAY, 3600) for one in range(low, high + 1, step)}
    return set(range(first, last + 1, step))


def _days(text: str) -> Callable[[date], bool]:
    if match := re.fullmatch(f"in {_IN}, (?P<days>.*)", text) or re.fullmatch(f"(?P<days>.*) in {_IN}", text):
        months, within = _months(match["months"]), _days(match["days"])
        return lambda day: day.month in months and within(day)
    if " or " in text:
        one, other = (_days(part) for part in text.split(" or "))
        return lambda day: one(day) or other(day)
    return _plain(text)


def _months(text: str) -> set[int]:
    if match := re.fullmatch("the months from (.*) to (.*)", text):
        return set(range(MONTHS.index(match[1]) + 1, MONTHS.index(match[2]) + 2))
    return {MONTHS.index(name) + 1 for name in _list(text)}


def _is_last(day: date, days: int) -> bool:
    return (day + timedelta(days=days)).month != day.month


def _plain(text: str) -> Callable[[date], bool]:
    fixed: dict[str, Callable[[date], bool]] = {
        "": lambda _day: True,
        "every day": lambda _day: True,
        "on weekdays": lambda day: day.weekday() < 5,
        "on weekends": lambda day: day.weekday() >= 5,
        "on the last day of the month": lambda day: _is_last(day, 1),
    }
    if text in fixed:
        return fixed[text]
    if match := re.fullmatch(r"on days? ([\d, and]+) of the month", text):
        numbers = {int(one) for one in _list(match[1])}
        return lambda day: day.day in numbers
    if match := re.fullmatch(r"on days (\d+) to (\d+) of the month", text):
        low, high = int(match[1]), int(match[2])
        return lambda day: low <= day.day <= high
    if match := re.fullmatch(r"every (\d+) days from day (\d+) of the month", text):
        step, first = int(match[1]), int(match[2])
        return lambda day: day.day >= first and (day.day - first) % step == 0
    if match := re.fullmatch(rf"on (\d+) ({_MONTH})", text):
        number, month = int(match[1]), MONTHS.index(match[2]) + 1
        return lambda day: (day.day, day.month) == (number, month)
    return _weekdays(text)


def _weekdays(text: str) -> Callable[[date], bool]:
    if match := re.fullmatch(r"on the (\w+) (\w+day) of the month", text):
        which, weekday = match[1], WEEKDAYS.index(match[2])
        if which == "last":
            return lambda day: day.weekday() == weekday and _is_last(day, 7)
        return lambda day: day.weekday() == weekday and (day.day - 1) // 7 == NTH.index(which)
    match = re.fullmatch("on (.*)", text)
    assert match is not None, text
    named = {WEEKDAYS.index(one.removesuffix("s")) for one in _list(match[1])}
    return lambda day: day.weekday() in named
