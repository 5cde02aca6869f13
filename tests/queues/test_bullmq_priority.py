"""Giving jobs another priority, with real workers that take them in that order."""

from __future__ import annotations

import random
from typing import cast

import pytest
import redis

from queues.actions import Outcome, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.errors import BadInput
from queues.types import QueueRef, State
from tests.node import Node
from tests.policy import rounds
from tests.queues.moving import at_once, everywhere, fields, last_told, outcomes, places, put, targets, told
from tests.queues.test_bullmq_promote import FINISH
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
DONE, ALREADY = Outcome.DONE, Outcome.ALREADY
MODERN = pytest.mark.parametrize("major", [5, 6], ids=["bullmq5", "bullmq6"])

ADD = """
const q = queue(args.major, args.name ?? "shop");
await q.waitUntilReady();
if (args.pauseFirst) await q.pause();
const timestamp = (keep.began ??= Date.now());
for (const [id, opts] of args.jobs) await q.add("job", {}, { jobId: id, timestamp, ...opts });
if (args.paused) await q.pause();
"""


@MODERN
@pytest.mark.parametrize("first", [True, False], ids=["added-paused", "paused-after"])
def test_jobs_are_worked_on_by_their_new_priority_and_in_turn_where_it_is_equal(
    major: int, first: bool, node: Node, server: Server, operating: BullMQActions
) -> None:
    jobs = [("a", {}), ("b", {}), ("c", {"priority": 2}), ("d", {"priority": 9}), ("e", {}), ("f", {"priority": 1})]
    node.run(ADD, url=server.url, major=major, jobs=jobs, pauseFirst=first, paused=not first)
    results = operating.priority(SHOP, targets("d", "a", "b"), priority=2)
    assert outcomes(results) == [DONE] * 3
    assert {result.state for result in results} == {State.PRIORITIZED}
    assert outcomes(operating.priority(SHOP, targets("d", "a", "b", "c"), priority=2)) == [ALREADY] * 4
    (back,) = operating.priority(SHOP, targets("f"), priority=0)
    assert (back.outcome, back.state) == (DONE, State.WAITING)
    order = node.run(FINISH, url=server.url, major=major, paused=True, count=6)
    assert order == ["e", "f", "c", "d", "a", "b"]


THEIRS = 'await (await queue(args.major, "theirs").getJob("a")).changePriority({ priority: args.priority });'


@MODERN
@pytest.mark.parametrize("wanted", [0, 3, 2_097_152])
@pytest.mark.parametrize("opts", [{}, {"priority": 7}, {"delay": 3600000, "priority": 2}], ids=str)
@pytest.mark.parametrize("paused", [False, True], ids=["open", "paused"])
def test_another_priority_leaves_and_tells_what_the_library_does(
    major: int,
    wanted: int,
    opts: dict[str, object],
    paused: bool,
    *,
    node: Node,
    server: Server,
    operating: BullMQActions,
) -> None:
    jobs = [("x", {}), ("a", opts), ("y", {"priority": 3})]
    with server.client() as store:
        marks = {}
        for name in ("shop", "theirs"):
            node.run(ADD, url=server.url, major=major, name=name, jobs=jobs, paused=paused)
            store.delete(f"bull:{name}:marker")
            marks[name] = last_told(store, name)
        node.run(THEIRS, url=server.url, major=major, priority=wanted)
        same = wanted == opts.get("priority", 0)
        assert outcomes(operating.priority(SHOP, targets("a"), priority=wanted)) == [ALREADY if same else DONE]
        assert told(store, "shop", marks["shop"]) == told(store, "theirs", marks["theirs"]) == []
        assert fields(store, "a") == fields(store, "a", "theirs")
        if same:
            return  # the library puts it behind the others
        assert places(store, "shop") == places(store, "theirs")
        for key in ("prioritized", "delayed"):
            assert store.zrange(f"bull:shop:{key}", 0, -1, withscores=True) == store.zrange(
                f"bull:theirs:{key}", 0, -1, withscores=True
            )
        assert store.zrange("bull:shop:marker", 0, -1) == store.zrange("bull:theirs:marker", 0, -1)


