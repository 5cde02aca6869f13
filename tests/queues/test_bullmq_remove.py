"""Removing jobs of every major: what keeps one, what goes with it, what its parent and the workers see of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pytest
import redis

from queues.actions import Outcome, Target
from queues.backends.bullmq import places
from queues.backends.bullmq.actions import BullMQActions
from queues.types import JobRef, QueueRef, State
from tests.node import Node
from tests.seed import seed_job, seed_queue
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
DEPOT = QueueRef("main", b"bull", b"depot")


def outcomes(
    operating: BullMQActions, *ids: bytes, state: State | None = None, children: bool = False
) -> list[Outcome]:
    done = operating.remove(SHOP, [Target(one) for one in ids], state=state, children=children)
    return [result.outcome for result in done]


def every_key(store: redis.Redis) -> list[bytes]:
    return sorted(cast(list[bytes], store.keys()))


def left_over(store: redis.Redis, prefix: bytes, job: bytes) -> list[bytes]:
    """The keys that hold or name the job by their own names."""
    return [key for key in every_key(store) if key.startswith(prefix + job)]


EVERYWHERE = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async (job) => {
  if (job.name === "bad") throw new Error("no");
  await job.log("x");
});
await q.addBulk([
  { name: "good", data: {}, opts: { jobId: "j-done" } },
  { name: "bad", data: {}, opts: { jobId: "j-failed" } },
]);
await until(async () => (await q.getFailedCount()) + (await q.getCompletedCount()) === 2);
await w.close();
if (args.paused && args.pausedBy === args.major) await q.pause();
await q.add("later", {}, { jobId: "j-later", delay: 3600000 });
await q.add("urgent", {}, { jobId: "j-urgent", priority: 3 });
for (const id of ["x", "j-waiting", "y"]) await q.add("plain", {}, { jobId: id });
if (args.paused && args.pausedBy !== args.major) await queue(args.pausedBy, "shop").pause();
"""
REST = """
const q = queue(args.major, "shop");
await q.resume();
const seen = [];
const w = worker(args.major, "shop", async (job) => { seen.push(job.id); });
await until(async () => seen.length === args.count && (await q.getActiveCount()) === 0);
await w.close();
return [seen, await q.getJobCounts(), await redis.xrange("bull:shop:events", "-", "+")];
"""


