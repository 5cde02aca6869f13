"""Whether jobs that wait for their children wait in vain, by some of the children of each."""

from __future__ import annotations

import pytest
import redis

from queues.backends.bullmq import waits
from queues.backends.bullmq.reader import BullMQ
from queues.types import JobRef, QueueRef, Waits
from tests.seed import seed_job
from tests.valkey import RedisCommands

SHOP = QueueRef("main", b"bull", b"shop")
MAIL = QueueRef("main", b"bull", b"mail")


def children(store: redis.Redis, parent: str, *, failed: int = 0, gone: int = 0, going: int = 0) -> JobRef:
    """A job that waits for so many children in another queue."""
    seed_job(store, SHOP, parent)
    store.zadd("bull:shop:waiting-children", {parent: 1})
    for number in range(failed + going):
        child = f"{parent}-{number}"
        ended: dict[str, str | int] = {"finishedOn": 1, "failedReason": "no"} if number < failed else {}
        seed_job(store, MAIL, child, **ended)
        store.sadd(f"bull:shop:{parent}:dependencies", f"bull:mail:{child}")
    for number in range(gone):
        store.sadd(f"bull:shop:{parent}:dependencies", f"bull:mail:{parent}-gone-{number}")
    return JobRef(SHOP, parent.encode())


def test_a_job_waits_in_vain_when_all_its_children_have_ended_or_are_gone(store: redis.Redis, bullmq: BullMQ) -> None:
    vain, hopeful = children(store, "vain", failed=2, gone=1), children(store, "hopeful", failed=2, going=1)
    free = children(store, "free")
    found = bullmq.waits([vain, hopeful, free])
    assert found == {vain: Waits(3, 3, 3), hopeful: Waits(3, 3, 2), free: Waits(0, 0, 0)}
    assert [job.id for job in found if found[job].in_vain] == [b"vain"]


def test_of_many_children_some_are_looked_at(store: redis.Redis, bullmq: BullMQ, redis_commands: RedisCommands) -> None:
    many = children(store, "many", failed=300)
    bullmq.waits([many])
    with redis_commands(max=2 + waits.SAMPLE):
        found = bullmq.waits([many])
    assert found[many] == Waits(300, waits.SAMPLE, waits.SAMPLE)
    assert found[many].in_vain


@pytest.mark.parametrize("kind", ["string", "list"])
def test_what_is_no_child_at_all_is_taken_for_one_that_goes_on(kind: str, store: redis.Redis, bullmq: BullMQ) -> None:
    odd = children(store, "odd", failed=1)
    store.sadd("bull:shop:odd:dependencies", "strange")
    if kind == "string":
        store.set("strange", "x")
    else:
        store.lpush("strange", "x")
    assert not bullmq.waits([odd])[odd].in_vain


def test_a_key_of_another_kind_costs_only_its_job(store: redis.Redis, bullmq: BullMQ) -> None:
    good = children(store, "good", failed=1)
    store.set("bull:shop:bad:dependencies", "x")
    bad = JobRef(SHOP, b"bad")
    assert bullmq.waits([bad, good]) == {bad: Waits(0, 0, 0), good: Waits(1, 1, 1)}
    assert bullmq.waits([]) == {}
