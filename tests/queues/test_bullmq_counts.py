"""Counts over pauses, upgrades, prefixes and mixed fleets, written by the real library of each major."""

from __future__ import annotations

import time

import pytest
import redis

from queues.backends.bullmq.reader import BullMQ
from queues.errors import NotFound
from queues.types import Layout, Oldest, Order, QueueRef, State
from tests.node import Node
from tests.seed import seed_job, seed_many, seed_queue
from tests.valkey import RedisCommands, Server

SHOP = QueueRef("main", b"bull", b"shop")


def _depth(bullmq: BullMQ) -> tuple[int | None, int | None, bool]:
    counts = bullmq.counts([SHOP])[SHOP]
    return counts[State.WAITING], counts[State.PRIORITIZED], counts.paused


def test_the_depth_is_the_same_before_during_and_after_a_pause(
    bullmq: BullMQ, node: Node, server: Server, major: int
) -> None:
    def step(body: str) -> None:
        node.run(f'const q = queue(args.major, "shop"); {body}', url=server.url, major=major)

    step('await q.add("a", {}); await q.add("b", {}, { priority: 3 });')
    assert _depth(bullmq) == (1, 1, False)
    step("await q.pause();")
    assert _depth(bullmq) == (1, 1, True)
    step('await q.add("c", {}); await q.add("d", {}, { priority: 3 });')
    assert _depth(bullmq) == (2, 2, True)
    assert bullmq.counts([SHOP])[SHOP].parked == 0
    assert len(bullmq.jobs(SHOP, [State.WAITING]).rows) == 2
    step("await q.resume();")
    assert _depth(bullmq) == (2, 2, False)


def test_jobs_parked_by_5x_stay_visible_under_6x_with_a_note(bullmq: BullMQ, node: Node, server: Server) -> None:
    node.run(
        """
        const old = queue(5, "shop");
        await old.waitUntilReady(); await old.pause();
        await old.add("parked", {}, { jobId: "p1" }); await old.add("parked", {}, { jobId: "p2" });
        const q = queue(6, "shop");
        await q.waitUntilReady(); await q.add("new", {}, { jobId: "n" });
        await until(async () => (await redis.hget("bull:shop:meta", "version")).startsWith("bullmq:6"));
        """,
        url=server.url,
    )
    counts = bullmq.counts([SHOP])[SHOP]
    assert (counts[State.WAITING], counts.parked, counts.paused) == (3, 2, True)
    assert {row.ref.id for row in bullmq.jobs(SHOP, [State.WAITING]).rows} == {b"p1", b"p2", b"n"}
    assert [hit.state for hit in bullmq.find([SHOP], b"p1")] == [State.WAITING]
    info = bullmq.queue(SHOP)
    assert info.layout is Layout.V6
    assert "5.x" in info.versions_note
    assert any(note.startswith("2 waiting jobs are parked") for note in info.notes)
    node.run('await queue(6, "shop").resume();', url=server.url)
    counts = bullmq.counts([SHOP])[SHOP]
    assert (counts[State.WAITING], counts.parked, counts.paused) == (3, 0, False)


def test_a_paused_list_left_on_a_running_queue_is_parked(bullmq: BullMQ, store: redis.Redis) -> None:
    seed_queue(store, "shop", waiting=1, parked=3, version="bullmq:5.81.5")
    counts = bullmq.counts([SHOP])[SHOP]
    assert (counts[State.WAITING], counts.parked) == (4, 3)
    assert bullmq.queue(SHOP).notes


