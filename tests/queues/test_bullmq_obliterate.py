"""Removing a whole queue: nothing of it is left, nothing else is touched, and what was begun can go on."""

from __future__ import annotations

from typing import cast

import pytest
import redis

from queues.backends.bullmq.actions import BullMQActions
from queues.backends.bullmq.pace import Pace
from queues.errors import Unsupported, WrongState
from queues.types import QueueRef
from tests.node import Node
from tests.queues.sweeping import to_the_end
from tests.seed import seed_queue
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
EVENTS = "bull:shop:events"


def obliterated(operating: BullMQActions, *, force: bool = False, queue: QueueRef = SHOP) -> int:
    return to_the_end(lambda at: operating.obliterate(queue, force=force, cursor=at))[0]


def keys(store: redis.Redis, pattern: str = "*") -> list[bytes]:
    return sorted(cast(list[bytes], store.keys(pattern)))


ALL_KINDS = """
const q = queue(args.major, "shop", { streams: { events: { maxLen: 500 } } });
const w = worker(args.major, "shop", async (job) => {
  await job.log("line");
  if (job.name === "bad") throw new Error("no");
}, { metrics: { maxDataPoints: 100 } });
await q.addBulk([{ name: "good", data: {} }, { name: "bad", data: {} }]);
await until(async () => (await q.getFailedCount()) + (await q.getCompletedCount()) === 2);
await w.close();
await q.upsertJobScheduler("s1", { every: 3600000 }, { name: "tick" });
await q.upsertJobScheduler("s2", { pattern: "0 0 1 1 *" }, { name: "tick" });
if (args.major === 5) await q.add("legacy", {}, { repeat: { pattern: "0 0 1 1 *" } });
await q.add("once", {}, { deduplication: { id: "order-1" } });
await q.add("later", {}, { delay: 3600000, deduplication: { id: "order-2", ttl: 3600000 } });
await q.add("urgent", {}, { priority: 3 });
await flow(args.major).add({ name: "parent", queueName: "shop", data: {}, opts: { jobId: "p" },
  children: [{ name: "child", queueName: "depot", data: {}, opts: { jobId: "c" } },
             { name: "own", queueName: "shop", data: {}, opts: { jobId: "o" } }] });
await flow(args.major).add({ name: "elsewhere", queueName: "office", data: {}, opts: { jobId: "boss" },
  children: [{ name: "here", queueName: "shop", data: {}, opts: { jobId: "h" } }] });
queue(args.major, "office");
await q.rateLimit?.(60000);
await queue(args.by, "shop").pause();
await q.add("parked", {}, {});
await sleep(50);
"""
AFTERWARDS = """
const ran = [];
worker(args.major, "depot", async (job) => { ran.push(job.id); });
worker(args.major, "office", async (job) => { ran.push(job.id); });
worker(args.major, "shop", async (job) => { ran.push(job.name); });
await queue(args.major, "shop").add("afresh", {});
await until(async () => ran.length === 3);
return ran.sort();
"""


@pytest.mark.parametrize("by", [5, 6])
@pytest.mark.parametrize("major", [5, 6])
def test_no_key_of_a_queue_is_left_and_other_queues_go_on(
    *, major: int, by: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(ALL_KINDS, url=server.url, major=major, by=by)
    jobs = obliterated(operating)
    assert jobs >= 9
    assert keys(store, "bull:shop:*") == []
    assert obliterated(operating) == 0, "twice is once"
    assert store.exists("bull:depot:c")
    assert node.run(AFTERWARDS, url=server.url, major=major) == ["afresh", "boss", "c"]


def test_an_open_queue_and_one_with_active_jobs_are_refused(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", active=2, waiting=3)
    before = keys(store)
    with pytest.raises(WrongState, match="paused"):
        obliterated(operating, force=True)
    store.hset("bull:shop:meta", "paused", 1)
    with pytest.raises(WrongState, match="active"):
        obliterated(operating)
    assert keys(store) == before


def test_force_takes_active_jobs_and_their_locks(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", active=2, paused=True)
    store.set("bull:shop:1:lock", "token")
    store.sadd("bull:shop:stalled", "1")
    assert obliterated(operating, force=True) == 2
    assert keys(store) == []


def test_a_deduplication_id_goes_although_a_job_holds_it_that_is_gone(
    store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop", waiting=1, paused=True)
    store.hset("bull:shop:1", "deid", "order-1")
    store.mset({"bull:shop:de:order-1": "gone", "bull:shop:dn:order-1": "{}"})
    assert obliterated(operating) == 1
    assert keys(store) == []


def test_what_was_begun_stays_paused_and_goes_on_at_any_time(
    store: redis.Redis, operating: BullMQActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pace, "took", lambda pace, count, ms: setattr(pace, "size", 10))
    seed_queue(store, "shop", waiting=100, delayed=100, completed=100, waiting_children=50, parked=50, paused=True)
    operating.obliterate(SHOP, force=False)
    operating.obliterate(SHOP, force=False)
    assert store.hexists("bull:shop:meta", "paused")
    store.lpush("bull:shop:wait", "late")
    assert obliterated(operating) == 401 - 110
    assert keys(store) == []


def test_a_queue_of_bullmq_4_is_refused_with_a_reason(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=1, paused=True, version="bullmq:4.18.3")
    with pytest.raises(Unsupported, match="BullMQ 4"):
        obliterated(operating)
    with pytest.raises(Unsupported, match="BullMQ 4"):
        operating.trim_events(SHOP, keep=1)


def test_namesakes_under_other_prefixes_keep_all_they_have(store: redis.Redis, operating: BullMQActions) -> None:
    prefixes = ("tenant-a", "tenant-b", "app:prod", "{bull}")
    refs = [seed_queue(store, "emails", prefix=one, waiting=5, failed=5, paused=True) for one in prefixes]
    for number, acted in enumerate(refs, 1):
        assert obliterated(operating, queue=acted) == 10
        left = [len(keys(store, f"{one}:*")) for one in prefixes]
        assert [count > 0 for count in left] == [False] * number + [True] * (4 - number)


def test_old_events_are_trimmed_to_about_what_is_kept(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop")
    store.eval("for i = 1, 25000 do redis.call('XADD', KEYS[1], '*', 'event', 'waiting', 'jobId', i) end", 1, EVENTS)
    done, _kept = to_the_end(lambda _at: operating.trim_events(SHOP, keep=500))
    assert done == 25_000 - store.xlen(EVENTS)
    assert 500 <= store.xlen(EVENTS) <= 700
    assert to_the_end(lambda _at: operating.trim_events(SHOP, keep=500))[0] == 0
