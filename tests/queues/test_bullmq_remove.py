"""Removing jobs of every major: what keeps one, what goes with it, what its parent and the workers see of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pytest
import redis

from queues.actions import Outcome, Target
from queues.backends.bullmq import places
from queues.backends.bullmq.actions import BullMQActions
from queues.types import QueueRef, State
from tests.node import Node
from tests.seed import seed_job, seed_queue
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")


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


@pytest.mark.parametrize(
    ("major", "legacy"),
    [(4, True), (5, True), (5, False), (6, False)],
    ids=["repeatable of 4", "repeatable of 5", "scheduler of 5", "scheduler of 6"],
)
def test_a_scheduler_s_next_run_stays_while_the_rest_of_a_selection_goes(
    *, major: int, legacy: bool, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
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


def test_a_job_that_is_in_no_list_can_be_removed(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop")
    seed_job(store, SHOP, "limbo")
    assert outcomes(operating, b"limbo") == [Outcome.DONE]
    assert not store.exists("bull:shop:limbo")