def test_four_queues_of_one_name_under_four_prefixes_are_four_queues(
    bullmq: BullMQ, node: Node, server: Server, major: int
) -> None:
    prefixes = ["tenant-a", "tenant-b", "app:prod", "{bull}"]
    node.run(
        """
        for (const [number, prefix] of args.prefixes.entries()) {
          const q = queue(args.major, "emails", { prefix });
          for (let i = 0; i <= number; i += 1) await q.add(prefix, {}, { jobId: `${prefix.replace(":", "-")}-${i}` });
        }
        """,
        url=server.url,
        major=major,
        prefixes=prefixes,
    )
    refs = [QueueRef("main", prefix.encode(), b"emails") for prefix in prefixes]
    assert {queue for _seen, found in bullmq.discover() for queue in found} == set(refs)
    counts = bullmq.counts(refs)
    assert [counts[ref][State.WAITING] for ref in refs] == [1, 2, 3, 4]
    for ref in refs:
        assert {str(row.name) for row in bullmq.jobs(ref, [State.WAITING]).rows} == {ref.prefix.decode()}
    assert len({ref.slug for ref in refs}) == 4
    assert [hit.ref.queue for hit in bullmq.find(refs, b"app-prod-0")] == [refs[2]]


def test_meta_tells_limits_version_and_that_nobody_wrote_one(
    bullmq: BullMQ, node: Node, server: Server, store: redis.Redis
) -> None:
    node.run(
        'const q = queue(6, "shop"); await q.setGlobalConcurrency(3); await q.setGlobalRateLimit(10, 60000);',
        url=server.url,
    )
    counts = bullmq.counts([SHOP])[SHOP]
    assert (counts.concurrency, counts.rate_max, counts.rate_duration_ms) == (3, 10, 60_000)
    store.hdel("bull:shop:meta", "version")
    assert bullmq.counts([SHOP])[SHOP].version == ""
    info = bullmq.queue(SHOP)
    assert (info.layout, bool(info.versions_note)) == (Layout.UNKNOWN, True)


@pytest.mark.parametrize(("version", "wait", "note"), [
    ("bullmq:4.18.3", "1", "5.x or newer"),
    ("bullmq:5.81.5", "0:1700000000000", "4.x works"),
    ("bullmq:6.7.0", "1", ""),
    ("bullmq-pro:7.1.0", "1", ""),
])  # fmt: skip
def test_keys_that_contradict_the_version_are_named(
    bullmq: BullMQ, store: redis.Redis, version: str, wait: str, note: str
) -> None:
    seed_queue(store, "shop", version=version)
    store.rpush("bull:shop:wait", wait)
    store.zadd("bull:shop:marker", {"0": 0})
    info = bullmq.queue(SHOP)
    assert (note in info.versions_note) if note else info.versions_note == ""


# MT-05
def test_the_oldest_waiting_job_is_told_as_far_as_the_ends_tell(bullmq: BullMQ, store: redis.Redis) -> None:
    def oldest(**ends: list[tuple[str, int]]) -> tuple[int, bool] | None:
        store.flushall()
        seed_queue(store, "shop")
        for collection, jobs in ends.items():
            for place, (job, created) in enumerate(jobs):
                seed_job(store, SHOP, job, timestamp=created)
                if collection == "prioritized":
                    store.zadd("bull:shop:prioritized", {job: place})
                else:
                    store.lpush(f"bull:shop:{collection}", job)
        found = bullmq.counts([SHOP])[SHOP].oldest
        return (found.created_ms, found.at_least) if found else None

    assert oldest() is None
    assert oldest(wait=[("a", 100)]) == (100, False)
    assert oldest(wait=[("a", 100), ("b", 200), ("c", 300)]) == (100, False)
    assert oldest(wait=[("a", 300), ("b", 100)]) == (100, True)  # LIFO: the head is older
    assert oldest(prioritized=[("a", 100)]) == (100, True)
    assert oldest(wait=[("a", 200)], prioritized=[("b", 100)]) == (100, True)
    assert oldest(paused=[("a", 100), ("b", 200)]) == (100, False)
    assert oldest(wait=[("a", 200)], paused=[("b", 100)]) == (100, True)


AGO = 3 * 86_400_000  # three days


