"""Promoting delayed jobs of every major, paused or not, with real workers that finish them."""

from __future__ import annotations

from typing import cast

import pytest
import redis

from queues.actions import Outcome, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.types import QueueRef, State
from tests.node import Node
from tests.queues.moving import (
    IDLE,
    WORKED,
    at_once,
    everywhere,
    fields,
    last_told,
    outcomes,
    places,
    put,
    targets,
    told,
)
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
DONE, ALREADY, GONE = Outcome.DONE, Outcome.ALREADY, Outcome.GONE

DELAY = """
const q = queue(args.major, args.name ?? "shop");
await q.waitUntilReady();
const timestamp = (keep.began ??= Date.now());
for (const [id, opts] of args.jobs) await q.add("later", {}, { jobId: id, delay: 3600000, timestamp, ...opts });
if (args.paused) await q.pause();
"""
THREE: list[tuple[str, dict[str, object]]] = [("a", {}), ("b", {}), ("c", {"priority": 5})]
FINISH = """
const q = queue(args.major, "shop");
await q.waitUntilReady();
if (args.paused) await q.resume();
const order = [];
const w = worker(args.major, "shop", async (job) => { order.push(job.id); });
await until(async () => (await q.getCompletedCount()) === args.count);
await w.close();
return order;
"""


