"""Patterns, zones and moments by chance: what people write, what nobody should, and the days of changed clocks."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

ZONES = (
    "UTC", "Europe/Berlin", "Europe/London", "Europe/Lisbon", "America/New_York", "America/Los_Angeles",
    "America/St_Johns", "america/sao_paulo", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Tokyo", "Australia/Adelaide",
    # Clocks change at midnight, by half an hour, by two hours, in Ramadan, and at three quarters past.
    "Africa/Cairo", "America/Havana", "Asia/Beirut", "America/Santiago", "America/Asuncion", "Atlantic/Azores",
    "Australia/Lord_Howe", "Antarctica/Troll", "Africa/Casablanca", "Pacific/Chatham", "America/Nuuk", "UTC+5:30",
)  # fmt: skip
_SHORTHANDS = ("@yearly", "@monthly", "@weekly", "@daily", "@hourly", "@annually", "@minutely", "@weekdays", "@reboot")
_MONTHS = ("jan", "FEB", "Mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "DEC")
_WEEKDAYS = ("sun", "MON", "Tue", "wed", "thu", "fri", "SAT")
_DAYS = ("L", "?", "1,L", "29", "30", "31", "L,15", "*/2", "1-29", "1", "15")
_ODD_WEEKDAYS = ("1#1", "5#3", "0#5", "fri#2", "5L", "1L,3", "0L", "7", "1-5", "MON-FRI", "6,0", "5-7", "1-7", "0-6")
_HOURS = ("0", "1", "2", "3", "*/2", "1-3", "23", "0,12", "1,2")
_NOISE = "0123456789*,-/?L#H W@JULabc\u00a0"


@dataclass(frozen=True)
class Case:
    """A pattern in a zone, from a moment in milliseconds on."""

    pattern: str
    tz: str
    after: int

    def plain(self) -> dict[str, object]:
        return asdict(self)


def pattern(rng: random.Random) -> str:
    """A pattern of five or six fields, in which one of the two day fields is often open."""
    if rng.random() < 0.04:
        return rng.choice(_SHORTHANDS)
    fields = [
        _field(rng, 0, 59),
        rng.choice(_HOURS) if rng.random() < 0.3 else _field(rng, 0, 23),
        rng.choice(_DAYS) if rng.random() < 0.15 else "*" if rng.random() < 0.6 else _field(rng, 1, 31),
        "*" if rng.random() < 0.6 else _field(rng, 1, 12, _MONTHS),
        rng.choice(_ODD_WEEKDAYS)
        if rng.random() < 0.25
        else "*"
        if rng.random() < 0.5
        else _field(rng, 0, 7, _WEEKDAYS),
    ]
    return " ".join(fields if rng.random() < 0.7 else [_field(rng, 0, 59), *fields])


def broken(rng: random.Random) -> str:
    """A pattern with a few characters added, changed or left out."""
    characters = list(pattern(rng))
    for _time in range(rng.randint(1, 3)):
        at = rng.randrange(len(characters) + 1)
        characters[at : at + rng.choice((0, 1))] = rng.choice(("", *_NOISE))
    return "".join(characters)


def case(rng: random.Random, text: str) -> Case:
    """Mostly within two days before the clocks of the zone are changed, sometimes on a full hour."""
    tz = rng.choice(ZONES)
    at = rng.randint(1_700_000_000, 1_800_000_000)
    if rng.random() < 0.6:
        at = _next_change(tz, at) - rng.randint(0, 172_800)
    at -= at % 3600 if rng.random() < 0.3 else 0
    return Case(text, tz, at * 1000 + (rng.randint(1, 999) if rng.random() < 0.5 else 0))


def _next_change(tz: str, at: int) -> int:
    zone = ZoneInfo("UTC" if tz == "UTC+5:30" else "America/Sao_Paulo" if tz.islower() else tz)
    offsets = [
        (day, datetime.fromtimestamp(day, UTC).astimezone(zone).utcoffset()) for day in range(at, at + 3 * 10**7, 86400)
    ]
    return next((day for day, offset in offsets if offset != offsets[0][1]), at)


def _field(rng: random.Random, least: int, most: int, names: tuple[str, ...] = ()) -> str:
    kind = rng.random()
    if kind < 0.4:
        return rng.choice(names) if names and rng.random() < 0.3 else str(rng.randint(least, most))
    if kind < 0.52:
        return "*"
    if kind < 0.67:
        return f"*/{rng.choice((1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 59, 100))}"
    if kind < 0.82:
        first, last = sorted((rng.randint(least, most), rng.randint(least, most)))
        step = f"/{rng.randint(1, 9)}" if rng.random() < 0.4 else ""
        return f"{last}-{first}" if rng.random() < 0.05 else f"{first}-{last}{step}"
    if kind < 0.9:
        return f"{rng.randint(least, most)}/{rng.randint(1, 20)}"
    return ",".join(dict.fromkeys(str(rng.randint(least, most)) for _item in range(rng.randint(2, 4))))
