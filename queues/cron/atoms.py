"""One field of a pattern, from text to its values, as cron-parser takes it.

From cron-parser 4.9.0, `lib/expression.js`, and 5.10.3, `CronExpressionParser.js` and `fields/CronField.js`. What
differs between the two is named where it does; what both do and no other cron does, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

from queues.cron.errors import CannotPreview, Refused
from queues.cron.parser import CronParser

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTHS = {name: at for at, name in enumerate(_MONTHS, 1)}
WEEKDAYS = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
MOST_VALUES = 256  # 5.10 refuses longer lists; 4.9 has no bound, and ours is that of the text

_WORD = re.compile("[a-zA-Z]{3}")
_NUMBER = re.compile("[0-9]+")


@dataclass(frozen=True)
class Kind:
    """What a field may hold. `letters` are those that stand for days: only `L` there is."""

    name: str
    least: int
    most: int
    letters: str = ""
    hashes: bool = False

    @property
    def is_weekday(self) -> bool:
        return self.name == "day of week"


SECOND = Kind("second", 0, 59)
MINUTE = Kind("minute", 0, 59)
HOUR = Kind("hour", 0, 23)
DAY = Kind("day of month", 1, 31, letters="L")
MONTH = Kind("month", 1, 12)
WEEKDAY = Kind("day of week", 0, 7, letters="L", hashes=True)
KINDS = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)


@dataclass(frozen=True)
class Values:
    """A field's numbers as written, twice where written twice (4.9 counts them), and its texts with an `L`."""

    numbers: tuple[int, ...]
    lasts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.numbers) + len(self.lasts)


def refused(text: str, kind: Kind) -> Refused:
    told = text if len(text) <= 40 else f"{text[:40]}…"
    return Refused(_("“%(text)s” is no %(field)s of a cron pattern.") % {"text": told, "field": _(kind.name)})


def read(text: str, kind: Kind, parser: CronParser) -> Values:
    """The values of one field. Raises Refused where the library throws; costs its length and a few hundred values."""
    named = _aliases(text, kind, parser)
    if parser is CronParser.V5 and "H" in named and _hashed(named, kind):
        raise CannotPreview(_("“H” stands for a value that each computation picks at random."))
    if not named or not set(named) <= _alphabet(kind, parser):
        raise refused(text, kind)
    every = f"{kind.least}-{kind.most}"
    # 4.9 takes a question mark only where no asterisk is, and leaves it otherwise to be refused.
    if parser is CronParser.V5 or "*" not in named:
        named = named.replace("?", every)
    named = named.replace("*", every)
    values = _Reader(text, kind, parser).all(named)
    if parser is CronParser.V5 and len({*values.numbers, *values.lasts}) < len(values):
        raise refused(text, kind)
    return values


def _hashed(text: str, kind: Kind) -> bool:
    return set(text) <= _alphabet(kind, CronParser.V5) | {"H", "(", ")"}


def _alphabet(kind: Kind, parser: CronParser) -> set[str]:
    alphabet = set("0123456789*,-/") | set(kind.letters)
    if kind.letters or parser is CronParser.V5:
        alphabet.add("?")
    return alphabet | {"#"} if kind.hashes else alphabet


def _aliases(text: str, kind: Kind, parser: CronParser) -> str:
    if kind not in (MONTH, WEEKDAY):
        return text
    # 5.10 looks a name up among the months and then among the weekdays, whichever field it stands in.
    known = {**WEEKDAYS, **MONTHS} if parser is CronParser.V5 else MONTHS if kind is MONTH else WEEKDAYS

    def number(match: re.Match[str]) -> str:
        value = known.get(match.group().lower())
        if value is None:
            raise refused(text, kind)
        return str(value)

    return _WORD.sub(number, text)


@dataclass
class _Reader:
    """Reads the lists, ranges and steps of a field in which only digits, `,-/#` and `L` are left."""

    text: str
    kind: Kind
    parser: CronParser

    def all(self, named: str) -> Values:
        numbers: list[int] = []
        lasts: list[str] = []
        for item in named.split(","):
            if self.parser is CronParser.V5 and len(numbers) + len(lasts) > MOST_VALUES:
                raise self.wrong()
            if "/" not in item and "-" not in item:
                self.single(item, numbers, lasts)
            else:
                self.stepped(item, numbers, lasts)
        return Values(tuple(sorted(numbers)), tuple(sorted(lasts)))

    def wrong(self) -> Refused:
        return refused(self.text, self.kind)

    def single(self, item: str, numbers: list[int], lasts: list[str]) -> None:
        if _NUMBER.fullmatch(item):
            value = self.number(item)
            numbers.append(value % 7 if self.kind.is_weekday else value)
        elif self.kind.letters and "L" in item:
            # 5.10 wants at most two digits before the `L`, and a digit at all in a weekday.
            digits = item[:-1] if item.endswith("L") else "L"
            shape = len(digits) <= 2 and not digits.strip("0123456789") and (digits or not self.kind.is_weekday)
            if self.parser is CronParser.V5 and not shape:
                raise self.wrong()
            lasts.append(item)
        else:
            raise self.wrong()

    def number(self, digits: str) -> int:
        significant = digits.lstrip("0") or "0"
        if len(significant) > 2 or not self.kind.least <= int(significant) <= self.kind.most:
            raise self.wrong()
        return int(significant)

    def stepped(self, item: str, numbers: list[int], lasts: list[str]) -> None:
        span, slash, step = item.partition("/")
        if "/" in step or "#" in item:
            raise self.wrong()
        if slash and "-" not in span:
            if "L" in span and self.parser is CronParser.V4:
                lasts.append(span)  # 4.9 reads `L/2` as `L`
                return
            span = f"{span}-{self.kind.most}"
        low, high = self.bounds(span)
        numbers.extend(self.range(low, high, self.step(step) if slash else 1))

    def bounds(self, span: str) -> tuple[int, int]:
        """Both ends of a range; a third one is ignored, as both generations do."""
        ends = span.split("-")
        # Where the second end is missing 4.9 counts zero.
        high = "0" if ends[1] == "" and self.parser is CronParser.V4 else self.leading(ends[1])
        first, last = self.number(self.leading(ends[0])), self.number(high)
        if first > last:
            raise self.wrong()
        return first, last

    def leading(self, text: str) -> str:
        """5.10 takes the digits in front and leaves what follows them unread; 4.9 wants nothing but digits."""
        digits = _NUMBER.match(text)
        if digits is None or (self.parser is CronParser.V4 and digits.end() < len(text)):
            raise self.wrong()
        return digits.group()

    def step(self, text: str) -> int:
        step = int(self.leading(text).lstrip("0")[:4] or "0")  # four digits reach beyond every range
        if step == 0:
            raise self.wrong()
        return step

    def range(self, low: int, high: int, step: int) -> list[int]:
        """A weekday of 7 is Sunday; 4.9 adds Sunday to a range up to 7 even where a step passes over it."""
        values = list(range(low, high + 1, step))
        sunday = self.kind.is_weekday and high % 7 == 0
        if sunday and 0 not in values and (self.parser is CronParser.V4 or (high - low) % step == 0):
            values.insert(0, 0)
        return values