@pytest.mark.parametrize(
    ("fields", "waits_since"),
    [
        ({}, 1000),
        ({"atm": 0, "ats": 0, "stacktrace": "[]"}, 1000),
        ({"atm": 3, "ats": 3}, None),
        ({"attemptsMade": 1}, None),  # 4.x
        ({"ats": 1}, None),  # stalled
        ({"atm": 0, "stacktrace": '["Error: x"]'}, None),  # replayed with its counters set back
        ({"opts": '{"attempts":3,"backoff":{"type":"fixed","delay":500}}'}, 1000),
        ({"opts": f'{{"delay":{AGO}}}'}, 1000 + AGO),
        ({"opts": f'{{"attempts":0,"delay": {AGO}.0}}'}, 1000 + AGO),
        ({"opts": '{"delay":null,"x":{"delay":5}}'}, None),
        ({"opts": '{"delay":5'}, None),
        ({"opts": '{"delay":-5,"x":{"delay":5}}'}, None),
        ({"opts": '{"delay":1e300}'}, None),
        ({"opts": '{"x":"' + "y" * 5000 + '"}'}, None),
    ],
)
@pytest.mark.parametrize("state", ["wait", "paused", "prioritized"])
def test_only_a_job_that_never_ran_tells_since_when_something_waits(
    bullmq: BullMQ, store: redis.Redis, fields: dict[str, str | int], waits_since: int | None, state: str
) -> None:
    seed_queue(store, "shop")
    seed_job(store, SHOP, "1", timestamp=1000, **fields)
    if state == "prioritized":
        store.zadd("bull:shop:prioritized", {"1": 0})
    else:
        store.lpush(f"bull:shop:{state}", "1")
    found = bullmq.counts([SHOP])[SHOP].oldest
    assert found is not None
    assert (found.created_ms, found.since_ms) == (1000, waits_since)


def test_a_job_that_waited_for_its_children_does_not_tell_since_when_it_waits(
    bullmq: BullMQ, store: redis.Redis
) -> None:
    seed_queue(store, "shop")
    seed_job(store, SHOP, "1", timestamp=1000)
    store.hset("bull:shop:1:processed", "bull:shop:child", "7")
    store.lpush("bull:shop:wait", "1")
    assert bullmq.counts([SHOP])[SHOP].oldest == Oldest(1000, at_least=False, since_ms=None)


def test_a_young_job_is_not_looked_at_more_closely(bullmq: BullMQ, store: redis.Redis) -> None:
    created = int(time.time() * 1000) - 1000
    seed_queue(store, "shop")
    seed_job(store, SHOP, "1", timestamp=created, ats=1)
    store.lpush("bull:shop:wait", "1")
    assert bullmq.counts([SHOP])[SHOP].oldest == Oldest(created, at_least=False, since_ms=created)


# MT-05
def test_a_replayed_job_does_not_hide_since_when_the_others_wait(bullmq: BullMQ, store: redis.Redis) -> None:
    other = QueueRef("main", b"bull", b"other")
    for queue in (SHOP, other):
        seed_queue(store, queue.name.decode())
    seed_job(store, SHOP, "old", timestamp=1000, ats=1)
    seed_job(store, SHOP, "new", timestamp=5000)
    seed_job(store, other, "1", timestamp=2000)
    store.lpush("bull:shop:wait", "old", "new")
    store.lpush("bull:other:wait", "1")
    counts = bullmq.counts([SHOP, QueueRef("main", b"bull", b"empty"), other])
    assert counts[SHOP].oldest == Oldest(1000, at_least=False, since_ms=5000)
    assert counts[other].oldest == Oldest(2000, at_least=False, since_ms=2000)


# MT-05
def test_a_job_that_the_library_replays_is_not_taken_for_one_that_has_waited_since_its_creation(
    bullmq: BullMQ, node: Node, server: Server, major: int
) -> None:
    node.run(
        """
        const q = queue(args.major, "shop");
        const job = await q.add("a", {}, { timestamp: Date.now() - 3 * 86400000 });
        const w = worker(args.major, "shop", async () => { throw new Error("no"); });
        await until(async () => (await q.getJobCounts("failed")).failed === 1);
        await w.close();
        await (await q.getJob(job.id)).retry();
        """,
        url=server.url,
        major=major,
    )
    oldest = bullmq.counts([SHOP])[SHOP].oldest
    assert oldest is not None
    assert oldest.since_ms is None


