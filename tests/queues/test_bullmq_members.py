"""Which jobs are meant by "all that match", and exact copies of jobs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import cast

import pytest
import redis

from queues.actions import Target
from queues.backends.bullmq.actions import BullMQActions
from queues.errors import LimitExceeded
from queues.types import QueueRef, State
from tests.seed import seed_job, seed_queue

SHOP = QueueRef("main", b"bull", b"shop")


def all_members(
    operating: BullMQActions,
    state: State,
    *,
    until_ms: int,
    name: str = "",
    most: int = 10,
    between: Callable[[], object] = lambda: None,
) -> list[Target]:
    found: list[Target] = []
    cursor: str | None = ""
    while cursor is not None:
        part = operating.members(SHOP, state, cursor=cursor, until_ms=until_ms, name=name, most=most)
        assert part.scanned <= most
        found += part.targets
        cursor = part.cursor
        between()
    return found


def now_ms() -> int:
    return int(time.time() * 1000)


def test_finished_jobs_are_those_that_had_ended_before_with_their_scores(
    store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop", failed=100)
    until = int(cast(list[tuple[bytes, float]], store.zrange("bull:shop:failed", 59, 59, withscores=True))[0][1])
    found = all_members(operating, State.FAILED, until_ms=until)
    assert [one.id for one in found] == [b"%d" % n for n in range(1, 61)]
    assert found[-1].seen == b"%d" % until


@pytest.mark.parametrize(
    "state", [State.DELAYED, State.PRIORITIZED, State.WAITING_CHILDREN, State.WAITING, State.ACTIVE]
)
def test_other_jobs_are_those_that_were_made_before(state: State, store: redis.Redis, operating: BullMQActions) -> None:
    now = now_ms()
    seed_queue(store, "shop", **{state.value.replace("-", "_"): 100}, until_ms=now)  # type: ignore[arg-type]
    found = all_members(operating, state, until_ms=now - 49_500)
    assert sorted(int(one.id) for one in found) == list(range(1, 51))
    assert all(one.seen for one in found)


def test_a_part_of_a_name_in_any_case_chooses(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", failed=90, waiting=90, names=("Größe senden", "render", "charge"))
    for state in (State.FAILED, State.WAITING):
        found = all_members(operating, state, until_ms=now_ms() + 10_000, name="GRÖSSE")
        assert len(found) == 30


def test_jobs_of_one_score_are_all_found_although_those_found_go(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", failed=60)
    store.zadd("bull:shop:failed", {str(n): 1000 for n in range(1, 61)})
    removed = itertools.count()

    def removing() -> None:
        store.zrem("bull:shop:failed", *cast(list[bytes], store.zrange("bull:shop:failed", 0, 2)))
        next(removed)

    found = all_members(operating, State.FAILED, until_ms=2000, most=7, between=removing)
    assert len({one.id for one in found}) >= 60 - 3 * next(removed)
    assert len(found) == len({one.id for one in found})


def test_jobs_of_one_score_are_all_found_although_the_last_one_found_goes(
    store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop", failed=60)
    store.zadd("bull:shop:failed", {str(n): 1000 for n in range(1, 61)})
    found, cursor = list[bytes](), cast("str | None", "")
    while cursor is not None:
        part = operating.members(SHOP, State.FAILED, cursor=cursor, until_ms=2000, most=7)
        found += [one.id for one in part.targets]
        cursor = part.cursor
        store.zrem("bull:shop:failed", found[-1])
    assert sorted(int(one) for one in found) == list(range(1, 61))


def test_nothing_of_a_list_is_passed_over_while_jobs_come_and_go(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=500)
    until = now_ms() + 1
    numbers = itertools.count(1)

    def others() -> None:
        for command in (store.lpush, store.lpush, store.rpush):
            job = f"new-{next(numbers)}"
            seed_job(store, SHOP, job, timestamp=until + 10)
            command("bull:shop:wait", job)

    found = all_members(operating, State.WAITING, until_ms=until, between=others)
    assert [one.id for one in found] == [b"%d" % n for n in range(500, 0, -1)]


def test_the_rest_of_a_list_is_found_while_what_was_found_is_removed_and_workers_take_the_oldest(
    store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop", waiting=500)
    until, found, taken = now_ms() + 1, list[bytes](), set[bytes]()
    cursor: str | None = ""
    while cursor is not None:
        part = operating.members(SHOP, State.WAITING, cursor=cursor, until_ms=until, most=20)
        operating.remove(SHOP, part.targets, state=State.WAITING, children=False)
        found += [one.id for one in part.targets]
        if job := cast("bytes | None", store.rpop("bull:shop:wait")):
            taken.add(job)
        cursor = part.cursor
    assert {*found} | taken == {b"%d" % n for n in range(1, 501)}
    assert len(found) == len({*found})


def test_both_lists_of_waiting_jobs_are_walked(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=25, parked=25, paused=True)
    store.lpush("bull:shop:wait", "0:0")
    assert len(all_members(operating, State.WAITING, until_ms=now_ms() + 1)) == 50


def test_a_queue_that_is_gone_has_no_members_and_more_than_a_batch_is_refused(operating: BullMQActions) -> None:
    assert all_members(operating, State.WAITING, until_ms=1) == all_members(operating, State.FAILED, until_ms=1) == []
    with pytest.raises(LimitExceeded):
        operating.members(SHOP, State.FAILED, until_ms=1, most=1_001)


def test_copies_are_exact_and_as_many_as_fit(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop")
    odd = {b"name": b"\xff\x00", b"data": b'{"a": "\xf0"}', b"": b"x"}
    store.hset("bull:shop:odd", mapping=odd)  # type: ignore[arg-type]
    store.rpush("bull:shop:odd:logs", b"one\xff", "two")
    seed_job(store, SHOP, "big", data="x" * 2_000_000)
    seed_job(store, SHOP, "small")
    store.set("bull:shop:text", "no job")
    ids = [b"odd", b"big", b"small", b"nobody", b"text"]
    found = operating.stored(SHOP, ids, most=1_000_000)
    assert {*found} == {b"odd", b"small"}
    assert found[b"odd"].fields == odd
    assert found[b"odd"].logs == [b"one\xff", b"two"]
    everything = operating.stored(SHOP, ids, most=3_000_000)
    assert len(everything[b"big"].fields[b"data"]) == 2_000_000
    assert operating.stored(SHOP, ids, most=0) == {}
