"""The next times of a pattern, against BullMQ's own calls of its cron-parser: 4.9 in 4.x and 5.x, 5.10 in 6.x."""

from __future__ import annotations

import random
from typing import cast

import pytest

from queues.cron import CannotPreview, CronParser, PatternError, Refused, next_fires, zones
from queues.cron.walk4 import Walk4
from queues.cron.walk5 import Walk5
from tests.node import Node
from tests.queues.cron_patterns import ZONES, Case, broken, case, pattern

NOWHERE = "redis://127.0.0.1:1"  # nothing here connects
V4, V5 = CronParser.V4, CronParser.V5
DAY = 86_400_000

# As a worker goes on: each time from the one before, by the strategy of the library itself.
THEIRS = """
const next = lib[args.major].defaultRepeatStrategy ?? lib[args.major].getNextMillis;
return args.cases.map(({ pattern, tz, after, startDate, endDate }) => {
  const times = [];
  try {
    for (let now = after; times.length < args.count;) {
      const found = next(now, { pattern, tz, startDate, endDate });
      if (found === undefined) return { times, ended: true };
      times.push((now = found));
    }
    return { times, ended: false };
  } catch (error) {
    return { refused: error.message };
  }
});
"""


def _theirs(node: Node, major: int, cases: list[dict[str, object]], count: int = 10) -> list[dict[str, object]]:
    return cast(list[dict[str, object]], node.run(THEIRS, url=NOWHERE, major=major, cases=cases, count=count))


def _ours(given: Case, parser: CronParser, count: int = 10) -> dict[str, object] | None:
    """In the same form; None where there is no preview."""
    try:
        fires = next_fires(given.pattern, given.tz, after=given.after, parser=parser, count=count)
    except Refused:
        return {"refused": True}
    except CannotPreview:
        return None
    return {"times": list(fires.times), "ended": fires.ended}


def _compare(node: Node, major: int, cases: list[Case], count: int = 10) -> int:
    """How many could not be previewed; all others have to agree."""
    parser = CronParser.of_bullmq(major)
    unknown = 0
    for given, theirs in zip(cases, _theirs(node, major, [one.plain() for one in cases], count), strict=True):
        ours = _ours(given, parser, count)
        unknown += ours is None
        assert ours is None or ours == ({"refused": True} if "refused" in theirs else theirs), (given, parser)
    return unknown