def test_a_waiting_job_without_hash_or_timestamp_leaves_the_age_unknown(bullmq: BullMQ, store: redis.Redis) -> None:
    store.lpush("bull:shop:wait", "gone")
    assert bullmq.counts([SHOP])[SHOP].oldest is None
    seed_job(store, SHOP, "gone", timestamp="9" * 5000)
    assert bullmq.counts([SHOP])[SHOP].oldest is None


def test_a_queue_without_keys_does_not_exist(bullmq: BullMQ, store: redis.Redis) -> None:
    assert not bullmq.counts([SHOP])[SHOP].exists
    with pytest.raises(NotFound):
        bullmq.queue(SHOP)
    seed_queue(store, "shop", version="")
    assert bullmq.counts([SHOP])[SHOP].exists
    assert bullmq.queue(SHOP).counts.by_state == dict.fromkeys(State, 0)


def test_counts_of_many_queues_take_two_calls_for_every_125(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    queues = seed_many(store, 600, waiting=2, failed=1)
    with redis_commands(max=10):
        counts = bullmq.counts(queues)
    assert {(found[State.WAITING], found[State.FAILED]) for found in counts.values()} == {(2, 1)}
    assert set(counts) == set(queues)
    assert bullmq.counts([]) == {}


def test_the_page_of_a_queue_takes_three_calls(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    seed_queue(store, "shop", waiting=10, delayed=10)
    store.xadd("bull:shop:events", {"failedReason": "x" * 1_000_000}, id="1700000000000-0")
    with redis_commands(max=3):
        info = bullmq.queue(SHOP)
    assert (info.first_event_ms, info.last_event_ms, info.events_length) == (1_700_000_000_000, 1_700_000_000_000, 1)
    assert info.last_job_id == 20


def test_delayed_jobs_past_their_time_are_due(bullmq: BullMQ, store: redis.Redis) -> None:
    seed_queue(store, "shop")
    now = int(store.time()[0]) * 1000
    store.zadd(
        "bull:shop:delayed", {"a": (now - 5000) * 4096 + 4095, "b": (now - 1) * 4096, "c": (now + 60_000) * 4096}
    )
    info = bullmq.queue(SHOP)
    assert (info.due_now, info.next_delayed_ms) == (2, now - 5000)


@pytest.mark.parametrize(("limiter", "global_max", "limited"), [
    (str(2**53 - 1), None, True), ("10", "10", True), ("9", "10", False), ("9", None, False), ("junk", None, False),
])  # fmt: skip
def test_a_rate_limit_is_told_only_where_the_keys_prove_it(
    bullmq: BullMQ, store: redis.Redis, limiter: str, global_max: str | None, limited: bool
) -> None:
    seed_queue(store, "shop")
    store.set("bull:shop:limiter", limiter, px=60_000)
    if global_max:
        store.hset("bull:shop:meta", "max", global_max)
    info = bullmq.queue(SHOP)
    assert (info.limited_for_ms is not None) is limited
    assert bool(info.notes) == (limiter == "9" and global_max is None)


def test_the_oldest_order_of_waiting_is_the_order_in_which_the_library_takes_jobs(
    bullmq: BullMQ, node: Node, server: Server, major: int
) -> None:
    node.run(
        """
        const q = queue(args.major, "shop");
        for (const id of ["a", "b", "c"]) await q.add(id, {}, { jobId: id });
        await q.add("first", {}, { jobId: "first", lifo: true });
        """,
        url=server.url,
        major=major,
    )
    listed = [row.ref.id.decode() for row in bullmq.jobs(SHOP, [State.WAITING], order=Order.OLDEST).rows]
    taken = node.run(
        """
        const seen = [];
        worker(args.major, "shop", async (job) => { seen.push(job.id); });
        await until(() => seen.length === 4);
        return seen;
        """,
        url=server.url,
        major=major,
    )
    assert listed == taken == ["first", "a", "b", "c"]
