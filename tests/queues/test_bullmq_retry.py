"""Retrying failed and completed jobs of every major, paused or not, with real workers that finish them."""

from __future__ import annotations

from typing import cast

import pytest
import redis

from queues.actions import Outcome, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.types import QueueRef, State
from tests.hostile import JOB_IDS
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

FAIL = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async () => { throw new Error("no"); });
await q.addBulk([
  { name: "plain", data: {}, opts: { jobId: "a" } },
  { name: "plain", data: {}, opts: { jobId: "b" } },
  { name: "urgent", data: {}, opts: { jobId: "c", priority: 5 } },
]);
await until(async () => (await q.getFailedCount()) === 3);
await w.close();
if (args.paused) await q.pause();
"""
FINISH = """
const q = queue(args.major, "shop");
if (args.paused) await q.resume();
const order = [];
const w = worker(args.major, "shop", async (job) => { order.push(job.id); });
await until(async () => (await q.getCompletedCount()) === args.count);
await w.close();
return order;
"""
PAUSE = 'const q = queue(args.major, "shop"); await q.waitUntilReady(); await q.pause();'
ADD = """
const q = queue(args.major, "shop");
await q.waitUntilReady();
for (const id of args.ids) await q.add("more", {}, { jobId: id });
"""


@pytest.mark.parametrize("paused", [False, True], ids=["open", "paused"])
def test_retried_jobs_are_finished_by_a_worker_and_a_second_press_does_nothing(
    major: int, paused: bool, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(FAIL, url=server.url, major=major, paused=paused)
    asked = targets("a", "b", "c", "nobody")
    first = operating.retry(SHOP, asked, state=State.FAILED, reset=False)
    assert outcomes(first) == [DONE, DONE, DONE, GONE]
    again = operating.retry(SHOP, asked, state=State.FAILED, reset=False)
    assert outcomes(again) == [ALREADY] * 3 + [GONE]
    order = node.run(FINISH, url=server.url, major=major, paused=paused, count=3)
    assert sorted(cast(list[str], order)) == ["a", "b", "c"]


@pytest.mark.parametrize("waits", [(), ("x", "y")], ids=["empty", "with-waiting"])
@pytest.mark.parametrize("resumed", [5, 6], ids=["resumed5", "resumed6"])
@pytest.mark.parametrize("paused", [5, 6], ids=["paused5", "paused6"])
def test_what_one_major_paused_and_another_resumes_loses_no_retried_job(
    paused: int, resumed: int, waits: tuple[str, ...], *, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(FAIL, url=server.url, major=paused, paused=False)
    node.run(ADD, url=server.url, major=paused, ids=waits)
    node.run(PAUSE, url=server.url, major=paused)
    with server.client() as store:
        before = everywhere(store)
        assert outcomes(operating.retry(SHOP, targets("a", "b", "c"), state=State.FAILED, reset=False)) == [DONE] * 3
        assert everywhere(store) == before
        assert "failed" not in places(store)
    order = node.run(FINISH, url=server.url, major=resumed, paused=True, count=3 + len(waits))
    assert sorted(cast(list[str], order)) == sorted(("a", "b", "c", *waits))


@pytest.mark.parametrize("resumed", [5, 6], ids=["resumed5", "resumed6"])
@pytest.mark.parametrize("paused", [5, 6], ids=["paused5", "paused6"])
def test_where_nobody_says_a_version_any_of_them_brings_retried_jobs_back(
    paused: int, resumed: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(FAIL, url=server.url, major=paused, paused=True)
    with server.client() as store:
        store.hdel("bull:shop:meta", "version")
    assert outcomes(operating.retry(SHOP, targets("a", "b", "c"), state=State.FAILED, reset=False)) == [DONE] * 3
    order = node.run(FINISH, url=server.url, major=resumed, paused=True, count=3)
    assert order == ["a", "b", "c"]


def test_a_queue_that_one_major_paused_and_another_opened_takes_retried_jobs(
    node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(FAIL, url=server.url, major=5, paused=False)
    node.run(ADD, url=server.url, major=5, ids=["x"])
    node.run(PAUSE, url=server.url, major=5)
    store.hdel("bull:shop:meta", "paused")  # opened in the manner of 6.x, by one that stopped before it had merged
    assert outcomes(operating.retry(SHOP, targets("a"), state=State.FAILED, reset=False)) == [DONE]
    assert places(store)["wait"] == [b"a"]
    assert places(store)["paused"] == [b"x"]
    order = node.run(FINISH, url=server.url, major=6, paused=True, count=2)
    assert sorted(cast(list[str], order)) == ["a", "x"]


RANKED = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async () => { throw new Error("no"); }, { autorun: false });
const opts = { attempts: 3, removeOnComplete: 10, backoff: 0 };
await q.addBulk([
  { name: "n", data: { n: 1 }, opts: { jobId: "p9", priority: 9 } },
  { name: "n", data: {}, opts: { jobId: "p2", priority: 2 } },
  { name: "n", data: {}, opts: { jobId: "q9", priority: 9 } }, { name: "n", data: {}, opts: { jobId: "x" } },
  { name: "n", data: {}, opts: { jobId: "y" } }, { name: "n", data: {}, opts: { jobId: "first", lifo: true } },
]);
w.run();
await until(async () => (await q.getFailedCount()) === 6);
await w.close();
await q.pause();
"""


