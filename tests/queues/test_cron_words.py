"""Patterns and intervals in words: short, and never other than the pattern."""

from __future__ import annotations

import random
from datetime import date, timedelta

import pytest

from queues.cron import CronParser, PatternError, every_in_words, pattern_in_words
from queues.cron.pattern import parse
from tests.queues.cron_patterns import broken, pattern
from tests.queues.cron_reading import read
from tests.queues.test_cron import HOSTILE, ODDITIES

V4, V5 = CronParser.V4, CronParser.V5
DAYS = [date(2024, 1, 1) + timedelta(days=days) for days in range(731)]  # a leap year and another one

WORDS = {
    "0 8 * * 1": "At 08:00 on Mondays",
    "*/5 9-17 * * 1-5": "Every 5 minutes from 09:00 to 17:59 on weekdays",
    "* * * * *": "Every minute",
    "@hourly": "Every hour",
    "@daily": "At 00:00 every day",
    "@yearly": "At 00:00 on 1 January",
    "30 0 8 * * *": "At 08:00:30 every day",
    "*/10 * * * * *": "Every 10 seconds",
    "0 8,12,18 * * *": "At 08:00, 12:00 and 18:00 every day",
    "15,45 9-17 * * *": "At 15 and 45 minutes past every hour from 09:00 to 17:59",
    "1 * * * *": "At 1 minute past every hour",
    # Steps that do not fit begin anew: nothing is said to be every 7 minutes, 5 hours or 2 days that is not.
    "*/7 * * * *": "Every 7 minutes from minute 0 to 56 of every hour",
    "0 */5 * * *": "Every 5 hours from 00:00 to 20:00",
    "0 0 */2 * *": "At 00:00 every 2 days from day 1 of the month",
    "0 */2 * * *": "Every 2 hours",
    "0 0 L * *": "At 00:00 on the last day of the month",
    "0 0 * * 5L": "At 00:00 on the last Friday of the month",
    "0 0 * * 1#2": "At 00:00 on the second Monday of the month",
    # Either day field is enough.
    "0 0 13 * 5": "At 00:00 on day 13 of the month or on Fridays",
    "0 0 1-7 6-8 1": "At 00:00 in the months from June to August, on days 1 to 7 of the month or on Mondays",
    "0 6 * 6-8 *": "At 06:00 every day in the months from June to August",
    "0 0 * * 0,1,2,3,4,5,6": "At 00:00 every day",
}


@pytest.mark.parametrize(("text", "words"), WORDS.items())
def test_a_common_pattern_has_short_words(text: str, words: str) -> None:
    assert [pattern_in_words(text, parser=parser) for parser in CronParser] == [words, words]


def test_where_the_generations_differ_the_words_do() -> None:
    assert pattern_in_words("0 0 1-29 2 1", parser=V4) == "At 00:00 on Mondays in February"
    assert pattern_in_words("@weekdays", parser=V4) is None
    assert pattern_in_words("@weekdays", parser=V5) == "At 00:00 on weekdays"


@pytest.mark.parametrize(
    "text",
    [
        "3,17 1,5,9,13 * * *",
        "5 4 3 * * * *",
        "0 0 1,L * *",
        "0 0 15 * 1#2",
        "61 * * * *",
        "H * * * *",
        "*/7 */5 * * *",
        "0 0 1-25/3 * *",
    ],
)
def test_what_no_short_words_fit_has_none(text: str) -> None:
    assert pattern_in_words(text, parser=V5) is None


_SPOKEN = (
    ("0", "*", "*/5", "*/7", "*/15", "5", "0,30", "3/15", "10-20", "15,30,45", "0 0", "*/10 *", "30 0", "* *"),
    ("*", "8", "0,12", "9-17", "*/2", "*/5", "1-23/2", "0-12/3", "22-23", "3,7,8"),
    ("*", "*", "1", "15", "1,15", "1-7", "*/2", "*/10", "L", "31", "1-29", "2-30/2", "1-25/3", "?"),
    ("*", "*", "1", "2", "jan,jul", "*/3", "6-8", "1,2,4,5,7,8,11"),
    ("*", "*", "1", "1-5", "0,6", "5L", "fri#2", "1,3,5", "2-4", "0-6", "7", "1-7"),
)


@pytest.mark.parametrize("parser", CronParser)
def test_words_read_back_are_the_pattern(rng: random.Random, parser: CronParser) -> None:
    spoken = [" ".join(rng.choice(field) for field in _SPOKEN) for _one in range(300)]
    said = 0
    for text in [*WORDS, *spoken, *(pattern(rng) for _one in range(150)), *(broken(rng) for _one in range(50))]:
        words = pattern_in_words(text, parser=parser)
        if words is None:
            continue
        said += 1
        seconds, meant = read(words)
        parsed = parse(text, parser)
        assert seconds == {
            hour * 3600 + minute * 60 + second
            for hour in parsed.hours.numbers
            for minute in parsed.minutes.numbers
            for second in parsed.seconds.numbers
        }, (text, words)
        days = [day for day in DAYS if day.month in parsed.months.numbers and parsed.on(day.year, day.month, day.day)]
        assert [day for day in DAYS if meant(day)] == days, (text, words)
    assert said > 120


@pytest.mark.parametrize("parser", CronParser)
def test_hostile_text_has_no_words_or_right_ones_and_raises_nothing(parser: CronParser) -> None:
    for text in (*HOSTILE, *ODDITIES):
        words = pattern_in_words(text, parser=parser)
        if words is not None:
            parse(text, parser)
            assert len(words) < 150


def test_a_refused_pattern_says_which_field_is_wrong() -> None:
    with pytest.raises(PatternError, match=r"“61” is no minute of a cron pattern\."):
        parse("61 * * * *", V5)
    with pytest.raises(PatternError, match="five fields"):
        parse("* * * * * * *", V4)


def test_intervals_have_the_largest_unit_that_is_exact() -> None:
    said = {
        900_000: "Every 15 minutes", 60_000: "Every minute", 5_400_000: "Every 90 minutes", 86_400_000: "Every day",
        604_800_000: "Every 7 days", 7_200_000: "Every 2 hours", 1_000: "Every second",
        1_500: "Every 1500 milliseconds", 1: "Every millisecond", 0: None, -1: None, 10**30: None,
    }  # fmt: skip
    assert {every: every_in_words(every) for every in said} == said