@pytest.mark.parametrize("paused", [None, 5, 6], ids=["open", "paused by 5", "paused by 6"])
def test_a_job_is_removed_from_every_state_and_workers_do_the_rest(
    *, major: int, paused: int | None, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(EVERYWHERE, url=server.url, major=major, paused=paused is not None, pausedBy=paused)
    all_of_them = (b"j-done", b"j-failed", b"j-later", b"j-urgent", b"j-waiting")
    assert outcomes(operating, *all_of_them) == [Outcome.DONE] * 5
    assert outcomes(operating, *all_of_them) == [Outcome.GONE] * 5, "twice is once"
    assert [left_over(store, b"bull:shop:", one) for one in all_of_them] == [[]] * 5
    if paused == 6 and major != 6:  # 5.x would rename `paused` over the jobs in `wait`
        node.run('await queue(6, "shop").resume()', url=server.url)
    seen, counts, events = cast(
        tuple[list[str], Mapping[str, int], list[tuple[str, list[str]]]],
        node.run(REST, url=server.url, major=major, count=2),
    )
    assert sorted(seen) == ["x", "y"]
    assert counts["completed"] == 2
    assert counts["failed"] == counts["delayed"] == counts["waiting"] == 0
    told = [entry[5] for _id, entry in events if entry[1] == "removed"]
    assert [one if one not in ("wait", "paused") else "list" for one in told] == [
        "completed",
        "failed",
        "delayed",
        "prioritized",
        "list",
    ]


def test_a_job_is_removed_only_from_the_state_and_the_stay_it_was_seen_in(
    store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop", failed=2, waiting=2)
    score = b"%d" % int(cast(float, store.zscore("bull:shop:failed", "3")))

    def tried(job: bytes, seen: bytes, state: State) -> tuple[Outcome, State | None]:
        [result] = operating.remove(SHOP, [Target(job, seen)], state=state, children=False)
        return result.outcome, result.state

    made = cast(bytes, store.hget("bull:shop:1", "timestamp"))
    assert tried(b"3", score, State.COMPLETED) == (Outcome.WRONG_STATE, State.FAILED)
    assert tried(b"3", b"1", State.FAILED) == (Outcome.WRONG_STATE, State.FAILED)
    assert tried(b"1", b"1", State.WAITING) == (Outcome.WRONG_STATE, State.WAITING)
    assert tried(b"3", score, State.FAILED) == (Outcome.DONE, State.FAILED)
    assert tried(b"1", made, State.WAITING) == (Outcome.DONE, State.WAITING)
    assert tried(b"1", made, State.WAITING) == (Outcome.GONE, None)


def test_a_worker_s_job_stays_and_one_whose_lock_is_gone_is_for_fail_and_requeue(
    store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop", active=2)
    store.set("bull:shop:1:lock", "token", px=20_000)
    held, orphan = operating.remove(SHOP, [Target(b"1"), Target(b"2")], state=None, children=False)
    assert held.outcome is Outcome.LOCKED
    assert 0 < (held.lock_ms or 0) <= 20_000
    assert (orphan.outcome, orphan.state) == (Outcome.WRONG_STATE, State.ACTIVE)
    assert store.llen("bull:shop:active") == 2


SCHEDULED = """
const q = queue(args.major, "shop");
if (args.legacy) await q.add("tick", {}, { repeat: { every: 3600000 } });
else for (const id of ["s1", "s2"]) await q.upsertJobScheduler(id, { pattern: "0 0 1 1 *" }, { name: "tick" });
for (const id of ["p1", "p2", "p3"]) await q.add("later", {}, { jobId: id, delay: 3600000 });
return (await q.getDelayed()).map((job) => job.id).sort();
"""


@pytest.mark.parametrize("legacy", [False, True], ids=["scheduler", "repeatable"])
def test_a_scheduler_s_next_run_stays_while_the_rest_of_a_selection_goes(
    *, major: int, legacy: bool, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    if (major == 4 and not legacy) or (major == 6 and legacy):
        pytest.skip("this major has none")
    ids = cast(list[str], node.run(SCHEDULED, url=server.url, major=major, legacy=legacy))
    done = outcomes(operating, *(one.encode() for one in ids), state=State.DELAYED)
    armed = [one.encode() for one in ids if one.startswith("repeat:")]
    assert done == [Outcome.DONE] * 3 + [Outcome.SCHEDULED] * len(armed)
    assert armed
    assert sorted(cast(list[bytes], store.zrange("bull:shop:delayed", 0, -1))) == armed
    assert all(store.exists(b"bull:shop:" + one) for one in armed)


DEDUPLICATED = """
const q = queue(args.major, "shop");
await q.add("a", {}, { jobId: "a", deduplication: { id: "order-1" } });
await q.add("b", {}, { jobId: "b", deduplication: { id: "order-2" } });
"""
AGAIN = """return (await queue(args.major, "shop").add("c", {}, { jobId: "c", deduplication: { id: "order-1" } })).id"""


@pytest.mark.parametrize("major", [5, 6])
def test_a_deduplication_id_is_free_when_the_job_that_held_it_goes(
    major: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(DEDUPLICATED, url=server.url, major=major)
    store.set("bull:shop:de:order-2", "somebody else")
    assert outcomes(operating, b"a", b"b") == [Outcome.DONE] * 2
    assert not store.exists("bull:shop:de:order-1")
    assert store.get("bull:shop:de:order-2") == b"somebody else"
    assert node.run(AGAIN, url=server.url, major=major) == "c"


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


def test_an_id_without_a_hash_is_taken_out_of_its_list(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=1, active=1, failed=1)
    store.delete("bull:shop:1", "bull:shop:2", "bull:shop:3")
    assert outcomes(operating, b"1", b"2", b"3") == [Outcome.DONE] * 3
    assert not store.llen("bull:shop:wait")
    assert not store.llen("bull:shop:active")
    assert not store.zcard("bull:shop:failed")


@pytest.mark.parametrize("name", ["meta", "wait", "events", "metrics:completed", "repeat:nightly", "7:processed"])
def test_a_key_of_the_queue_is_never_removed_as_if_it_were_a_job(
    name: str, store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop", waiting=1, version="bullmq:6.7.0")
    store.hset("bull:shop:repeat:nightly", mapping={"name": "n", "data": "{}", "opts": "{}", "ic": 1})
    store.hset("bull:shop:7:processed", "bull:depot:1", "1")
    store.hset("bull:shop:metrics:completed", "count", 1)
    store.xadd("bull:shop:events", {"event": "waiting", "jobId": "1"})
    before = every_key(store)
    assert outcomes(operating, name.encode()) == outcomes(operating, name.encode(), children=True) == [Outcome.GONE]
    store.lpush("bull:shop:wait", name)
    assert outcomes(operating, name.encode()) == [Outcome.DONE]
    assert every_key(store) == before


def test_one_queue_is_never_touched_by_what_is_done_to_its_namesake(
    store: redis.Redis, operating: BullMQActions
) -> None:
    prefixes = ("tenant-a", "tenant-b", "app:prod", "{bull}")
    refs = [seed_queue(store, "emails", prefix=one, waiting=3, failed=3, delayed=3) for one in prefixes]
    for acted in refs:
        before = {one: store.dump(one) for one in every_key(store) if not one.startswith(acted.prefix + b":")}
        done = operating.remove(acted, [Target(b"%d" % n) for n in (2, 5, 8)], state=None, children=False)
        assert [one.outcome for one in done] == [Outcome.DONE] * 3
        after = {one: store.dump(one) for one in every_key(store) if not one.startswith(acted.prefix + b":")}
        assert after == before


def test_many_jobs_of_a_long_list_go_in_few_passes(
    store: redis.Redis, operating: BullMQActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed_queue(store, "shop", waiting=30_000, parked=7_000, delayed=1)
    monkeypatch.setattr(places, "WINDOW", 1_000)
    wanted = [b"%d" % n for n in range(1, 37_001, 41) if n != 30_001]
    targets = [*(Target(one) for one in wanted), Target(b"nobody"), Target(b"30001")]  # the delayed one
    sent = operating.commands_sent
    done = operating.remove(SHOP, targets, state=State.WAITING, children=False)
    assert [one.id for one in done] == [one.id for one in targets]
    assert [one.outcome for one in done] == [Outcome.DONE] * len(wanted) + [Outcome.GONE, Outcome.WRONG_STATE]
    assert operating.commands_sent - sent < 100
    rest = {*cast(list[bytes], store.lrange("bull:shop:wait", 0, -1))}
    rest |= {*cast(list[bytes], store.lrange("bull:shop:paused", 0, -1))}
    assert rest == {b"%d" % n for n in range(1, 37_002)} - {*wanted, b"30001"}


def test_a_job_that_moved_since_it_was_found_in_a_long_list_is_found_again(
    store: redis.Redis, operating: BullMQActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed_queue(store, "shop", waiting=12_000)
    located, rounds = places.locate, []

    def late(*arguments: object) -> dict[bytes, bytes]:
        found = located(*arguments)  # type: ignore[arg-type]
        rounds.append(len(found))
        if len(rounds) < 3:
            store.rpop("bull:shop:wait", 2_500)
        return found

    monkeypatch.setattr(places, "locate", late)
    done = outcomes(operating, b"11000", b"11900", b"5001", b"10", state=None)
    assert done == [Outcome.DONE] * 4, "the last is in no list any more, and goes all the same"
    assert len(rounds) > 1
    rest = cast(list[bytes], store.lrange("bull:shop:wait", 0, -1))
    assert len(rest) == 7_000 - 3
    assert not {b"11000", b"11900", b"5001"} & {*rest}


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


def test_a_job_that_is_in_no_list_can_be_removed(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop")
    seed_job(store, SHOP, "limbo")
    assert outcomes(operating, b"limbo") == [Outcome.DONE]
    assert not store.exists("bull:shop:limbo")


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
