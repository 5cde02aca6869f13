"""Trials that come from bug reports of other dashboards, through the product and against real workers."""

from __future__ import annotations

import time
from typing import cast

import pytest
import redis

from queues import audit, operations, registry
from queues.actions import Action, Clock, Target
from queues.audit import Actor, Asked
from queues.models import AuditEntry
from queues.types import JobRef, QueueRef, State
from tests.node import Node
from tests.queues.acting import bulk_of, to_its_end
from tests.queues.model.cases import ANNA, KITCHEN, SHOP, app, failed, finished, names, odd, some, why
from tests.queues.model.operator import together
from tests.queues.moving import places, put
from tests.valkey import Server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.node, pytest.mark.usefixtures("watched")]
both_majors = pytest.mark.parametrize("major", [5, 6])


def retry_all(name: str = "") -> AuditEntry:
    return to_its_end(
        operations.start_bulk(ANNA, SHOP, Action.RETRY, None, state=State.FAILED, name=name, parameters={})
    )


@both_majors
def test_ac_01_retry_all_passes_over_missing_jobs_and_names_them_and_pressed_again_does_nothing(
    major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    failed(node, server.url, major, *names("f", 300))
    second, far = (cast(list[bytes], store.zrange("bull:shop:failed", at, at))[0].decode() for at in (2, 150))
    store.delete(f"bull:shop:{second}", f"bull:shop:{far}")
    entry = retry_all()
    assert (entry.outcomes, odd(entry)) == ({"done": 298, "gone": 2}, {second: "gone", far: "gone"})
    assert "298" in audit.in_words(entry)
    assert retry_all().outcomes == {"gone": 2}
    ran = finished(node, server.url, major, 298)
    assert sorted(ran) == sorted(set(names("f", 300)) - {second, far})


@both_majors
def test_ac_01_a_worker_that_is_lost_in_the_middle_leaves_a_true_count_and_the_rest_is_done(
    major: int, node: Node, server: Server, store: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed(node, server.url, major, *names("f", 40))
    entry = operations.start_bulk(ANNA, SHOP, Action.RETRY, some(*names("f", 40)), state=State.FAILED, parameters={})
    actions = registry.actions("main")
    whole = actions.retry

    def half(queue: QueueRef, targets: list[Target], **how: object) -> object:
        monkeypatch.undo()
        whole(queue, targets[:25], **how)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(type(actions), "retry", lambda _self, queue, targets, **how: half(queue, targets, **how))
    with pytest.raises(KeyboardInterrupt):
        to_its_end(entry)
    bulk = bulk_of(entry)
    type(bulk).objects.filter(pk=bulk.pk).update(holder="")
    entry = to_its_end(entry)
    assert sum(entry.outcomes.values()) == 40
    assert sorted(finished(node, server.url, major, 40)) == sorted(names("f", 40))


MIXED = """
const q = queue(args.major, "shop");
const backoff = { type: "fixed", delay: 1 };
const full = { attempts: 2, backoff, removeOnComplete: { count: 77 }, removeOnFail: false };
const w = worker(args.major, "shop", async () => { throw new Error("no"); });
for (const id of ["f1", "f2", "f3"]) await q.add("send", { id }, { jobId: id, priority: 9, ...full });
for (const id of ["p1", "p2", "p3"]) await q.add("send", { id }, { jobId: id, ...full });
await until(async () => (await q.getFailedCount()) === 6);
await w.close();
for (const id of ["d1", "d2", "d3"]) await q.add("send", { id }, { jobId: id, priority: 9, delay: 3600000, ...full });
"""


@both_majors
@pytest.mark.parametrize("paused", [False, True], ids=["open", "paused"])
def test_ac_02_priority_and_options_are_kept_singly_and_in_bulk(
    *, paused: bool, major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    node.run(MIXED, url=server.url, major=major)
    if paused:
        app(node, server.url, major, "pause")
    fixed = ("name", "data", "opts", "priority", "timestamp")
    before = {job: store.hmget(f"bull:shop:{job}", *fixed) for job in ("f1", "f2", "d1", "d2", "p1")}
    operations.retry(ANNA, SHOP, some("f1"), state=State.FAILED, reset=False)
    operations.promote(ANNA, SHOP, some("d1"))
    assert retry_all().outcomes == {"done": 5}
    to_its_end(operations.start_bulk(ANNA, SHOP, Action.PROMOTE, None, state=State.DELAYED, parameters={}))
    assert store.zcard("bull:shop:prioritized") == 6
    assert before == {job: store.hmget(f"bull:shop:{job}", *fixed) for job in before}
    ran = finished(node, server.url, major, 9, resume=paused)
    assert sorted(ran[:3]) == ["p1", "p2", "p3"], "those without a priority come first"
    assert {ran[3], ran[4]} == {"f1", "d1"}


@both_majors
def test_ac_04_a_press_from_another_tab_s_state_is_told_calmly(
    major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    failed(node, server.url, major, "a", "b")
    assert operations.promote(ANNA, SHOP, some("a")).outcomes == {"wrong-state": 1}
    assert operations.requeue(ANNA, SHOP, some("a")).outcomes == {"wrong-state": 1}
    assert operations.retry(ANNA, SHOP, some("a"), state=State.COMPLETED, reset=False).outcomes == {"wrong-state": 1}
    seen = Target(b"b", b"%d" % int(cast(float, store.zscore("bull:shop:failed", "b"))))
    assert operations.retry(ANNA, SHOP, [seen], state=State.FAILED, reset=False).outcomes == {"done": 1}
    assert finished(node, server.url, major, 1) == ["b"]
    late = operations.retry(ANNA, SHOP, [seen], state=State.FAILED, reset=False)
    assert late.outcomes == {"wrong-state": 1}
    assert places(store) == {"failed": [b"a"], "completed": [b"b"]}


@both_majors
def test_ac_04_a_form_that_is_sent_five_times_and_another_operator_come_to_one_replay(
    major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    failed(node, server.url, major, "a")

    def press(name: str, key: str) -> AuditEntry:
        asked = Asked(Actor(name, "operator"), key)
        return operations.retry(asked, SHOP, some("a"), state=State.FAILED, reset=False)

    forms = [("anna", "form-1")] * 5 + [("bert", "form-2")]
    together([lambda who=who, key=key: press(who, key) for who, key in forms])  # type: ignore[misc]
    kept = AuditEntry.objects.all()
    assert sorted((entry.outcomes.get("done", 0), entry.outcomes.get("already", 0)) for entry in kept) == [
        (0, 1),
        (1, 0),
    ]
    assert places(store) == {"wait": [b"a"]}
    assert finished(node, server.url, major, 1) == ["a"]


FAMILY = """
const one = (id, opts) => ({ name: "part", queueName: "shop", opts: { jobId: id, ...opts } });
await flow(args.major).add({ name: "whole", queueName: "kitchen", opts: { jobId: "p" },
  children: [one("c1", args.opts), one("c2", {})] });
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async (job) => { if (job.id === "c1") throw new Error("no"); });
const k = worker(args.major, "kitchen", async () => 1);
await until(async () => (await q.getFailedCount()) === 1 && (await q.getCompletedCount()) === 1);
if (args.opts.failParentOnFailure) await until(async () => (await queue(args.major, "kitchen").getFailedCount()) === 1);
await w.close();
await k.close();
"""
WHOLE = """
worker(args.major, "kitchen", async () => 1);
await until(async () => (await queue(args.major, "kitchen").getCompletedCount()) === 1);
"""


@both_majors
@pytest.mark.parametrize("bulk", [False, True], ids=["singly", "in bulk"])
@pytest.mark.parametrize("opts", [{}, {"failParentOnFailure": True}], ids=["waiting parent", "failed parent"])
def test_ac_06_what_becomes_of_the_parent_of_a_replayed_child_is_said_and_it_can_be_completed(
    *, opts: dict[str, bool], bulk: bool, major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    node.run(FAMILY, url=server.url, major=major, opts=opts)
    entry = retry_all() if bulk else operations.retry(ANNA, SHOP, some("c1"), state=State.FAILED, reset=False)
    assert entry.outcomes == {"done": 1}
    assert ("retry it after this job has completed" in str(entry.exceptions)) == bool(opts)
    assert finished(node, server.url, major, 1) == ["c1"]
    assert not store.exists("bull:kitchen:p:unsuccessful")
    if opts:
        assert operations.retry(ANNA, KITCHEN, some("p"), state=State.FAILED, reset=False).outcomes == {"done": 1}
    node.run(WHOLE, url=server.url, major=major)


HELD = """
const later = (id) => ({ name: "part", queueName: "kitchen", opts: { jobId: id, delay: 3600000 } });
await flow(args.major).add({ name: "whole", queueName: "shop", opts: { jobId: "p" },
  children: [later("c3"), later("c4"), { name: "part", queueName: "kitchen", opts: { jobId: "c5" } }] });
keep.w = worker(args.major, "kitchen", null, { autorun: false });
keep.job = await keep.w.getNextJob("t", { block: false });
"""


@both_majors
def test_ac_07_a_tree_goes_whole_once_nobody_holds_a_part_and_is_counted(
    major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    node.run(HELD, url=server.url, major=major)
    parent = JobRef(SHOP, b"p")
    below = {one.job.id: one.locked for one in registry.actions("main").below(parent)}
    assert below == {b"c3": False, b"c4": False, b"c5": True}
    entry = operations.remove(ANNA, SHOP, some("p"), state=None, children=True)
    assert entry.outcomes == {"locked": 1}
    assert store.exists("bull:shop:p", "bull:kitchen:c3", "bull:kitchen:c4", "bull:kitchen:c5") == 4
    node.run("await keep.job.moveToCompleted(1, 't', false);", url=server.url)
    entry = operations.remove(ANNA, SHOP, some("p"), state=None, children=True)
    assert (entry.outcomes["done"], audit.took_along(entry)) == (1, 3)
    assert list(store.scan_iter("bull:kitchen:c*")) == list(store.scan_iter("bull:shop:p*")) == []


@both_majors
def test_ac_07_a_parent_goes_on_without_its_failed_child_and_removing_no_children_says_so(
    major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    node.run(FAMILY, url=server.url, major=major, opts={})
    assert operations.remove(ANNA, SHOP, some("c1"), state=State.FAILED, children=False).outcomes == {"done": 1}
    entry = operations.remove_children(ANNA, JobRef(KITCHEN, b"p"))
    assert entry.outcomes == {"already": 1}
    assert "waits for no children" in why(entry)
    node.run(WHOLE, url=server.url, major=major)


def test_ac_08_jobs_are_as_old_as_the_clock_that_was_named_says_and_all_go(server: Server, store: redis.Redis) -> None:
    now, hour = int(time.time() * 1000), 3_600_000
    for name, made, due in (("week", now - 2 * hour, now + 168 * hour), ("minute", now, now + 60_000)):
        put(store, name, "delayed", timestamp=str(made))
        store.zadd("bull:shop:delayed", {name: due * 4096})
    entry = to_its_end(operations.clean(ANNA, SHOP, State.DELAYED, clock=Clock.DUE, older_ms=hour))
    assert (entry.outcomes, len(places(store)["delayed"])) == ({}, 2)
    entry = to_its_end(operations.clean(ANNA, SHOP, State.DELAYED, clock=Clock.CREATED, older_ms=hour))
    assert (entry.outcomes, places(store)["delayed"]) == ({"done": 1}, [b"minute"])
    pipe = store.pipeline(transaction=False)
    for name in names("c", 2_500):
        pipe.hset(f"bull:shop:{name}", mapping={"name": "x", "data": "{}", "opts": "{}", "timestamp": now - hour})
        pipe.zadd("bull:shop:completed", {name: now - hour})
    pipe.execute()
    entry = to_its_end(operations.clean(ANNA, SHOP, State.COMPLETED, clock=Clock.FINISHED, older_ms=60_000))
    assert entry.outcomes == {"done": 2_500}


ARMED = """
const q = queue(args.major, "shop");
for (const id of ["s1", "s2"]) await q.upsertJobScheduler(id, { pattern: "0 0 29 2 *" }, { name: "tick" });
if (args.major === 5) await q.add("classic", {}, { repeat: { pattern: "0 0 29 2 *" } });
await q.addBulk(["a", "b", "c", "d", "e"].map((id) => ({ name: "x", data: {}, opts: { jobId: id, delay: 3600000 } })));
return (await q.getDelayed()).map((job) => job.id).filter((id) => id.startsWith("repeat:")).sort();
"""


@both_majors
def test_ac_09_armed_runs_are_kept_and_counted_and_a_selection_goes_without_them(
    major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    armed = cast(list[str], node.run(ARMED, url=server.url, major=major))
    alone = operations.remove(ANNA, SHOP, some(armed[-1]), state=State.DELAYED, children=False)
    assert alone.outcomes == {"scheduled": 1}
    picked = operations.remove(ANNA, SHOP, some("a", armed[0], "b", "c"), state=State.DELAYED, children=False)
    assert (picked.outcomes, odd(picked)) == ({"done": 3, "scheduled": 1}, {armed[0]: "scheduled"})
    rest = to_its_end(operations.clean(ANNA, SHOP, State.DELAYED, clock=Clock.CREATED, older_ms=-1_000))
    assert rest.outcomes == {"done": 2, "scheduled": len(armed)}
    assert [job.decode() for job in sorted(places(store)["delayed"])] == armed


STALE = """
const q = queue(args.major, "shop");
await q.add("b", {}, { jobId: "b", deduplication: { id: "order-1" } });
await redis.del("bull:shop:b");
await redis.lrem("bull:shop:wait", 0, "b");
"""


@both_majors
def test_ac_10_a_stale_deduplication_id_is_released_and_jobs_come_again(
    major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    node.run(STALE, url=server.url, major=major)
    entry = operations.release_deduplication(ANNA, SHOP, b"order-1")
    assert entry.outcomes == {"done": 1}
    assert operations.release_deduplication(ANNA, SHOP, b"order-1").outcomes == {"already": 1}
    add = 'await queue(args.major, "shop").add("c", {}, { jobId: "c", deduplication: { id: "order-1" } });'
    node.run(add, url=server.url, major=major)
    assert operations.release_deduplication(ANNA, SHOP, b"order-1").outcomes == {"wrong-state": 1}
    assert finished(node, server.url, major, 1) == ["c"]
