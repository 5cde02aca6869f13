"""Looking for the deduplication ids that stand in the keys of a queue."""

from __future__ import annotations

import time

import pytest
import redis

from queues.actions import Outcome
from queues.backends.bullmq import deduplication
from queues.backends.bullmq.actions import BullMQActions
from queues.backends.bullmq.reader import BullMQ
from queues.errors import BadInput
from queues.types import JobRef, QueueRef, State
from tests.node import Node
from tests.seed import seed_queue
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
ADD = """
const q = queue(args.major, "shop");
await q.add("job", {}, { jobId: "waits", deduplication: { id: "one" } });
await q.add("job", {}, { jobId: "lost", deduplication: { id: "two" } });
await q.add("job", {}, { jobId: "timed", deduplication: { id: "three", ttl: 3600000 } });
await redis.del("bull:shop:lost");
"""


@pytest.mark.parametrize("major", [5, 6])
def test_each_id_tells_its_holder_where_that_is_and_whether_it_is_stale(
    major: int, node: Node, server: Server, store: redis.Redis, bullmq: BullMQ
) -> None:
    node.run(ADD, url=server.url, major=major)
    found = bullmq.held(SHOP)
    by_id = {held.id: held for held in found.ids}
    assert set(by_id) == {b"one", b"two", b"three"}
    assert {name for name, held in by_id.items() if held.stale} == {b"two"}
    one, two, three = by_id[b"one"], by_id[b"two"], by_id[b"three"]
    assert (one.holder, one.state, one.gone, one.over) == (JobRef(SHOP, b"waits"), State.WAITING, False, False)
    assert one.added_ms == int(store.hget("bull:shop:waits", "timestamp") or 0)
    assert (two.holder.id, two.gone, two.ttl_ms, two.added_ms) == (b"lost", True, None, None)
    assert three.ttl_ms is not None
    assert 0 < three.ttl_ms <= 3_600_000
    assert (found.looked, found.cursor) == (found.total, None)


def test_an_id_of_a_job_that_has_ended_is_stale_only_without_a_time_to_live(store: redis.Redis, bullmq: BullMQ) -> None:
    seed_queue(store, "shop", failed=1, completed=1)
    store.set("bull:shop:de:failed", "1")
    store.set("bull:shop:de:completed", "2", px=600_000)
    store.hset("bull:shop:7", mapping={"name": "n", "timestamp": "1"})
    store.set("bull:shop:de:nowhere", "7")
    told = {held.id: (held.over, held.stale) for held in bullmq.held(SHOP).ids}
    assert told == {b"failed": (True, True), b"completed": (True, False), b"nowhere": (True, True)}


def test_it_is_said_where_a_further_job_waits_for_the_holder(store: redis.Redis, bullmq: BullMQ) -> None:
    seed_queue(store, "shop")
    store.mset({"bull:shop:de:one": "gone", "bull:shop:de:two": "gone"})
    store.hset("bull:shop:dn:one", mapping={"name": "n", "data": "{}", "opts": "{}"})
    assert {held.id: held.follows for held in bullmq.held(SHOP).ids} == {b"one": True, b"two": False}


def test_looking_at_an_id_is_not_taken_for_asking_for_it_where_the_server_can_tell(
    store: redis.Redis, bullmq: BullMQ
) -> None:
    seed_queue(store, "shop")
    store.set("bull:shop:de:one", "gone")
    time.sleep(2.1)  # the server counts whole seconds
    [first] = bullmq.held(SHOP).ids
    again = bullmq.held(SHOP)
    assert first.idle_ms is not None
    assert first.idle_ms >= 1_000
    [later] = again.ids
    if again.touches:
        assert later.idle_ms == 0
    else:
        assert (later.idle_ms or 0) >= first.idle_ms


def test_a_look_is_bounded_and_goes_on_where_it_ended(
    store: redis.Redis, bullmq: BullMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deduplication, "MOST_KEYS", 1_000)
    seed_queue(store, "shop")
    store.mset({f"other:{number}": "x" for number in range(5_000)})
    store.mset({f"bull:shop:de:{number}": "gone" for number in range(20)})
    ids: set[bytes] = set()
    cursor, looks, looked = "", 0, 0
    while True:
        found = bullmq.held(SHOP, cursor=cursor)
        ids |= {held.id for held in found.ids}
        assert looked < found.looked <= found.total
        looks, looked = looks + 1, found.looked
        if found.cursor is None:
            break
        cursor = found.cursor
    assert len(ids) == 20
    assert looks >= 5
    assert looked == found.total


@pytest.mark.parametrize("cursor", ["x", "1", "-1.0", "1.1.1", "99999999999999999999.1", "1.1\n", "²."])
def test_a_cursor_that_is_none_of_ours_is_refused(cursor: str, store: redis.Redis, bullmq: BullMQ) -> None:
    with pytest.raises(BadInput):
        bullmq.held(SHOP, cursor=cursor)


def test_names_are_bytes_and_no_patterns(store: redis.Redis, bullmq: BullMQ) -> None:
    odd = QueueRef("main", b"a*[b]", b"q?\\^-x\xff\n")
    start = b"a*[b]:q?\\^-x\xff\n:de:"
    store.mset({start + b"*\xfe:\xff": b"\xff\xfe\x80", b"aXb:qY\\^-x\xff\n:de:other": "1"})
    store.set(start + b"empty", "")
    store.lpush(start + b"list", "1")
    assert {held.id: held.holder.id for held in bullmq.held(odd).ids} == {
        b"*\xfe:\xff": b"\xff\xfe\x80",
        b"empty": b"",
    }


def test_the_same_name_under_another_prefix_is_another_queue(store: redis.Redis, bullmq: BullMQ) -> None:
    """LS-08."""
    store.mset({"tenant-a:shop:de:one": "1", "bull:shop:de:two": "2", "{bull}:shop:de:three": "3"})
    for prefix, name in ((b"tenant-a", b"one"), (b"bull", b"two"), (b"{bull}", b"three")):
        assert [held.id for held in bullmq.held(QueueRef("main", prefix, b"shop")).ids] == [name]


def test_the_counters_and_locks_of_a_queue_called_de_are_no_ids_of_its_neighbour(
    store: redis.Redis, bullmq: BullMQ, operating: BullMQActions
) -> None:
    """LS-08: `bull:shop` may be a prefix, and `de` a queue's name."""
    its = {b"id": "7", b"pc": "7", b"7:lock": "token", b"mirante:token": "7", b"de:order-1": "7"}
    store.mset({b"bull:shop:de:" + name: value for name, value in its.items()})
    store.set("bull:shop:de:order-2", "gone")
    store.hset("bull:shop:de:meta", "version", "bullmq:6.7.0")
    assert [held.id for held in bullmq.held(SHOP).ids] == [b"order-2"]
    for name in its:
        assert operating.release_deduplication(SHOP, name).outcome is Outcome.ALREADY
    assert store.exists(*(b"bull:shop:de:" + name for name in its)) == len(its)
    assert operating.release_deduplication(SHOP, b"order-2").outcome is Outcome.DONE
