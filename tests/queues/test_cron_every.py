"""Intervals: what BullMQ arms in `repeat`, for schedulers and for legacy repeatables."""

from __future__ import annotations

import itertools
from typing import cast

import pytest

from queues.cron import next_legacy_slot, next_runs, next_slot
from tests.node import Node
from tests.valkey import Server

HOUR = 3_600_000
MODERN = pytest.mark.parametrize("major", [5, 6], ids=["bullmq5", "bullmq6"])

# Upserts each of `repeats` in turn, then lets a worker run what waits until `runs` more are armed. Answers, for each
# run that was armed, its moment and the script's clock, the scheduler's offset beside it.
CHAIN = """
const schedule = queue(args.major, "ticks");
const armed = [];
const note = async () => {
  const at = await redis.zscore("bull:ticks:repeat", "s");
  const now = await redis.hget(`bull:ticks:repeat:s:${at}`, "timestamp");
  armed.push([Number(at), Number(now), Number((await redis.hget("bull:ticks:repeat:s", "offset")) ?? 0)]);
};
for (const repeat of args.repeats) {
  await schedule.upsertJobScheduler("s", repeat, { name: "tick" });
  await note();
}
if (args.runs) {
  await sleep(args.late);
  // One at a time, so that each run is seen before the next is taken.
  const acting = worker(args.major, "ticks", note, { concurrency: 1 });
  await until(() => armed.length >= args.repeats.length + args.runs);
  await acting.close();
}
return armed;
"""


def _chain(
    node: Node, server: Server, major: int, *repeats: dict[str, int], runs: int = 0, late: int = 0
) -> list[list[int]]:
    armed = node.run(CHAIN, url=server.url, major=major, repeats=repeats, runs=runs, late=late)
    return cast(list[list[int]], armed)


@pytest.mark.node
@MODERN
def test_the_first_run_is_where_offset_and_start_put_it(node: Node, server: Server, major: int) -> None:
    now = cast(int, node.run("return Date.now();", url=server.url))
    given = [
        {"every": HOUR},
        {"every": HOUR // 4, "offset": HOUR // 20},
        {"every": HOUR, "startDate": now + 2 * HOUR},
        {"every": HOUR // 3, "startDate": now + 2 * HOUR, "offset": 1000},
    ]
    for repeat in given:
        server.client().flushall()
        [[at, clock, offset]] = _chain(node, server, major, repeat)
        found = next_slot(
            previous=None,
            every=repeat["every"],
            now=clock,
            offset=repeat.get("offset", 0),
            start=repeat.get("startDate"),
        )
        assert (at, offset) == found, repeat


@pytest.mark.node
@MODERN
def test_an_interval_that_is_changed_begins_anew_and_keeps_the_old_offset(
    node: Node, server: Server, major: int
) -> None:
    first, same, changed = _chain(node, server, major, {"every": HOUR}, {"every": HOUR}, {"every": HOUR // 2})
    assert same[0] == first[0]
    assert (changed[0], changed[2]) == (changed[1], first[2])
    assert changed[0] == next_slot(previous=None, every=HOUR // 2, now=changed[1])[0]


@pytest.mark.node
@MODERN
@pytest.mark.parametrize("offset", [0, 130])
def test_runs_follow_each_other_and_skip_what_was_missed(node: Node, server: Server, major: int, offset: int) -> None:
    repeat = {"every": 400, "offset": offset} if offset else {"every": 400}
    armed = _chain(node, server, major, repeat, runs=5, late=1500)
    for (before, _, _), (at, clock, kept) in itertools.pairwise(armed):
        assert at == next_slot(previous=before, every=400, now=clock, offset=kept)[0]
    assert armed[1][0] - armed[0][0] > 400


@pytest.mark.node
@MODERN
def test_a_run_is_armed_beyond_the_end_date(node: Node, server: Server, major: int) -> None:
    end = cast(int, node.run("return Date.now();", url=server.url)) + HOUR // 2
    armed = _chain(node, server, major, {"every": HOUR, "endDate": end}, runs=1)
    assert armed[1][0] > end
    assert next_runs(armed[0][0], HOUR, end=end) == tuple(at for at, _, _ in armed)


@pytest.mark.node
@pytest.mark.parametrize("major", [4, 5])
def test_legacy_repeatables_run_at_slots_since_1970(node: Node, server: Server, major: int) -> None:
    script = """
    const before = Date.now();
    await queue(args.major, "ticks").add("tick", {}, { repeat: { every: args.every } });
    return [before, Number((await redis.zrange("bull:ticks:repeat", 0, -1, "WITHSCORES"))[1]), Date.now()];
    """
    before, at, after = cast(list[int], node.run(script, url=server.url, major=major, every=HOUR // 4))
    assert at in {next_legacy_slot(previous=0, every=HOUR // 4, now=now) for now in (before, after)}


def test_a_stale_offset_beyond_the_interval_is_taken_as_it_is() -> None:
    assert next_slot(previous=0, every=10, now=105, offset=47) == (147, 47)
    assert next_slot(previous=100, every=10, now=105, offset=47) == (110, 47)


def test_runs_after_the_armed_one_end_one_interval_after_the_end_date() -> None:
    assert next_runs(100, 10, count=3) == (100, 110, 120)
    assert next_runs(100, 10, end=115) == (100, 110, 120)
    assert next_runs(100, 10, end=120) == (100, 110, 120, 130)
    assert next_runs(100, 10, end=50) == (100,)
    assert next_legacy_slot(previous=95, every=10, now=42) == 100
    assert next_legacy_slot(previous=0, every=10, now=42, immediately=True) == 40
    for wrong in (0, -5):
        with pytest.raises(ValueError, match=str(wrong)):
            next_runs(0, wrong)
        with pytest.raises(ValueError, match=str(wrong)):
            next_slot(previous=0, every=wrong, now=1)
        with pytest.raises(ValueError, match=str(wrong)):
            next_legacy_slot(previous=0, every=wrong, now=1)
