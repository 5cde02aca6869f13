"""Moving delayed jobs to another moment, with real workers that wait for it."""

from __future__ import annotations

import time
from typing import cast

import pytest
import redis

from queues.actions import Outcome, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.errors import BadInput
from queues.types import QueueRef, State
from tests.node import Node
from tests.queues.moving import IDLE, WORKED, at_once, fields, last_told, outcomes, places, put, targets, told
from tests.queues.test_bullmq_promote import DELAY
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
DONE, ALREADY = Outcome.DONE, Outcome.ALREADY
MODERN = pytest.mark.parametrize("major", [5, 6], ids=["bullmq5", "bullmq6"])
HOUR = 3_600_000


def _now() -> int:
    return int(time.time() * 1000)


def _scores(store: redis.Redis) -> dict[bytes, int]:
    found = cast(list[tuple[bytes, float]], store.zrange("bull:shop:delayed", 0, -1, withscores=True))
    return {job: int(score) for job, score in found}


@MODERN
def test_jobs_of_one_moment_keep_the_order_in_which_they_were_moved_there(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(DELAY, url=server.url, major=major, jobs=[("a", {}), ("b", {}), ("c", {})], paused=False)
    at = _now() + 2 * HOUR
    assert outcomes(operating.delay(SHOP, targets("c", "a"), run_at_ms=at)) == [DONE, DONE]
    assert {job: score for job, score in _scores(store).items() if job != b"b"} == {
        b"c": at * 4096,
        b"a": at * 4096 + 1,
    }
    assert outcomes(operating.delay(SHOP, targets("c", "a"), run_at_ms=at)) == [ALREADY, ALREADY]
    assert outcomes(operating.delay(SHOP, targets("b"), run_at_ms=at)) == [DONE]
    assert _scores(store)[b"b"] == at * 4096 + 2


def test_a_moment_that_is_full_takes_more_jobs(operating: BullMQActions, store: redis.Redis) -> None:
    at = _now() + HOUR
    put(store, "a", "delayed")
    put(store, "last", "delayed")
    store.zadd("bull:shop:delayed", {"last": at * 4096 + 4095})
    assert outcomes(operating.delay(SHOP, targets("a"), run_at_ms=at)) == [DONE]
    assert _scores(store)[b"a"] >> 12 == at


THEIRS = 'await (await queue(args.major, "theirs").getJob("a")).changeDelay(args.delay);'


@MODERN
@pytest.mark.parametrize("paused", [False, True], ids=["open", "paused"])
def test_another_moment_leaves_and_tells_what_the_library_does(
    major: int, paused: bool, node: Node, server: Server, operating: BullMQActions
) -> None:
    with server.client() as store:
        marks = {}
        for name in ("shop", "theirs"):
            node.run(DELAY, url=server.url, major=major, name=name, jobs=[("a", {"priority": 3})], paused=paused)
            marks[name] = last_told(store, name)
        node.run(THEIRS, url=server.url, major=major, delay=HOUR)
        ((_job, score),) = cast(list[tuple[bytes, float]], store.zrange("bull:theirs:delayed", 0, -1, withscores=True))
        assert outcomes(operating.delay(SHOP, targets("a"), run_at_ms=int(score) >> 12)) == [DONE]
        assert told(store, "shop", marks["shop"]) == told(store, "theirs", marks["theirs"])
        ours, theirs = fields(store, "a"), fields(store, "a", "theirs")
        assert 0 <= int(theirs[b"delay"]) - int(ours[b"delay"]) < 60_000  # the time that lies between the two
        assert ours | {b"delay": b""} == theirs | {b"delay": b""}
        for key in ("delayed", "marker"):
            assert store.zrange(f"bull:shop:{key}", 0, -1, withscores=True) == store.zrange(
                f"bull:theirs:{key}", 0, -1, withscores=True
            )


@MODERN
def test_a_worker_that_waits_for_an_hour_takes_a_job_at_its_new_moment(
    major: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(DELAY, url=server.url, major=major, jobs=[("a", {}), ("b", {}), ("c", {})], paused=False)
    node.run(IDLE, url=server.url, major=major)
    assert outcomes(operating.delay(SHOP, targets("a"), run_at_ms=_now() + 1000)) == [DONE]
    assert node.run(WORKED, url=server.url, count=1) == ["a"]
    assert outcomes(operating.delay(SHOP, targets("c"), run_at_ms=0)) == [DONE]  # over: now
    assert node.run(WORKED, url=server.url, count=2) == ["a", "c"]


def test_a_moment_that_is_over_means_now_and_is_the_same_the_second_time(
    operating: BullMQActions, store: redis.Redis
) -> None:
    put(store, "a", "delayed")
    store.zadd("bull:shop:delayed", {"a": (_now() + HOUR) * 4096})
    before = _now()
    assert outcomes(operating.delay(SHOP, targets("a"), run_at_ms=before - HOUR)) == [DONE]
    assert before <= _scores(store)[b"a"] >> 12 <= _now()
    assert fields(store, "a")[b"delay"] == b"0"
    assert outcomes(operating.delay(SHOP, targets("a"), run_at_ms=before - HOUR)) == [ALREADY]


def test_a_job_that_was_moved_meanwhile_or_is_not_delayed_stays(operating: BullMQActions, store: redis.Redis) -> None:
    put(store, "a", "delayed")
    put(store, "w", "wait")
    put(store, "f", "failed")
    asked = [Target(b"a", b"1699999999999"), Target(b"w"), Target(b"f"), Target(b"nobody")]
    moved, waiting, failed, nobody = operating.delay(SHOP, asked, run_at_ms=_now() + HOUR)
    assert (moved.outcome, moved.state) == (Outcome.CHANGED, State.DELAYED)
    assert (waiting.outcome, waiting.state) == (Outcome.WRONG_STATE, State.WAITING)
    assert (failed.outcome, failed.state, failed.why) == (Outcome.WRONG_STATE, State.FAILED, "")
    assert nobody.outcome is Outcome.GONE
    assert _scores(store) == {b"a": 1700000000001}


@MODERN
def test_the_next_run_of_a_schedule_stays(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    schedule = 'await queue(args.major, "shop").upsertJobScheduler("s", { every: 1e7, startDate: Date.now() + 60000 });'
    node.run(schedule, url=server.url, major=major)
    before = _scores(store)
    assert outcomes(operating.delay(SHOP, targets(*before), run_at_ms=_now())) == [Outcome.SCHEDULED]
    assert _scores(store) == before


def test_two_who_press_at_once_move_a_job_once(operating: BullMQActions, store: redis.Redis) -> None:
    put(store, "a", "delayed")
    at = _now() + HOUR
    both = at_once(lambda: operating.delay(SHOP, targets("a"), run_at_ms=at))
    assert sorted(outcomes(both[0]) + outcomes(both[1])) == sorted([DONE, ALREADY])
    assert len(told(store)) == 1


def test_4_is_told_to_be_left_alone(node: Node, server: Server, operating: BullMQActions, store: redis.Redis) -> None:
    node.run(DELAY, url=server.url, major=4, jobs=[("a", {})], paused=False)
    before = _scores(store)
    (refused,) = operating.delay(SHOP, targets("a"), run_at_ms=_now() + HOUR)
    assert refused.outcome is Outcome.UNSUPPORTED
    assert "4.x" in refused.why
    store.hdel("bull:shop:meta", "version")
    store.delete("bull:shop:wait")
    store.lpush("bull:shop:wait", "0:1700000000000")  # what is left of it when nobody says a version
    assert outcomes(operating.delay(SHOP, targets("a"), run_at_ms=_now() + HOUR)) == [Outcome.UNSUPPORTED]
    assert (_scores(store), places(store)["delayed"]) == (before, [b"a"])


def test_a_moment_that_a_score_has_no_room_for_is_refused_as_for_a_new_job(
    operating: BullMQActions, store: redis.Redis
) -> None:
    put(store, "a", "delayed")
    with pytest.raises(BadInput, match="This is no moment"):
        operating.delay(SHOP, targets("a"), run_at_ms=-1)
    with pytest.raises(BadInput, match="cannot be delayed beyond the year 2039"):
        operating.delay(SHOP, targets("a"), run_at_ms=2**41 + 1)
    assert outcomes(operating.delay(SHOP, targets("a"), run_at_ms=2**41)) == [DONE]
    assert _scores(store)[b"a"] == 2**53
