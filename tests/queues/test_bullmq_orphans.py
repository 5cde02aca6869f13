"""Active jobs whose worker is gone: failed as their worker would have, or worked on again."""

from __future__ import annotations

from typing import cast

import pytest
import redis

from queues.actions import Outcome, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.types import QueueRef, State
from tests.node import Node
from tests.queues.moving import WORKED, at_once, everywhere, fields, last_told, outcomes, places, put, targets, told
from tests.queues.test_bullmq_promote import FINISH
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
DONE, ALREADY = Outcome.DONE, Outcome.ALREADY
MODERN = pytest.mark.parametrize("major", [5, 6], ids=["bullmq5", "bullmq6"])
REASON = "the machine went away: <b>é</b>"

# Takes a job as a worker does, and loses its lock unless `locked`.
TAKE = """
const name = args.name ?? "shop";
const q = queue(args.major, name);
await q.waitUntilReady();
const timestamp = (keep.began ??= Date.now());
for (const [id, opts] of args.jobs) await q.add("job", { n: 1 }, { jobId: id, timestamp, ...opts });
const w = worker(args.major, name, null, { autorun: false, lockDuration: 30000 });
for (let n = 0; n < args.taken; n += 1) {
  const job = await w.getNextJob("token");
  if (!args.locked) await redis.del(`bull:${name}:${job.id}:lock`);
}
if (args.paused) await q.pause();
"""
# The library fails the job while it holds the lock.
THEIRS_FAIL = """
await redis.set("bull:theirs:a:lock", "token", "PX", 30000);
const { Job, UnrecoverableError } = lib[args.major];
const job = await Job.fromId(worker(args.major, "theirs", null, { autorun: false }), "a");
await job.moveToFailed(new UnrecoverableError(args.reason), "token", false);
"""


def _fail(operating: BullMQActions, *ids: str) -> list[Outcome]:
    return outcomes(operating.fail(SHOP, targets(*ids), reason=REASON))


def _requeue(operating: BullMQActions, *ids: str) -> list[Outcome]:
    return outcomes(operating.requeue(SHOP, targets(*ids)))


@MODERN
@pytest.mark.parametrize("resumed", [5, 6], ids=["resumed5", "resumed6"])
@pytest.mark.parametrize("paused", [False, True], ids=["open", "paused"])
def test_a_requeued_job_is_the_next_to_be_worked_on(
    major: int, resumed: int, paused: bool, *, node: Node, server: Server, operating: BullMQActions
) -> None:
    jobs = [("a", {}), ("b", {}), ("p", {"priority": 3}), ("q", {"priority": 3})]
    node.run(TAKE, url=server.url, major=major, jobs=jobs, taken=1, paused=paused)
    with server.client() as store:
        store.sadd("bull:shop:stalled", "a")
        mark, before = last_told(store), everywhere(store)
        assert (_requeue(operating, "a", "b"), _requeue(operating, "a")) == ([DONE, ALREADY], [ALREADY])
        assert told(store, after=mark) == [{b"event": b"waiting", b"jobId": b"a", b"prev": b"active"}]
        assert everywhere(store) == before
        assert not store.exists("bull:shop:stalled")
    order = node.run(FINISH, url=server.url, major=resumed, paused=paused, count=4)
    assert order == ["a", "b", "p", "q"]


