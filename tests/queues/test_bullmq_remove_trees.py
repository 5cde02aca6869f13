"""Removing jobs of flows: whole trees over queues or nothing, children alone, and parents that go on."""

from __future__ import annotations

from typing import cast

import pytest
import redis

from queues.actions import Outcome, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.types import JobRef, QueueRef, State
from tests.node import Node
from tests.seed import seed_job, seed_queue
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
DEPOT = QueueRef("main", b"bull", b"depot")
FLOW = """
for (const name of ["shop", "depot", "yard"]) {
  queue(args.major, name);
  await until(async () => await redis.hget(`bull:${name}:meta`, "version"));
}
await flow(args.major).add({ name: "order", queueName: "shop", data: {},
  opts: { jobId: "parent", ...(args.parent ?? {}) },
  children: [
    { name: "pack", queueName: "depot", data: {}, opts: { jobId: "c1" } },
    { name: "pack", queueName: "depot", data: {}, opts: { jobId: "c2", delay: 3600000 },
      children: [{ name: "fetch", queueName: "yard", data: {}, opts: { jobId: "g1" } }] },
  ] });
"""
ONE_CHILD = """
const q = queue(args.major, "shop");
for (const jobId of ["a", "b"]) await q.add("order", {}, { jobId, priority: 4 });
await flow(args.major).add({ name: "order", queueName: "shop", opts: { jobId: "parent", priority: 4 },
  children: [{ name: "pack", queueName: "depot", opts: { jobId: "c" } }] });
"""
ONE_DONE = """
const q = queue(args.major, "depot");
const w = worker(args.major, "depot", async () => "packed");
await until(async () => (await q.getCompletedCount()) === 1);
await w.close();
"""
PARENT_RUNS = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async (job) => "ran");
await until(async () => (await q.getJobState("parent")) === "completed");
"""
CHILD_RUNS = """
const q = queue(args.major, "depot");
const w = worker(args.major, "depot", async (job) => "packed");
await until(async () => (await q.getJobState("c1")) === "completed");
await w.close();
"""


def every_key(store: redis.Redis) -> list[bytes]:
    return sorted(cast(list[bytes], store.keys()))


def left_over(store: redis.Redis, prefix: bytes, job: bytes) -> list[bytes]:
    """The keys that hold or name the job by their own names."""
    return [key for key in every_key(store) if key.startswith(prefix + job)]


@pytest.mark.parametrize("priority", [0, 4])
def test_a_parent_goes_on_when_its_last_child_is_removed(
    *, major: int, priority: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(FLOW, url=server.url, major=major, parent={"priority": priority} if priority else {})
    assert operating.remove(DEPOT, [Target(b"c1")], state=None, children=False)[0].outcome is Outcome.DONE
    assert store.zscore("bull:shop:waiting-children", "parent") is not None
    [kept] = operating.remove(DEPOT, [Target(b"c2")], state=None, children=False)
    assert kept.outcome is Outcome.CHILDREN
    [gone] = operating.remove(DEPOT, [Target(b"c2")], state=None, children=True)
    assert (gone.outcome, gone.removed) == (Outcome.DONE, 1)
    assert store.zscore("bull:shop:waiting-children", "parent") is None
    assert bool(store.zcard("bull:shop:prioritized")) is bool(priority)
    node.run(PARENT_RUNS, url=server.url, major=major)


@pytest.mark.parametrize("removed", [False, True], ids=["done", "removed"])
def test_a_parent_without_its_last_child_stands_where_the_end_of_that_would_put_it(
    *, removed: bool, major: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    """Behind others of its priority. Where the library removes a child, the parent loses its priority."""
    node.run(ONE_CHILD, url=server.url, major=major)
    if removed:
        assert operating.remove(DEPOT, [Target(b"c")], state=None, children=False)[0].outcome is Outcome.DONE
    else:
        node.run(ONE_DONE, url=server.url, major=major)
    assert store.zrange("bull:shop:prioritized", 0, -1) == [b"a", b"b", b"parent"]


def test_a_parent_with_a_delay_of_its_own_is_delayed_when_it_goes_on(
    major: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(FLOW, url=server.url, major=major, parent={"delay": 200})
    operating.remove(DEPOT, [Target(b"c1"), Target(b"c2")], state=None, children=True)
    assert store.zscore("bull:shop:delayed", "parent") is not None
    node.run(PARENT_RUNS, url=server.url, major=major)


def test_a_tree_goes_whole_with_what_has_ended_in_other_queues_and_can_be_shown_before(
    major: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(FLOW, url=server.url, major=major)
    node.run(CHILD_RUNS, url=server.url, major=major)
    shown = {
        (one.job.queue.name, one.job.id): (one.ended, one.locked) for one in operating.below(JobRef(SHOP, b"parent"))
    }
    assert shown == {
        (b"depot", b"c1"): (True, False),
        (b"depot", b"c2"): (False, False),
        (b"yard", b"g1"): (False, False),
    }
    [gone] = operating.remove(SHOP, [Target(b"parent")], state=State.WAITING_CHILDREN, children=True)
    assert (gone.outcome, gone.removed) == (Outcome.DONE, 3)
    for prefix, job in ((b"bull:shop:", b"parent"), (b"bull:depot:", b"c"), (b"bull:yard:", b"g1")):
        assert [key for key in left_over(store, prefix, job) if not key.endswith(b":completed")] == []
    assert not store.llen("bull:yard:wait")
    assert not store.zcard("bull:depot:completed")


def test_nothing_of_a_tree_goes_while_a_worker_holds_one_of_it(
    major: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(FLOW, url=server.url, major=major)
    store.set("bull:yard:g1:lock", "token", px=30_000)
    before = every_key(store)
    [kept] = operating.remove(SHOP, [Target(b"parent")], state=None, children=True)
    assert kept.outcome is Outcome.LOCKED
    assert kept.lock_ms
    assert "bull:yard:g1" in kept.why
    assert every_key(store) == before
    assert [one.job.id for one in operating.below(JobRef(SHOP, b"parent")) if one.locked] == [b"g1"]


def test_a_child_that_belongs_to_another_parent_by_now_stays(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting_children=1, completed=1)
    store.hset("bull:shop:1:processed", "bull:shop:2", "1")
    store.hset("bull:shop:2", "parentKey", "bull:other:9")
    [gone] = operating.remove(SHOP, [Target(b"1")], state=None, children=True)
    assert (gone.outcome, gone.removed) == (Outcome.DONE, 0)
    assert store.exists("bull:shop:2")


def test_a_tree_of_more_than_1000_jobs_is_left_with_a_reason(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting_children=1)
    store.sadd("bull:shop:1:dependencies", *(f"bull:depot:{n}" for n in range(1_001)))
    [kept] = operating.remove(SHOP, [Target(b"1")], state=None, children=True)
    assert kept.outcome is Outcome.UNSUPPORTED
    assert "1000" in kept.why.replace(",", "")


@pytest.mark.parametrize("major", [5, 6])
def test_a_failed_child_that_is_removed_no_longer_fails_its_parent_s_retry(
    major: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(
        """
        await flow(args.major).add({ name: "order", queueName: "shop", data: {}, opts: { jobId: "parent" },
          children: [{ name: "bad", queueName: "depot", data: {}, opts: { jobId: "c", failParentOnFailure: true } }] });
        const w = worker(args.major, "depot", async () => { throw new Error("no"); });
        const v = worker(args.major, "shop", async () => "ran");
        await until(async () => (await queue(args.major, "shop").getJobState("parent")) === "failed");
        await w.close(); await v.close();
        """,
        url=server.url,
        major=major,
    )
    assert operating.remove(DEPOT, [Target(b"c")], state=State.FAILED, children=False)[0].outcome is Outcome.DONE
    assert not store.exists("bull:shop:parent:unsuccessful")
    [retried] = operating.retry(SHOP, [Target(b"parent")], state=State.FAILED, reset=False)
    assert retried.outcome is Outcome.DONE
    node.run(PARENT_RUNS, url=server.url, major=major)


def test_what_a_finished_child_told_its_parent_stays_when_it_is_removed(
    major: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(FLOW, url=server.url, major=major)
    node.run(CHILD_RUNS, url=server.url, major=major)
    operating.remove(DEPOT, [Target(b"c1")], state=State.COMPLETED, children=False)
    read = 'return await (await queue(args.major, "shop").getJob("parent")).getChildrenValues()'
    assert node.run(read, url=server.url, major=major) == {"bull:depot:c1": "packed"}


def test_unprocessed_children_go_and_their_parent_goes_on(
    major: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(FLOW, url=server.url, major=major)
    done = operating.remove_children(JobRef(SHOP, b"parent"))
    if major == 4:
        assert done.outcome is Outcome.UNSUPPORTED
        assert done.why
        return
    assert (done.outcome, done.removed) == (Outcome.DONE, 3)
    again = operating.remove_children(JobRef(SHOP, b"parent"))
    assert (again.outcome, again.removed) == (Outcome.ALREADY, 0)
    assert again.why
    assert left_over(store, b"bull:yard:", b"g1") == []
    node.run(PARENT_RUNS, url=server.url, major=major)


def test_children_that_are_held_or_have_ended_stay_and_those_that_are_gone_no_longer_hold_their_parent(
    store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop", waiting_children=1)
    for n, place in ((1, "held"), (2, "failed"), (3, "free")):
        seed_job(store, DEPOT, str(n), parentKey="bull:shop:1")
        store.sadd("bull:shop:1:dependencies", f"bull:depot:{n}")
        if place == "failed":
            store.zadd("bull:depot:failed", {str(n): 1})
        else:
            store.lpush("bull:depot:wait", str(n))
    store.sadd("bull:shop:1:dependencies", "bull:depot:dead")
    store.set("bull:depot:1:lock", "token", px=30_000)
    store.hset("bull:depot:meta", "version", "bullmq:6.7.0")
    done = operating.remove_children(JobRef(SHOP, b"1"))
    assert (done.outcome, done.removed) == (Outcome.DONE, 1)
    assert "bull:depot:" in done.why
    assert store.smembers("bull:shop:1:dependencies") == {b"bull:depot:1", b"bull:depot:2"}
    assert operating.remove_children(JobRef(SHOP, b"nobody")).outcome is Outcome.GONE


def test_a_selection_with_what_hangs_below_goes_from_a_long_list_too(
    store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop", waiting=12_000, waiting_children=1)
    seed_queue(store, "depot", waiting=6_000)
    for job in (100, 200, 5_999):
        store.sadd("bull:shop:12001:dependencies", f"bull:depot:{job}")
        store.hset(f"bull:depot:{job}", "parentKey", "bull:shop:12001")
    sent = operating.commands_sent
    ids = [b"1", b"6000", b"12001", b"12000", *(b"%d" % n for n in range(2_000, 2_300))]
    done = operating.remove(SHOP, [Target(one) for one in ids], state=None, children=True)
    assert [one.outcome for one in done] == [Outcome.DONE] * len(ids)
    assert [one.removed for one in done[:4]] == [0, 0, 3, 0]
    assert operating.commands_sent - sent < 60
    assert store.llen("bull:depot:wait") == 6_000 - 3
    assert store.llen("bull:shop:wait") == 12_000 - len(ids) + 1


def test_children_are_found_in_one_look_through_a_long_list(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting_children=1)
    seed_queue(store, "depot", waiting=12_000)
    children = range(5, 12_000, 20)
    store.sadd("bull:shop:1:dependencies", *(f"bull:depot:{n}" for n in children))
    for job in children:
        store.hset(f"bull:depot:{job}", "parentKey", "bull:shop:1")
    [gone] = operating.remove(SHOP, [Target(b"1")], state=None, children=True)
    assert (gone.outcome, gone.removed) == (Outcome.DONE, len(children))
    left = [b"%d" % n for n in range(12_000, 0, -1) if n not in children]
    assert store.lrange("bull:depot:wait", 0, -1) == left