@pytest.mark.node
@pytest.mark.parametrize(("major", "count"), [(4, 40), (5, 500), (6, 500)])
def test_the_next_ten_times_are_those_of_the_library(node: Node, rng: random.Random, major: int, count: int) -> None:
    unknown = sum(
        _compare(node, major, [case(rng, pattern(rng)) for _one in range(20)]) for _batch in range(count // 20)
    )
    assert unknown <= count // 100


@pytest.mark.node
@pytest.mark.parametrize("major", [5, 6])
def test_a_pattern_with_slips_is_refused_where_the_library_refuses_it(
    node: Node, rng: random.Random, major: int
) -> None:
    _compare(node, major, [case(rng, broken(rng)) for _one in range(200)])


# Zone, and a moment some hours before its clocks are changed.
CHANGES = (
    ("America/New_York", 1_741_485_600), ("America/New_York", 1_762_045_200),
    ("Europe/Berlin", 1_743_260_400), ("Europe/Berlin", 1_729_980_000),
    ("Africa/Cairo", 1_745_506_800), ("Africa/Cairo", 1_730_399_400),
    ("America/Havana", 1_741_485_600), ("America/Havana", 1_762_045_200),
    ("America/Santiago", 1_757_206_800), ("America/Santiago", 1_743_894_000),
    ("Asia/Beirut", 1_743_260_400), ("Asia/Beirut", 1_729_965_600),
    ("Australia/Lord_Howe", 1_728_136_800), ("Australia/Lord_Howe", 1_743_854_400),
    ("Antarctica/Troll", 1_743_282_000), ("Antarctica/Troll", 1_729_976_400),
    ("Pacific/Chatham", 1_727_524_800), ("Pacific/Chatham", 1_743_847_200),
    ("America/St_Johns", 1_741_487_400), ("Asia/Kolkata", 1_741_485_600),
)  # fmt: skip
ON_CHANGES = (
    "30 2 * * *", "0 3 * * *", "30 1 * * *", "30 0 * * *", "0 0 * * *", "*/20 1-3 * * *", "0 */2 * * *", "45 1,2 * * *",
    "59 59 1 * * *", "0 0 L * *",
)  # fmt: skip


@pytest.mark.node
@pytest.mark.parametrize("major", [5, 6])
def test_times_on_days_of_changed_clocks_are_those_of_the_library(node: Node, major: int) -> None:
    cases = [Case(text, tz, at * 1000) for tz, at in CHANGES for text in ON_CHANGES]
    assert not _compare(node, major, cases, count=4)


ODDITIES = (
    "0 0 30 2 *", "0 0 30 2 1", "0 0 30,31 2,4 *", "0 0 29 2 *", "0 0 * 2 1#5", "0 0 31 4 *", "0 0 28-31 2 *",
    "61 * * * *", "*/0 * * * *", "0-59/60 * * * *", "5-1 * * * *", "1-2-3 * * * *", "0- * * * *", "-5 * * * *",
    "1,,2 * * * *", "1,1 * * * *", "0 0 * * 0,7", "0 0 * * L", "0 0 * * 1,L", "0 0 L/2 * *", "0 0 15L * *",
    "0 0 LW * *", "0 0 1W * *", "0 0 L-3 * *", "0 0 * * 1L", "0 0 * * 1-5L", "0 0 * * JUL", "0 0 * mon *",
    "0 0 * feb-apr *", "0 0 * * fri-mon", "0 0 * * 5-7", "0 0 * * 2-7/2", "0 0 13 * 5", "0 0 1-31 * 5", "0 0 ? * ?",
    "? ? * * *", "0 0 * * 0-6", "0 0 * * 1-7", "0 0 * * #2", "0 0 * * *#2", "0 0 * * 1#0", "0 0 * * 1#6",
    "0 0 13 * 5#2", "@daily", "@DAILY", " @daily", "@annually", "@weekends", "@secondly", "@midnight", "@every 5m",
    "", " ", "5", "0 5",
    "0 0 * *", "* * * * * * *", "  0\t8  * * 1 ", "0 8 * * 1\n", "constructor", "__proto__", "٣ * * * *", "０ 8 * * *",
    "0 8 * * mon\0", "\ud800 * * * *", "1e1 * * * *", "0x5 * * * *", "+5 * * * *", "1.5 * * * *", "*/2.5 * * * *",
    "00000000000000005 * * * *", "0 0 * * monday", "0 0 * January *", "* * * * * *", "0 0 0 1 1 *", "59 23 31 12 6#5",
)  # fmt: skip


@pytest.mark.node
@pytest.mark.parametrize("major", [5, 6])
def test_odd_and_impossible_patterns_are_taken_as_the_library_takes_them(node: Node, major: int) -> None:
    cases = [Case(text, "Europe/Berlin", 1_700_000_000_123) for text in ODDITIES if text]
    assert not _compare(node, major, cases)


@pytest.mark.node
@pytest.mark.parametrize("major", [5, 6])
def test_start_and_end_bound_the_times_as_in_the_library(node: Node, major: int) -> None:
    at = 1_767_225_600_000  # midnight, which the pattern meets
    cases: list[dict[str, int | None]] = [
        {"startDate": at, "endDate": None}, {"startDate": at - 1, "endDate": None},
        {"startDate": at + 3 * DAY + 500, "endDate": at + 6 * DAY}, {"startDate": None, "endDate": at + 2 * DAY - 1},
        {"startDate": None, "endDate": at + 2 * DAY}, {"startDate": at + 9 * DAY, "endDate": at + 2 * DAY},
        {"startDate": at - 9 * DAY, "endDate": at},
    ]  # fmt: skip
    given: list[dict[str, object]] = [
        {"pattern": "0 0 * * *", "tz": "UTC", "after": at, **{key: value for key, value in one.items() if value}}
        for one in cases
    ]
    for one, theirs in zip(cases, _theirs(node, major, given), strict=True):
        fires = next_fires(
            "0 0 * * *", "UTC", after=at, parser=CronParser.of_bullmq(major), start=one["startDate"], end=one["endDate"]
        )
        assert {"times": list(fires.times), "ended": fires.ended} == theirs, one


@pytest.mark.node
def test_zones_are_those_that_node_knows(node: Node) -> None:
    names = (
        *ZONES, "EUROPE/berlin", "utc-5:30", "UTC+14", "UTC+99", "gmt", "GMT", "GMT+5", "Etc/GMT+5", "UTC+", "UTC+3:5",
        "Mars/Base", "Z", "zulu", "+05:30", "Factory", "localtime", "UTC0", "posix/UTC", "Europe/Kyiv", "ÉTC/UTC",
        "Asia", "../../etc/passwd", "Europe/Berlin\0", "Europe/Berlin ", "x" * 300,
    )  # fmt: skip
    assert not _compare(node, 6, [Case("30 2 * * *", name, 1_743_260_400_000) for name in names])


@pytest.mark.parametrize("parser", CronParser)
@pytest.mark.parametrize("tz", ["local", "System", "PST", "SystemV/PST8"])
def test_a_zone_that_only_the_worker_knows_is_not_previewed(tz: str, parser: CronParser) -> None:
    with pytest.raises(CannotPreview):
        next_fires("0 8 * * *", tz, after=0, parser=parser)


def test_a_random_value_and_what_only_the_older_library_reads_are_not_previewed() -> None:
    for text in ("H * * * *", "0 H(1-5) * * *", "0 0 H/3 * *"):
        with pytest.raises(CannotPreview):
            next_fires(text, "UTC", after=0, parser=V5)
        with pytest.raises(Refused):
            next_fires(text, "UTC", after=0, parser=V4)
    long = ",".join(["1"] * 5000) + " * * * *"
    with pytest.raises(CannotPreview):
        next_fires(long, "UTC", after=0, parser=V4)
    with pytest.raises(Refused):
        next_fires(long, "UTC", after=0, parser=V5)


HOSTILE = (
    "9" * 10_000, "*" * 10_000, "* " * 5000, "1-" * 500, "*/" * 500, "L" * 1000, "\0" * 100, "\ud800\udfff",
    "𝟘 8 * * *", "9" * 900 + " * * * *", "*/" + "9" * 900 + " * * * *", "0 0 * * 1#" + "0" * 900 + "1",
    ",".join(["*"] * 400),     "\u2028".join("00***"), "%s %d {0} * *", "<b>x</b>", "0 0 29 2 1#5",
)  # fmt: skip


@pytest.mark.parametrize("parser", CronParser)
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_raises_nothing_but_the_errors_of_patterns(text: str, parser: CronParser) -> None:
    for tz in ("UTC", text):
        said = ""
        try:
            next_fires(text, tz, after=1_700_000_000_000, parser=parser)
        except PatternError as error:
            said = str(error)
        assert len(said) < 200


@pytest.mark.parametrize("after", [-1, 2**53, 10**30])
def test_a_moment_out_of_all_calendars_is_not_previewed(after: int) -> None:
    with pytest.raises(CannotPreview):
        next_fires("0 8 * * *", "UTC", after=after, parser=V5)


@pytest.mark.parametrize("parser", CronParser)
def test_a_search_takes_a_bounded_number_of_turns(
    parser: CronParser, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = 0
    kind = Walk4 if parser is V4 else Walk5
    count = kind._count

    def counted(walk: Walk4 & Walk5, steps: int) -> None:  # type: ignore[valid-type]
        nonlocal turns
        turns += 1
        count(walk, steps)

    monkeypatch.setattr(kind, "_count", counted)
    rare = ["0 0 29 2 *", "0 0 * 2 1#5", "0 0 30,31 2 1#5", "0 0 31 2,4 *", "0 0 30 2,4 1#5"]
    for text in [*rare, *(pattern(rng) for _one in range(60))]:
        try:
            turns = 0
            fires = next_fires(text, "Europe/Berlin", after=1_700_000_000_000, parser=parser)
        except PatternError:
            continue
        assert turns <= 6_000 * (len(fires.times) + 1), text


def test_without_a_time_zone_database_no_zone_is_called_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zones, "_names", dict)
    with pytest.raises(CannotPreview, match="tzdata"):
        zones.zone("Europe/Berlin")


def test_a_zone_is_asked_once_for_each_quarter_of_an_hour() -> None:
    offset_at = zones.zone("Europe/Berlin")
    assert offset_at is zones.zone("europe/BERLIN")
    assert offset_at(1_750_000_000 // 900) == 7200