@pytest.mark.parametrize("single", [True, False], ids=["one-by-one", "in-bulk"])
def test_retried_jobs_keep_their_rank_whether_one_by_one_or_in_bulk(
    major: int, single: bool, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(RANKED, url=server.url, major=major)
    asked = targets("p9", "x", "p2", "y", "q9", "first")
    for part in [[one] for one in asked] if single else [asked]:
        assert set(outcomes(operating.retry(SHOP, part, state=State.FAILED, reset=False))) == {DONE}
    order = node.run(FINISH, url=server.url, major=major, paused=True, count=6)
    assert order == ["first", "x", "y", "p2", "p9", "q9"]


EXHAUST = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async () => { throw new Error("no"); });
await q.add("job", {}, { jobId: "a", attempts: 2 });
await until(async () => (await q.getFailedCount()) === 1);
await w.close();
"""
ONCE_MORE = """
const q = queue(args.major, "shop");
let tried = 0;
const w = worker(args.major, "shop", async () => { tried += 1; throw new Error("no"); });
await until(async () => (await q.getFailedCount()) === 1);
await w.close();
return tried;
"""


@pytest.mark.parametrize("reset", [True, False], ids=["reset", "kept"])
def test_attempts_are_kept_or_forgotten_as_asked(
    major: int, reset: bool, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(EXHAUST, url=server.url, major=major)
    assert outcomes(operating.retry(SHOP, targets("a"), state=State.FAILED, reset=reset)) == [DONE]
    assert node.run(ONCE_MORE, url=server.url, major=major) == (2 if reset else 1)


FAIL_QUEUE = """
const q = queue(args.major, args.name);
const w = worker(args.major, args.name, async (job) => { if (args.fails) throw new Error("no"); return 7; });
await q.add("job", { n: 1 }, { jobId: "a", ...args.opts, timestamp: 1700000000000 });
await until(async () => (await q.getJobCountByTypes("failed", "completed")) === 1);
await w.close();
"""
THEIRS = """
const q = queue(args.major, "theirs");
await (await q.getJob("a")).retry(args.state);
"""
STACK = {b"stacktrace": b"as it was"}


@pytest.mark.parametrize("opts", [{}, {"priority": 3}, {"lifo": True}], ids=["plain", "ranked", "lifo"])
@pytest.mark.parametrize("state", [State.FAILED, State.COMPLETED])
def test_a_retry_leaves_and_tells_what_the_library_does(
    major: int, state: State, opts: dict[str, object], *, node: Node, server: Server, operating: BullMQActions
) -> None:
    with server.client() as store:
        marks = {}
        for name in ("shop", "theirs"):
            failing = state is State.FAILED
            node.run(FAIL_QUEUE, url=server.url, major=major, name=name, fails=failing, opts=opts)
            store.delete(f"bull:{name}:marker")
            marks[name] = last_told(store, name)
        node.run(THEIRS, url=server.url, major=major, state=state.value)
        assert outcomes(operating.retry(SHOP, targets("a"), state=state, reset=False)) == [DONE]
        assert told(store, "shop", marks["shop"]) == told(store, "theirs", marks["theirs"])
        assert fields(store, "a") | STACK == fields(store, "a", "theirs") | STACK
        if not (major < 6 and "priority" in opts):  # which 4.x and 5.x lose
            assert places(store, "shop") == places(store, "theirs")
            assert store.zrange("bull:shop:marker", 0, -1, withscores=True) == store.zrange(
                "bull:theirs:marker", 0, -1, withscores=True
            )


def test_two_who_press_at_once_retry_once(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(FAIL, url=server.url, major=major, paused=True)
    mark = last_told(store)
    both = at_once(lambda: operating.retry(SHOP, targets("a", "b", "c"), state=State.FAILED, reset=False))
    assert sorted(outcomes(both[0]) + outcomes(both[1])) == sorted([DONE] * 3 + [ALREADY] * 3)
    assert everywhere(store) == [b"a", b"b", b"c"]
    assert len(told(store, after=mark)) == 3


def test_a_press_for_an_earlier_failure_does_not_retry_a_later_one(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(FAIL, url=server.url, major=major, paused=False)
    score = int(store.zscore("bull:shop:failed", "a") or 0)
    stale, fresh = b"%d" % (score - 1), b"%d" % score
    (refused,) = operating.retry(SHOP, [Target(b"a", stale)], state=State.FAILED, reset=False)
    assert (refused.outcome, refused.state) == (Outcome.WRONG_STATE, State.FAILED)
    assert outcomes(operating.retry(SHOP, [Target(b"a", fresh)], state=State.FAILED, reset=False)) == [DONE]


def test_a_job_in_another_state_is_left_where_it_is(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(FAIL, url=server.url, major=major, paused=False)
    before = places(store)
    (refused,) = operating.retry(SHOP, targets("a"), state=State.COMPLETED, reset=False)
    assert (refused.outcome, refused.state) == (Outcome.WRONG_STATE, State.FAILED)
    assert places(store) == before


def test_an_id_without_a_job_is_never_put_where_jobs_wait(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(FAIL, url=server.url, major=major, paused=True)
    store.delete("bull:shop:a", "bull:shop:c")
    results = operating.retry(SHOP, targets("a", "b", "c"), state=State.FAILED, reset=False)
    assert outcomes(results) == [GONE, DONE, GONE]
    assert [result.state for result in results] == [State.FAILED, None, State.FAILED]
    assert places(store)["failed"] == [b"a", b"c"]
    assert outcomes(operating.retry(SHOP, targets("a", "b", "c"), state=State.FAILED, reset=False)) == [
        GONE,
        ALREADY,
        GONE,
    ]
    assert node.run(FINISH, url=server.url, major=major, paused=True, count=1) == ["b"]


@pytest.mark.parametrize(
    "damage",
    [
        {"data": "{not json"},
        {"data": ""},
        {"data": '{"n":NaN}'},
        {"data": '{"s":"\\"","n":-Infinity}'},
        {"data": None},
        {"opts": "[]"},
        {"opts": "null"},
        {"progress": "half"},
        {"timestamp": None},
        {"timestamp": "yesterday"},
    ],
    ids=str,
)
def test_a_damaged_job_is_not_retried_and_the_reason_is_told(
    damage: dict[str, str | None], operating: BullMQActions, store: redis.Redis
) -> None:
    put(store, "good", "failed")
    put(store, "bad", "failed", **damage)
    before = fields(store, "bad")
    good, bad = operating.retry(SHOP, targets("good", "bad"), state=State.FAILED, reset=False)
    assert good.outcome is DONE
    assert bad.outcome is Outcome.UNSUPPORTED
    assert next(iter(damage)) in bad.why
    assert fields(store, "bad") == before
    assert places(store)["failed"] == [b"bad"]


@pytest.mark.parametrize(
    "data",
    [
        '"Infinity NaN"',
        '{"nan":"0x1\\\\"}',
        "null",
        "[" * 3000 + "]" * 3000,
        '{"s":"\\ud800 \\\\ud800"}',
        "7",
        "9" * 5000,
    ],
    ids=lambda text: text[:20],
)
def test_data_that_is_odd_but_sound_is_retried(data: str, operating: BullMQActions, store: redis.Redis) -> None:
    put(store, "odd", "failed", data=data)
    assert outcomes(operating.retry(SHOP, targets("odd"), state=State.FAILED, reset=False)) == [DONE]


@pytest.mark.parametrize("prefix", [b"bull", b"a:b:c", b"{bull}"])
def test_ids_of_any_bytes_under_any_prefix_are_moved_as_they_are(
    prefix: bytes, operating: BullMQActions, store: redis.Redis
) -> None:
    ids = [job for job in JOB_IDS if job]
    for job in ids:
        store.hset(prefix + b":shop:" + job, mapping={"name": "n", "data": "{}", "opts": "{}", "timestamp": "1"})
        store.zadd(prefix + b":shop:failed", {job: 1})
    store.hset(prefix + b":shop:meta", "version", "bullmq:6.7.0")
    results = operating.retry(QueueRef("main", prefix, b"shop"), targets(*ids), state=State.FAILED, reset=False)
    assert outcomes(results) == [DONE] * len(ids)
    assert sorted(cast(list[bytes], store.lrange(prefix + b":shop:wait", 0, -1))) == sorted(ids)


@pytest.mark.parametrize("opts", [{}, {"priority": 3}], ids=["plain", "ranked"])
def test_a_worker_that_idles_for_a_minute_takes_a_retried_job_at_once(
    major: int, opts: dict[str, object], node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(FAIL_QUEUE, url=server.url, major=major, name="shop", fails=True, opts=opts)
    node.run(IDLE, url=server.url, major=major)
    assert outcomes(operating.retry(SHOP, targets("a"), state=State.FAILED, reset=False)) == [DONE]
    assert node.run(WORKED, url=server.url, count=1) == ["a"]


@pytest.mark.parametrize("list_", [(b"0:0",), (b"0:0", b"x"), (b"x", b"0:1234")], ids=str)
def test_markers_of_4_are_not_taken_for_jobs(
    list_: tuple[bytes, ...], node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(FAIL, url=server.url, major=4, paused=False)
    store.delete("bull:shop:wait")
    if b"x" in list_:
        put(store, "x", "wait")
        store.delete("bull:shop:wait")
    store.rpush("bull:shop:wait", *list_)
    assert outcomes(operating.retry(SHOP, targets("a", "b", "c"), state=State.FAILED, reset=False)) == [DONE] * 3
    order = node.run(FINISH, url=server.url, major=4, paused=False, count=4 if b"x" in list_ else 3)
    assert sorted(cast(list[str], order)) == sorted(["a", "b", "c"] + (["x"] if b"x" in list_ else []))
