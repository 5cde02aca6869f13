"""What loses or damages jobs with the libraries themselves cannot be provoked through the product."""

from __future__ import annotations

import time
from typing import cast

import pytest
import redis

from queues import audit, operations, registry
from queues.actions import Action, Clock
from queues.types import State
from tests.node import Node
from tests.queues.acting import to_its_end
from tests.queues.model.cases import ANNA, KITCHEN, SHOP, app, failed, finished, names, odd, some, why
from tests.queues.moving import everywhere, places, put
from tests.valkey import Server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.node, pytest.mark.usefixtures("watched")]
WEEK = 7 * 24 * 3_600_000
both_majors = pytest.mark.parametrize("major", [5, 6])


@both_majors
def test_jobs_that_5_adds_while_we_have_paused_are_there_when_5_resumes(
    major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    app(node, server.url, 5, "a", "b")
    operations.pause(ANNA, SHOP)
    app(node, server.url, 5, "c", "resume")
    assert finished(node, server.url, major, 3) == ["a", "b", "c"]


@both_majors
@pytest.mark.parametrize("waiting", [(), ("w",)], ids=["empty", "with jobs"])
def test_jobs_that_we_retry_on_a_queue_that_5_has_paused_are_there_when_5_resumes(
    *, waiting: tuple[str, ...], major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    failed(node, server.url, 5, "a", "b")
    app(node, server.url, 5, *waiting, "pause")
    operations.retry(ANNA, SHOP, some("a", "b"), state=State.FAILED, reset=False)
    app(node, server.url, 5, "resume")
    assert sorted(finished(node, server.url, major, 2 + len(waiting))) == sorted(["a", "b", *waiting])


@both_majors
def test_what_5_adds_to_a_queue_that_6_has_paused_is_kept_by_us_whoever_asks_for_what(
    major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    failed(node, server.url, 6, "f")
    app(node, server.url, 6, "a", "pause")
    app(node, server.url, 5, "b")
    operations.retry(ANNA, SHOP, some("f"), state=State.FAILED, reset=False)
    operations.pause(ANNA, SHOP)
    operations.resume(ANNA, SHOP)
    assert not store.exists("bull:shop:paused")
    app(node, server.url, 5, "pause", "resume")
    assert sorted(finished(node, server.url, major, 3)) == ["a", "b", "f"]


def test_a_resume_goes_on_until_nothing_is_parked(node: Node, server: Server, store: redis.Redis) -> None:
    app(node, server.url, 6, "pause")
    for name, count in (("wait", 12_000), ("paused", 11_000)):
        ids = names(name[0], count)
        store.rpush(f"bull:shop:{name}", *ids)
    entry = operations.resume(ANNA, SHOP)
    assert entry.outcomes == {"done": 1}
    assert (store.llen("bull:shop:wait"), store.exists("bull:shop:paused")) == (23_000, 0)
    assert [store.lindex("bull:shop:wait", at) for at in (0, 12_000, -1)] == [b"w0", b"p0", b"p10999"]


@both_majors
def test_a_bulk_retry_keeps_priority_takes_all_and_pushes_no_id_without_a_job(
    major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    failed(node, server.url, major, *names("u", 120), priority=4)
    failed(node, server.url, major, *names("p", 120))
    store.delete("bull:shop:u7", "bull:shop:p7")
    entry = to_its_end(operations.start_bulk(ANNA, SHOP, Action.RETRY, None, state=State.FAILED, parameters={}))
    assert entry.outcomes == {"done": 238, "gone": 2}
    assert odd(entry) == {"u7": "gone", "p7": "gone"}
    assert (store.llen("bull:shop:wait"), store.zcard("bull:shop:prioritized")) == (119, 119)
    ranked = cast(list[tuple[bytes, float]], store.zrange("bull:shop:prioritized", 0, -1, withscores=True))
    assert {int(score) >> 32 for _job, score in ranked} == {4}
    assert len(set(finished(node, server.url, major, 238))) == 238


SCHEDULES = """
const q = queue(args.major, "shop");
await q.upsertJobScheduler("nightly", { pattern: "0 0 29 2 *" }, { name: "tick" });
if (args.major === 5) await q.add("legacy", {}, { repeat: { pattern: "0 0 29 2 *" } });
await q.add("later", {}, { delay: 3600000, jobId: "later" });
return (await q.getDelayed()).map((job) => job.id).filter((id) => id.startsWith("repeat:")).sort();
"""
RUN_NOW = """
const q = queue(args.major, "shop");
const ids = (await q.getDelayed()).map((job) => job.id);
for (const id of ids) await (await q.getJob(id)).promote();
worker(args.major, "shop", async () => 1);
await until(async () => (await q.getCompletedCount()) === ids.length);
return (await q.getDelayed()).length;
"""


@both_majors
def test_a_bulk_promotion_leaves_the_next_runs_of_schedules(
    major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    runs = node.run(SCHEDULES, url=server.url, major=major)
    assert isinstance(runs, list)
    entry = to_its_end(operations.start_bulk(ANNA, SHOP, Action.PROMOTE, None, state=State.DELAYED, parameters={}))
    assert entry.outcomes == {"done": 1, "scheduled": len(runs)}
    assert [job.decode() for job in sorted(places(store)["delayed"])] == runs


@both_majors
def test_the_next_run_of_a_schedule_or_of_a_legacy_repeatable_is_never_said_to_be_removed_nor_is_it(
    major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    runs = node.run(SCHEDULES, url=server.url, major=major)
    assert isinstance(runs, list)
    entry = operations.remove(ANNA, SHOP, some(*runs), state=State.DELAYED, children=False)
    assert entry.outcomes == {"scheduled": len(runs)}
    for sweep in (
        operations.clean(ANNA, SHOP, State.DELAYED, clock=Clock.CREATED, older_ms=-1000),
        operations.drain(ANNA, SHOP, delayed=True),
    ):
        assert to_its_end(sweep).outcomes.get("scheduled") == len(runs)
    assert [job.decode() for job in sorted(places(store)["delayed"])] == runs
    assert node.run(RUN_NOW, url=server.url, major=major) == len(runs), "each goes on"


TANGLED = """
const q = queue(args.major, "shop");
await q.upsertJobScheduler("nightly", { pattern: "0 0 29 2 *" }, { name: "tick" });
if (args.major === 5) await q.add("legacy", {}, { repeat: { pattern: "0 0 29 2 *" } });
const child = (id, queueName, opts = {}) => ({ name: "part", queueName, opts: { jobId: id, ...opts } });
await flow(args.major).add({ name: "whole", queueName: "shop", opts: { jobId: "p" },
  children: [child("c1", "shop"), child("c2", "kitchen")] });
await flow(args.major).add({ name: "whole", queueName: "kitchen", opts: { jobId: "k" },
  children: [child("c3", "shop")] });
await q.add("single", {}, { deduplication: { id: "d" } });
await q.addBulk([{ name: "a", opts: { priority: 3 } }, { name: "b", opts: { delay: 3600000 } }]);
await (await q.getJob("c1")).log("line");
const w = worker(args.major, "shop", null, { autorun: false });
await w.getNextJob("t", { block: false });
await q.pause();
"""
KITCHEN_ENDS = """
const q = queue(args.major, "kitchen");
worker(args.major, "kitchen", async () => 1);
await until(async () => (await q.getCompletedCount()) === 2);
"""


@both_majors
def test_a_queue_removed_by_force_leaves_no_key_and_other_queues_go_on(
    major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    node.run(TANGLED, url=server.url, major=major)
    entry = to_its_end(operations.obliterate(ANNA, SHOP, force=True))
    assert entry.status == audit.Status.DONE
    assert list(store.scan_iter("bull:shop:*")) == []
    node.run(KITCHEN_ENDS, url=server.url, major=major)


def test_a_job_due_next_week_is_not_taken_for_an_old_one(store: redis.Redis) -> None:
    now = int(time.time() * 1000)
    for name, made, due in (("week", now - 2 * 3_600_000, now + WEEK), ("over", now, now - 3_700_000)):
        put(store, name, "delayed", timestamp=str(made))
        store.zadd("bull:shop:delayed", {name: due * 4096})
    entry = to_its_end(operations.clean(ANNA, SHOP, State.DELAYED, clock=Clock.DUE, older_ms=3_600_000))
    assert entry.outcomes == {"done": 1}
    assert everywhere(store) == [b"week"]


@both_majors
def test_a_parent_takes_no_children_along_that_nobody_was_asked_about(
    major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    node.run(TANGLED, url=server.url, major=major)
    entry = operations.remove(ANNA, SHOP, some("p"), state=None, children=False)
    assert entry.outcomes == {"children": 1}
    assert store.exists("bull:kitchen:c2", "bull:shop:c1", "bull:shop:p") == 3
    entry = operations.remove(ANNA, KITCHEN, some("k"), state=None, children=True)
    expected = {"locked": 1} if store.exists("bull:shop:c3:lock") else {"done": 1, "removed": 1}
    assert entry.outcomes == expected


TWIN = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async () => { throw new Error("no"); });
await q.add("a", {}, { jobId: "a", deduplication: { id: "order-1" } });
await until(async () => (await q.getFailedCount()) === 1);
await w.close();
await q.add("b", {}, { jobId: "b", deduplication: { id: "order-1" } });
"""


@both_majors
def test_no_twin_of_a_deduplicated_job_waits_unless_somebody_wants_it(
    major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    node.run(TWIN, url=server.url, major=major)
    entry = operations.retry(ANNA, SHOP, some("a"), state=State.FAILED, reset=False)
    assert entry.outcomes == {"unsupported": 1}
    assert "b" in why(entry)
    assert places(store) == {"wait": [b"b"], "failed": [b"a"]}
    operations.retry(ANNA, SHOP, some("a"), state=State.FAILED, reset=False, twins=True)
    assert sorted(finished(node, server.url, major, 2)) == ["a", "b"]


def test_a_long_queue_is_emptied_in_many_short_scripts(node: Node, server: Server, store: redis.Redis) -> None:
    app(node, server.url, 6, "first")
    count = 20_000
    pipe = store.pipeline(transaction=False)
    for name in names("w", count):
        pipe.hset(f"bull:shop:{name}", mapping={"name": "x", "data": "{}", "opts": "{}", "timestamp": 1})
    pipe.lpush("bull:shop:wait", *names("w", count))
    pipe.execute()
    sent = registry.actions("main").commands_sent
    entry = to_its_end(operations.drain(ANNA, SHOP, delayed=False))
    assert entry.outcomes == {"done": count + 1}
    assert registry.actions("main").commands_sent - sent > 5
    assert everywhere(store) == []