@pytest.mark.parametrize("paused", [False, True], ids=["open", "paused"])
def test_promoted_jobs_are_finished_by_a_worker_and_a_second_press_does_nothing(
    major: int, paused: bool, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(DELAY, url=server.url, major=major, jobs=THREE, paused=paused)
    asked = targets("a", "b", "c", "nobody")
    assert outcomes(operating.promote(SHOP, asked)) == [DONE, DONE, DONE, GONE]
    assert outcomes(operating.promote(SHOP, asked)) == [ALREADY] * 3 + [GONE]
    order = node.run(FINISH, url=server.url, major=major, paused=paused, count=3)
    assert sorted(cast(list[str], order)) == ["a", "b", "c"]


@pytest.mark.parametrize("resumed", [5, 6], ids=["resumed5", "resumed6"])
@pytest.mark.parametrize("paused", [5, 6], ids=["paused5", "paused6"])
def test_what_one_major_paused_and_another_resumes_loses_no_promoted_job(
    paused: int, resumed: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(DELAY, url=server.url, major=paused, jobs=[*THREE, ("x", {"delay": 0})], paused=True)
    assert outcomes(operating.promote(SHOP, targets("a", "b", "c"))) == [DONE] * 3
    order = node.run(FINISH, url=server.url, major=resumed, paused=True, count=4)
    assert sorted(cast(list[str], order)) == ["a", "b", "c", "x"]


@pytest.mark.parametrize("single", [True, False], ids=["one-by-one", "in-bulk"])
def test_promoted_jobs_keep_their_rank_whether_one_by_one_or_in_bulk(
    major: int, single: bool, node: Node, server: Server, operating: BullMQActions
) -> None:
    jobs = [("p9", {"priority": 9}), ("p2", {"priority": 2}), ("x", {}), ("first", {"lifo": True}), ("y", {})]
    node.run(DELAY, url=server.url, major=major, jobs=jobs, paused=True)
    asked = targets("p9", "x", "p2", "y", "first")
    for part in [[one] for one in asked] if single else [asked]:
        assert set(outcomes(operating.promote(SHOP, part))) == {DONE}
    order = node.run(FINISH, url=server.url, major=major, paused=True, count=5)
    assert order == ["first", "x", "y", "p2", "p9"]


THEIRS = 'await (await queue(args.major, "theirs").getJob("a")).promote();'


@pytest.mark.parametrize("opts", [{}, {"priority": 3}], ids=["plain", "ranked"])
@pytest.mark.parametrize("state", ["open", "paused", "full"])
def test_promoting_leaves_and_tells_what_the_library_does(
    major: int, state: str, opts: dict[str, object], *, node: Node, server: Server, operating: BullMQActions
) -> None:
    with server.client() as store:
        marks = {}
        for name in ("shop", "theirs"):
            node.run(DELAY, url=server.url, major=major, name=name, jobs=[("a", opts)], paused=state == "paused")
            if state == "full":
                store.hset(f"bull:{name}:meta", "concurrency", 1)
                store.lpush(f"bull:{name}:active", "z")
            store.delete(f"bull:{name}:marker")
            marks[name] = last_told(store, name)
        node.run(THEIRS, url=server.url, major=major)
        assert outcomes(operating.promote(SHOP, targets("a"))) == [DONE]
        assert told(store, "shop", marks["shop"]) == told(store, "theirs", marks["theirs"])
        assert fields(store, "a") == fields(store, "a", "theirs")
        if not (major == 4 and state == "full"):  # which knows no such limit
            assert places(store, "shop") == places(store, "theirs")
        assert store.zrange("bull:shop:marker", 0, -1) == store.zrange("bull:theirs:marker", 0, -1)


def test_the_next_run_of_a_schedule_stays_and_a_run_of_one_that_is_gone_does_not(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    if major == 6:
        schedule = 'await queue(6, "shop").upsertJobScheduler("s:1", { every: 1e7, startDate: Date.now() + 60000 });'
    else:
        schedule = 'await queue(args.major, "shop").add("j", {}, { repeat: { every: 3600000 } });'
    node.run(schedule, url=server.url, major=major)
    (job,) = cast(list[bytes], store.zrange("bull:shop:delayed", 0, -1))
    (refused,) = operating.promote(SHOP, targets(job))
    assert (refused.outcome, refused.state) == (Outcome.SCHEDULED, State.DELAYED)
    assert "schedule" in refused.why
    assert places(store)["delayed"] == [job]
    store.delete("bull:shop:repeat")
    assert outcomes(operating.promote(SHOP, targets(job))) == [DONE]


def test_two_who_press_at_once_promote_once(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(DELAY, url=server.url, major=major, jobs=THREE, paused=True)
    mark = last_told(store)
    both = at_once(lambda: operating.promote(SHOP, targets("a", "b", "c")))
    assert sorted(outcomes(both[0]) + outcomes(both[1])) == sorted([DONE] * 3 + [ALREADY] * 3)
    assert everywhere(store) == [b"a", b"b", b"c"]
    assert len(told(store, after=mark)) == 3


def test_a_job_that_is_not_as_it_was_seen_stays(operating: BullMQActions, store: redis.Redis) -> None:
    put(store, "a", "delayed")
    put(store, "done", "completed")
    put(store, "bad", "delayed", data="{no")
    moved, ended, bad = operating.promote(SHOP, [Target(b"a", b"1699999999999"), Target(b"done"), Target(b"bad")])
    assert (moved.outcome, moved.state) == (Outcome.CHANGED, State.DELAYED)
    assert (ended.outcome, ended.state) == (Outcome.WRONG_STATE, State.COMPLETED)
    assert (bad.outcome, bad.why.startswith("Its data is damaged")) == (Outcome.UNSUPPORTED, True)
    assert outcomes(operating.promote(SHOP, [Target(b"a", b"1700000000001")])) == [DONE]


def test_an_id_without_a_job_is_never_put_where_jobs_wait(operating: BullMQActions, store: redis.Redis) -> None:
    put(store, "a", "delayed")
    store.delete("bull:shop:a")
    assert outcomes(operating.promote(SHOP, targets("a"))) == [GONE]
    assert places(store) == {"delayed": [b"a"]}


@pytest.mark.parametrize("opts", [{}, {"priority": 3}], ids=["plain", "ranked"])
def test_a_worker_that_idles_for_a_minute_takes_a_promoted_job_at_once(
    major: int, opts: dict[str, object], node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(DELAY, url=server.url, major=major, jobs=[("a", opts)], paused=False)
    node.run(IDLE, url=server.url, major=major)
    assert outcomes(operating.promote(SHOP, targets("a"))) == [DONE]
    assert node.run(WORKED, url=server.url, count=1) == ["a"]