@MODERN
@pytest.mark.parametrize("resumed", [5, 6], ids=["resumed5", "resumed6"])
def test_what_one_major_paused_and_another_resumes_loses_no_job(
    major: int, resumed: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    jobs = [("a", {}), ("b", {"priority": 4}), ("c", {})]
    node.run(ADD, url=server.url, major=major, jobs=jobs, paused=True)
    assert outcomes(operating.priority(SHOP, targets("b"), priority=0)) == [DONE]
    assert outcomes(operating.priority(SHOP, targets("a"), priority=4)) == [DONE]
    order = node.run(FINISH, url=server.url, major=resumed, paused=True, count=3)
    assert order == ["c", "b", "a"]


@MODERN
def test_any_changes_in_any_order_keep_every_job_once_and_rank_them(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis, *, rng: random.Random
) -> None:
    for _round in range(rounds(sample=2, soak=20)):
        node.reset()
        store.flushall()
        names = [f"j{number}" for number in range(12)]
        ranks = {name: rng.choice([0, 0, 1, 2]) for name in names}
        jobs = [(name, {"priority": rank} if rank else {}) for name, rank in ranks.items()]
        node.run(ADD, url=server.url, major=major, jobs=jobs, paused=rng.random() < 0.7)
        for _change in range(20):
            chosen, rank = rng.sample(names, rng.randint(1, 4)), rng.choice([0, 1, 2, 2_097_152])
            results = operating.priority(SHOP, targets(*chosen), priority=rank)
            assert outcomes(results) == [ALREADY if ranks[name] == rank else DONE for name in chosen]
            ranks |= dict.fromkeys(chosen, rank)
            assert everywhere(store) == sorted(name.encode() for name in names)
        order = cast(list[str], node.run(FINISH, url=server.url, major=major, paused=True, count=12))
        assert [ranks[name] for name in order] == sorted(ranks.values())


def test_two_who_press_at_once_move_a_job_once(operating: BullMQActions, store: redis.Redis) -> None:
    put(store, "a", "wait")
    both = at_once(lambda: operating.priority(SHOP, targets("a"), priority=5))
    assert sorted(outcomes(both[0]) + outcomes(both[1])) == sorted([DONE, ALREADY])
    assert places(store) == {"prioritized": [b"a"]}
    assert store.get("bull:shop:pc") == b"1"


def test_a_ranked_job_that_the_library_left_in_the_list_goes_where_its_priority_says(
    operating: BullMQActions, store: redis.Redis
) -> None:
    put(store, "a", "wait", priority="5")
    assert outcomes(operating.priority(SHOP, targets("a"), priority=5)) == [DONE]
    assert places(store) == {"prioritized": [b"a"]}


def test_a_waiting_job_keeps_its_place_when_only_its_field_was_wrong(
    operating: BullMQActions, store: redis.Redis
) -> None:
    put(store, "a", "wait", priority="5")
    put(store, "b", "wait")
    (result,) = operating.priority(SHOP, targets("a"), priority=0)
    assert (result.outcome, result.state) == (DONE, State.WAITING)
    assert places(store) == {"wait": [b"b", b"a"]}
    assert fields(store, "a")[b"priority"] == b"0"


def test_a_job_that_is_not_as_it_was_seen_or_does_not_wait_stays(operating: BullMQActions, store: redis.Redis) -> None:
    put(store, "p", "prioritized", priority="3")
    put(store, "w", "wait")
    put(store, "f", "failed")
    put(store, "r", "active")
    seen = [Target(b"p", b"1"), Target(b"w", b"1"), Target(b"f"), Target(b"r"), Target(b"nobody")]
    before = places(store)
    results = operating.priority(SHOP, seen, priority=4)
    assert outcomes(results) == [Outcome.CHANGED] * 2 + [Outcome.WRONG_STATE] * 2 + [Outcome.GONE]
    assert [result.state for result in results[2:4]] == [State.FAILED, State.ACTIVE]
    assert places(store) == before
    assert outcomes(operating.priority(SHOP, [Target(b"w", b"1700000000000")], priority=4)) == [DONE]


def test_a_parent_that_waits_for_children_keeps_its_place_and_goes_on_by_its_new_priority(
    operating: BullMQActions, store: redis.Redis
) -> None:
    put(store, "a", "waiting-children")
    (result,) = operating.priority(SHOP, targets("a"), priority=4)
    assert (result.outcome, result.state) == (DONE, State.WAITING_CHILDREN)
    assert fields(store, "a")[b"priority"] == b"4"


def test_4_is_told_to_be_left_alone(node: Node, server: Server, operating: BullMQActions, store: redis.Redis) -> None:
    node.run(ADD, url=server.url, major=4, jobs=[("a", {})], paused=False)
    (refused,) = operating.priority(SHOP, targets("a"), priority=4)
    assert (refused.outcome, "4.x" in refused.why) == (Outcome.UNSUPPORTED, True)
    assert places(store) == {"wait": [b"a"]}


@pytest.mark.parametrize("priority", [-1, 2_097_153])
def test_a_priority_that_the_library_does_not_know_is_refused(priority: int, operating: BullMQActions) -> None:
    with pytest.raises(BadInput):
        operating.priority(SHOP, targets("a"), priority=priority)