@MODERN
def test_a_ranked_job_that_is_requeued_is_the_next_of_its_priority(
    major: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    jobs = [("p", {"priority": 3}), ("q", {"priority": 3})]
    node.run(TAKE, url=server.url, major=major, jobs=jobs, taken=1)
    node.run(TAKE, url=server.url, major=major, jobs=[("first", {"priority": 1})], taken=0)
    assert _requeue(operating, "p") == [DONE]
    assert node.run(FINISH, url=server.url, major=major, paused=False, count=3) == ["first", "p", "q"]


@MODERN
def test_a_job_that_a_worker_holds_is_left_to_it_for_as_long_as_it_is_locked(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(TAKE, url=server.url, major=major, jobs=[("a", {})], taken=1, locked=True)
    before = (fields(store, "a"), places(store), told(store))
    for results in (
        operating.fail(SHOP, targets("a"), reason=REASON),
        operating.requeue(SHOP, targets("a")),
    ):
        assert outcomes(results) == [Outcome.LOCKED]
        assert 0 < (results[0].lock_ms or 0) <= 30_000
        assert results[0].state is None
    assert (fields(store, "a"), places(store), told(store)) == before


@MODERN
@pytest.mark.parametrize("opts", [{}, {"attempts": 3}, {"attempts": 1, "priority": 2}, {"removeOnFail": 5}], ids=str)
def test_a_failed_job_is_left_and_told_of_as_if_its_worker_had_failed_it(
    major: int, opts: dict[str, object], *, node: Node, server: Server, operating: BullMQActions
) -> None:
    with server.client() as store:
        marks = {}
        for name in ("shop", "theirs"):
            node.run(TAKE, url=server.url, major=major, name=name, jobs=[("a", opts)], taken=1)
            store.sadd(f"bull:{name}:stalled", "a")
            marks[name] = last_told(store, name)
        node.run(THEIRS_FAIL, url=server.url, major=major, reason=REASON)
        assert (_fail(operating, "a"), _fail(operating, "a")) == ([DONE], [ALREADY])
        assert told(store, "shop", marks["shop"]) == told(store, "theirs", marks["theirs"])
        ours, theirs = fields(store, "a"), fields(store, "a", "theirs")
        assert int(ours[b"finishedOn"]) == int(store.zscore("bull:shop:failed", "a") or 0)
        assert b"stacktrace" not in ours
        clocks: dict[bytes, bytes] = dict.fromkeys((b"finishedOn", b"processedOn", b"stacktrace"), b"")
        assert ours | clocks == theirs | clocks
        assert places(store) == places(store, "theirs") == {"failed": [b"a"]}
        assert store.exists("bull:shop:stalled") == store.exists("bull:theirs:stalled") == 0


@MODERN
def test_a_job_that_was_to_be_removed_on_failure_is_kept_to_be_looked_at_and_can_be_retried(
    major: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(TAKE, url=server.url, major=major, jobs=[("a", {"removeOnFail": True})], taken=1)
    assert _fail(operating, "a") == [DONE]
    assert outcomes(operating.retry(SHOP, targets("a"), state=State.FAILED, reset=False)) == [DONE]
    assert node.run(FINISH, url=server.url, major=major, paused=False, count=1) == ["a"]


FLOW = """
const child = (queueName, opts) => ({ name: "child", queueName, data: {}, opts });
await flow(args.major).add({ name: "parent", queueName: `${args.name}-orders`, data: {},
  opts: { jobId: "P", ...args.parent, timestamp: (keep.began ??= Date.now()) },
  children: [child(args.name, { jobId: "a", ...args.link, timestamp: keep.began }),
             ...(args.single ? [] : [child(`${args.name}-other`, { jobId: "o" })])] });
"""
LINKS: tuple[dict[str, bool], ...] = (
    {},
    {"failParentOnFailure": True},
    {"continueParentOnFailure": True},
    {"ignoreDependencyOnFailure": True},
    {"removeDependencyOnFailure": True},
)


@MODERN
@pytest.mark.parametrize("single", [True, False], ids=["only-child", "with-sibling"])
@pytest.mark.parametrize("parent", [{}, {"priority": 4}, {"delay": 3600000}], ids=str)
@pytest.mark.parametrize("link", LINKS, ids=lambda link: next(iter(link), "none"))
def test_the_parent_of_a_failed_job_hears_of_it_as_from_its_worker(
    major: int,
    link: dict[str, bool],
    parent: dict[str, int],
    single: bool,
    *,
    node: Node,
    server: Server,
    operating: BullMQActions,
) -> None:
    with server.client() as store:
        for name in ("shop", "theirs"):
            node.run(FLOW, url=server.url, major=major, name=name, link=link, parent=parent, single=single)
            node.run(TAKE, url=server.url, major=major, name=name, jobs=[], taken=1)
        node.run(THEIRS_FAIL, url=server.url, major=major, reason=REASON)
        assert _fail(operating, "a") == [DONE]
        assert _family(store, "shop") == _family(store, "theirs")


def _family(store: redis.Redis, name: str) -> list[object]:
    """All of a parent that its child can change, the queue's name in it replaced."""
    orders, key = f"{name}-orders", f"bull:{name}-orders:P"

    def plain(mapping: dict[bytes, bytes]) -> dict[bytes, bytes]:
        swapped = {k: v.replace(name.encode(), b"NAME") for k, v in mapping.items()}
        return swapped | ({b"delay": b"some"} if swapped.get(b"event") == b"delayed" else {})

    return [
        places(store, orders),
        plain(fields(store, "P", orders)),
        [plain(event) for event in told(store, orders)],
        {child.replace(name.encode(), b"NAME") for child in cast(set[bytes], store.smembers(key + ":dependencies"))},
        store.zcard(key + ":unsuccessful"),
        list(cast(dict[bytes, bytes], store.hgetall(key + ":failed")).values()),
        store.zrange(f"bull:{orders}:marker", 0, -1),
    ]


@MODERN
def test_a_failed_job_lets_its_deduplication_id_go(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    jobs = [("a", {"deduplication": {"id": "x"}}), ("b", {"deduplication": {"id": "y", "ttl": 60000}})]
    node.run(TAKE, url=server.url, major=major, jobs=jobs, taken=2)
    assert _fail(operating, "a", "b") == [DONE, DONE]
    assert not store.exists("bull:shop:de:x")
    assert store.get("bull:shop:de:y") == b"b"


KEEP_LAST = """
const q = queue(args.major, "shop");
await q.add("job", { n: 2 }, { deduplication: { id: "x", keepLastIfActive: true } });
"""
WORK_OFF = """
const q = queue(args.major, "shop");
const seen = [];
worker(args.major, "shop", async (job) => { seen.push(job.data.n); });
await until(async () => (await q.getJobCountByTypes("failed", "completed")) === args.count);
return seen;
"""


@MODERN
def test_where_the_next_job_of_a_deduplication_id_waits_for_this_one_a_worker_fails_it(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    jobs = [("a", {"deduplication": {"id": "x", "keepLastIfActive": True}})]
    node.run(TAKE, url=server.url, major=major, jobs=jobs, taken=1)
    node.run(KEEP_LAST, url=server.url, major=major)
    assert store.exists("bull:shop:dn:x")
    (result,) = operating.fail(SHOP, targets("a"), reason=REASON)
    assert result.outcome is DONE
    assert "next worker fails it" in result.why
    assert node.run(WORK_OFF, url=server.url, major=major, count=2) == [2]
    assert fields(store, "a")[b"failedReason"] == REASON.encode()
    assert places(store)["failed"] == [b"a"]


SCHEDULE = """
const q = queue(args.major, "shop");
await q.upsertJobScheduler("s", { every: 2000 }, { name: "run", data: { n: 1 } });
const w = worker(args.major, "shop", null, { autorun: false });
await until(async () => (await redis.exists("bull:shop:wait", "bull:shop:delayed")) > 0);
// As a worker that went away before it had made the next run: it has taken the job, and nothing more.
const [id] = (await redis.lrange("bull:shop:wait", 0, 0)).concat(await redis.zrange("bull:shop:delayed", 0, 0));
await redis.lrem("bull:shop:wait", 0, id);
await redis.zrem("bull:shop:delayed", id);
await redis.lpush("bull:shop:active", id);
await redis.hset(`bull:shop:${id}`, "processedOn", Date.now(), "ats", 1);
return id;
"""
GOES_ON = """
const q = queue(args.major, "shop");
worker(args.major, "shop", async () => 1);
await until(async () => (await q.getFailedCount()) === 1 && (await q.getCompletedCount()) >= 1);
"""


@MODERN
def test_a_run_without_which_its_schedule_would_end_is_failed_by_a_worker_which_makes_the_next(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    job = cast(str, node.run(SCHEDULE, url=server.url, major=major))
    (result,) = operating.fail(SHOP, targets(job), reason=REASON)
    assert (result.outcome, "next worker fails it" in result.why) == (DONE, True)
    node.run(GOES_ON, url=server.url, major=major)
    assert fields(store, job)[b"failedReason"] == REASON.encode()


IDLE = """
const q = queue(args.major, "shop");
await q.setGlobalConcurrency(1);
await q.add("job", {}, { jobId: "next" });
keep.worked = [];
keep.worker = worker(args.major, "shop", async (job) => { keep.worked.push(job.id); },
  { drainDelay: 60, stalledInterval: 600000, skipStalledCheck: true });
await keep.worker.waitUntilReady();
await sleep(500);
return keep.worked.length;
"""


@MODERN
@pytest.mark.parametrize("action", ["fail", "requeue"])
def test_the_place_that_a_dead_worker_kept_is_taken_at_once_by_one_that_idles(
    major: int, action: str, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(TAKE, url=server.url, major=major, jobs=[("a", {})], taken=1)
    with server.client() as store:
        store.delete("bull:shop:marker")
    assert node.run(IDLE, url=server.url, major=major) == 0
    assert (_fail if action == "fail" else _requeue)(operating, "a") == [DONE]
    worked = ["next"] if action == "fail" else ["a", "next"]
    assert node.run(WORKED, url=server.url, count=len(worked)) == worked


@pytest.mark.parametrize("action", ["fail", "requeue"])
def test_two_who_press_at_once_move_a_job_once(action: str, operating: BullMQActions, store: redis.Redis) -> None:
    put(store, "a", "active", processedOn="1")
    both = at_once(lambda: (_fail if action == "fail" else _requeue)(operating, "a"))
    assert sorted(both[0] + both[1]) == sorted([DONE, ALREADY])
    assert everywhere(store) == [b"a"]


def test_what_is_no_orphan_is_left_where_it_is(operating: BullMQActions, store: redis.Redis) -> None:
    put(store, "w", "wait")
    put(store, "c", "completed")
    put(store, "taken", "active")  # by a worker of 4.x, which locks it a moment later
    put(store, "again", "active", processedOn="1", timestamp="7")
    put(store, "bad", "active", processedOn="1", data="{no")
    put(store, "gone", "active")
    store.delete("bull:shop:gone")
    before = places(store)
    asked = [*targets("w", "c", "taken"), Target(b"again", b"1700000000000"), *targets("gone", "nobody")]
    wrong = [Outcome.UNSUPPORTED, Outcome.CHANGED, Outcome.GONE, Outcome.GONE]
    failed = operating.fail(SHOP, asked, reason=REASON)
    assert outcomes(failed) == [Outcome.WRONG_STATE, Outcome.WRONG_STATE, *wrong]
    assert [result.state for result in failed[:2]] == [State.WAITING, State.COMPLETED]
    assert "A worker may be taking it just now" in failed[2].why
    assert outcomes(operating.requeue(SHOP, asked)) == [ALREADY, Outcome.WRONG_STATE, *wrong]
    (damaged,) = operating.requeue(SHOP, targets("bad"))
    assert (damaged.outcome, "data is damaged" in damaged.why) == (Outcome.UNSUPPORTED, True)
    assert places(store) == before
    put(store, "bad-too", "active", processedOn="1", data="{no", deid="x")
    store.hset("bull:shop:dn:x", "name", "next")
    assert _fail(operating, "bad", "bad-too") == [DONE, Outcome.UNSUPPORTED]


def test_4_is_told_to_be_left_alone(node: Node, server: Server, operating: BullMQActions, store: redis.Redis) -> None:
    node.run(TAKE, url=server.url, major=4, jobs=[("a", {})], taken=1)
    for results in (operating.fail(SHOP, targets("a"), reason=REASON), operating.requeue(SHOP, targets("a"))):
        assert (results[0].outcome, "4.x" in results[0].why) == (Outcome.UNSUPPORTED, True)
    assert places(store) == {"active": [b"a"]}
