"""The index reads failed sets whole, goes on where it stopped, and follows every kind of change."""

# mypy: allow-untyped-calls

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import redis

from queues import failed
from queues.failures.desk import Desk
from queues.failures.index import SourceIndexer
from queues.failures.store import Lost, Store
from queues.models import Failure, FailureGroup, FailureSample
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.queues.following import know
from tests.queues.indexing import (
    compare_all,
    equal,
    fail,
    failed_event,
    in_index,
    indexer,
    key,
    on_server,
    progress,
    remove,
    retry,
    settle,
    state,
    sums_agree,
)
from tests.valkey import RedisCommands

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(valkey: redis.Redis, source: SourceConfig) -> QueueRef:
    return know(b"shop")[0]


class Killed(BaseException):
    """As if the process had been killed at this point."""


def test_all_that_has_failed_is_read_in_pages(
    valkey: redis.Redis, source: SourceConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failed, "PAGE", 40)
    small, large, empty = know(b"small", b"large", b"empty")
    fail(valkey, small, *range(30))
    fail(valkey, large, *range(333))
    one = indexer()
    settle(one)
    assert equal(valkey, small, large, empty)
    assert sums_agree()
    row = progress(large)
    assert (row.scanning, row.scanned, row.expected, row.error) == (False, 333, 333, "")
    assert row.compared_ms
    assert not progress(empty).scanning
    assert state().beat_at
    assert state().why == ""
    assert FailureSample.objects.exclude(payload="").exists()


def test_the_newest_are_read_first_and_every_queue_has_its_turn(
    valkey: redis.Redis, source: SourceConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failed, "PAGE", 10)
    small, large = know(b"small", b"large")
    fail(valkey, small, *range(8))
    fail(valkey, large, *range(200))
    one = indexer()
    pages: list[tuple[QueueRef, int]] = []
    add = Store.add

    def watched(store: Store, queue: QueueRef, found: list[object]) -> object:
        pages.append((queue, len(found)))
        return add(store, queue, found)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "add", watched)
    settle(one)
    assert pages[0][0] == small
    assert pages[1][0] == large
    assert equal(valkey, small, large)


def test_a_scan_that_is_killed_anywhere_goes_on_and_counts_nothing_twice(
    valkey: redis.Redis, source: SourceConfig, monkeypatch: pytest.MonkeyPatch, rng: random.Random
) -> None:
    monkeypatch.setattr(failed, "PAGE", 25)
    first, second = know(b"first", b"second")
    fail(valkey, first, *range(260))
    fail(valkey, second, *range(90))
    for epoch in range(1, 9):
        one = indexer(epoch=epoch)
        with monkeypatch.context() as patched:
            _kill_at(patched, rng.randrange(1, 12), rng.choice(["add", "progress", "gone_before", "stand"]))
            try:
                settle(one)
            except Killed:
                pass
        fail(valkey, first, f"late-{epoch}")
    one = indexer(epoch=20)
    settle(one)
    assert equal(valkey, first, second)
    assert sums_agree()
    assert Failure.objects.count() == 260 + 90 + 8


def _kill_at(patched: pytest.MonkeyPatch, number: int, method: str) -> None:
    left = [number]
    real: Callable[..., object] = getattr(Store, method)

    def call(*args: object, **fields: object) -> object:
        left[0] -= 1
        done = real(*args, **fields)
        if left[0] == 0:
            raise Killed  # before the transaction around it was committed
        return done

    patched.setattr(Store, method, call)


def test_newer_failures_are_read_while_older_ones_are_scanned(
    valkey: redis.Redis, shop: QueueRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failed, "PAGE", 20)
    fail(valkey, shop, *range(400))
    one = indexer()
    monkeypatch.setattr("queues.failures.index.source.ROUND_S", 0.0)
    monkeypatch.setattr("queues.failures.index.source.SourceIndexer._scan", lambda *_: False)
    one.step()
    monkeypatch.undo()
    monkeypatch.setattr(failed, "PAGE", 20)
    fail(valkey, shop, "new-1", "new-2")
    one.due_now()
    one.step()
    assert {b"new-1", b"new-2"} <= in_index(shop).keys()
    settle(one)
    assert equal(valkey, shop)


def test_every_kind_of_change_is_followed(valkey: redis.Redis, shop: QueueRef) -> None:
    fail(valkey, shop, *range(60))
    one = indexer()
    settle(one)
    total = Failure.objects.count()
    retry(valkey, shop, 3, 4, 5)
    remove(valkey, shop, 10, 11)
    settle(one)
    assert equal(valkey, shop)
    fail(valkey, shop, 3)
    settle(one)
    assert equal(valkey, shop)
    valkey.zremrangebyrank(key(shop, "failed"), 0, 19)
    settle(one)
    assert equal(valkey, shop)
    valkey.zremrangebyrank(key(shop, "failed"), 30, 33)
    settle(one)
    assert equal(valkey, shop)
    assert Failure.objects.count() == total + 1
    valkey.delete(key(shop, "failed"))
    settle(one)
    assert equal(valkey, shop)
    assert not Failure.objects.filter(present=True).exists()
    assert FailureGroup.objects.filter(total__gt=0).exists()
    fail(valkey, shop, *range(100, 120))
    settle(one)
    assert equal(valkey, shop)
    assert sums_agree()


def test_jobs_that_left_are_checked_at_once(valkey: redis.Redis, shop: QueueRef) -> None:
    fail(valkey, shop, *range(10))
    desk = Desk("main")
    one = indexer(desk)
    settle(one)
    retry(valkey, shop, 2, 3)
    fail(valkey, shop, 3)
    desk.left(shop, [b"2", b"3", b"9", b"never there"])
    one.due_now("touched")
    one.step()
    assert equal(valkey, shop)
    assert sums_agree()


def test_a_job_that_fails_again_is_a_failure_of_its_own(valkey: redis.Redis, shop: QueueRef) -> None:
    fail(valkey, shop, "a", at=now_ms() - 5000)
    one = indexer()
    settle(one)
    retry(valkey, shop, "a")
    fail(valkey, shop, "a")
    settle(one)
    assert equal(valkey, shop)
    assert Failure.objects.filter(job="a").count() == 2
    assert sums_agree()


def test_a_failure_of_a_clock_behind_is_found(valkey: redis.Redis, shop: QueueRef) -> None:
    fail(valkey, shop, *range(50))
    one = indexer()
    settle(one)
    fail(valkey, shop, "slow-clock", at=now_ms() - 10 * 60_000)
    settle(one)
    assert equal(valkey, shop)


def test_a_set_of_the_same_size_with_other_jobs_is_found_by_comparing(valkey: redis.Redis, shop: QueueRef) -> None:
    at = now_ms() - 60_000
    for number in range(30):
        fail(valkey, shop, number, at=at + number * 100)
    one = indexer()
    settle(one)
    remove(valkey, shop, 12)
    fail(valkey, shop, "other", at=at + 1250)
    settle(one)
    compare_all(one)
    assert equal(valkey, shop)


def test_many_that_failed_at_the_same_moment_are_compared(
    valkey: redis.Redis, shop: QueueRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queues.failures.index.compare.PAGE", 10)
    at = now_ms() - 60_000
    fail(valkey, shop, *range(35), at=at)
    fail(valkey, shop, *range(100, 107), at=at + 1)
    one = indexer()
    settle(one)
    remove(valkey, shop, *range(0, 35, 2), 101)
    fail(valkey, shop, *range(200, 203), at=at)
    compare_all(one)
    assert equal(valkey, shop)
    assert sums_agree()


def test_odd_jobs_are_failures_like_others(valkey: redis.Redis, shop: QueueRef) -> None:
    at = now_ms() - 1000
    odd = ["~.x", "a b", "<b>x</b>", "../..", "x" * 3000, "é", " ", "y" * 3000]
    fail(valkey, shop, *odd, at=at)
    valkey.zadd(key(shop, "failed"), {b"\xff\xfe": at, b"gone": at + 1, b"wrong": at + 2, b"inf": float("inf")})
    valkey.hset(key(shop, "bytes"), mapping={"failedReason": b"\xff\x00\xfe", "stacktrace": b"[{]"})
    valkey.zadd(key(shop, "failed"), {b"bytes": -5.5})
    valkey.set(key(shop, "wrong"), "not a hash")
    one = indexer()
    settle(one)
    assert Failure.objects.filter(in_set=True).count() == valkey.zcard(key(shop, "failed"))
    total = Failure.objects.count()
    compare_all(one)
    assert Failure.objects.count() == total
    assert Failure.objects.filter(in_set=True).count() == total
    remove(valkey, shop, "x" * 3000, "é")
    settle(one)
    assert Failure.objects.filter(in_set=True).count() == total - 2


def test_a_queue_that_was_obliterated_keeps_its_counts_and_may_come_back(valkey: redis.Redis, shop: QueueRef) -> None:
    fail(valkey, shop, *range(20))
    one = indexer()
    settle(one)
    valkey.flushall()
    row = progress(shop).queue
    row.gone_since = row.found_at
    row.save()
    settle(one)
    assert not in_index(shop)
    assert Failure.objects.count() == 20
    fail(valkey, shop, "again")
    row.gone_since = None
    row.save()
    settle(one)
    assert in_index(shop) == on_server(valkey, shop)
    assert Failure.objects.count() == 21


def test_what_an_idle_index_asks_of_the_server_is_little(
    valkey: redis.Redis, source: SourceConfig, redis_commands: RedisCommands
) -> None:
    refs = know(*(f"q{number}".encode() for number in range(30)))
    for ref in refs[:10]:
        fail(valkey, ref, *range(5))
    one = indexer()
    settle(one)
    with redis_commands(max=5):
        for _look in range(5):
            one.due_now("look", "touched", "join")
            for _step in range(10):
                one.step()


def test_touched_queues_are_looked_at_twice_a_second_at_most(
    valkey: redis.Redis, shop: QueueRef, redis_commands: RedisCommands
) -> None:
    desk = Desk("main")
    one = indexer(desk)
    settle(one)
    with redis_commands(max=1):
        for _again in range(5):
            desk.left(shop, [])
            one.step()


def test_what_changed_is_handed_back(valkey: redis.Redis, shop: QueueRef) -> None:
    desk = Desk("main")
    one = indexer(desk)
    fail(valkey, shop, 1, 2)
    settle(one)
    changes = desk.changes()
    assert changes
    assert set(changes.groups) == set(FailureGroup.objects.values_list("slug", flat=True))
    assert changes.fresh == changes.open == 2
    desk.failed(shop, [failed_event(shop, "1", now_ms())])
    settle(one)
    assert desk.changes() is None


def test_nothing_is_indexed_without_the_lease(valkey: redis.Redis, shop: QueueRef) -> None:
    fail(valkey, shop, 1)
    one = indexer(epoch=None)
    assert one.step() > 0
    assert not Failure.objects.exists()


def test_the_term_may_end_in_the_middle(valkey: redis.Redis, shop: QueueRef, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failed, "PAGE", 10)
    fail(valkey, shop, *range(200))
    desk = Desk("main")
    one = indexer(desk)
    add = Store.add

    def ending(store: Store, queue: QueueRef, found: list[object]) -> object:
        desk.epoch = None
        return add(store, queue, found)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(Store, "add", ending)
        one.step()
    written = Failure.objects.count()
    assert written < 200
    one.step()
    assert Failure.objects.count() == written
    desk.epoch = 2
    settle(one)
    assert equal(valkey, shop)
    assert sums_agree()


def test_two_indexes_at_once_do_no_harm(
    valkey: redis.Redis, source: SourceConfig, monkeypatch: pytest.MonkeyPatch, rng: random.Random
) -> None:
    monkeypatch.setattr(failed, "PAGE", 20)
    first, second = know(b"first", b"second")
    fail(valkey, first, *range(150))
    fail(valkey, second, *range(70))
    monkeypatch.setattr("queues.failures.index.source.ROUND_S", 0.001)
    indexes: list[SourceIndexer] = []
    for epoch in (1, 2, 3):
        indexes.append(indexer(epoch=epoch))
        for _step in range(6):
            rng.choice(indexes).step()
            fail(valkey, first, f"{epoch}-{_step}")
            remove(valkey, second, rng.randrange(70))
    newest = indexes[-1]
    settle(newest)
    assert equal(valkey, first, second)
    assert sums_agree()
    before = Failure.objects.count()
    fail(valkey, first, "after")
    for old in indexes[:-1]:
        old.due_now()
        old.step()
    assert Failure.objects.count() == before


def test_whatever_happens_in_whatever_order_it_ends_equal(
    valkey: redis.Redis, source: SourceConfig, monkeypatch: pytest.MonkeyPatch, rng: random.Random
) -> None:
    """Changes of chance, some of them told by hints; restarts; pages of a few."""
    monkeypatch.setattr(failed, "PAGE", 9)
    monkeypatch.setattr("queues.failures.index.compare.PAGE", 11)
    monkeypatch.setattr("queues.failures.index.source.ROUND_S", 0.002)
    refs = know(b"one", b"two")
    at = now_ms() - 3_600_000
    desk = Desk("main")
    one = indexer(desk)
    for turn in range(120):
        ref = rng.choice(refs)
        at += rng.choice((0, 1, 1000))
        here = sorted(on_server(valkey, ref))
        some = [job.decode() for job in rng.sample(here, min(len(here), rng.randrange(1, 8)))]
        match rng.randrange(7):
            case 0 | 1 | 2:
                jobs = [f"{turn}-{number}" for number in range(rng.randrange(1, 15))]
                fail(valkey, ref, *jobs, at=at - rng.choice((0, 0, 0, 5000)))
                if rng.random() < 0.5:
                    desk.failed(ref, [failed_event(ref, job, at) for job in jobs])
            case 3 if some:
                remove(valkey, ref, *some)
                desk.left(ref, [job.encode() for job in some if rng.random() < 0.7])
            case 4 if some:
                retry(valkey, ref, *some)
                fail(valkey, ref, *some[:3], at=at + 1)
            case 5:
                valkey.zremrangebyrank(key(ref, "failed"), 0, rng.randrange(5))
            case 6 if turn % 3 == 0:
                one = indexer(desk, epoch=turn + 2)
        one.due_now(*rng.sample(["join", "look", "touched"], rng.randrange(4)))
        for _step in range(rng.randrange(3)):
            one.step()
    settle(one)
    compare_all(one)
    assert equal(valkey, *refs)
    assert sums_agree()
    assert Failure.objects.count() > 0


def test_what_was_trimmed_is_gone_with_one_look(
    valkey: redis.Redis, shop: QueueRef, redis_commands: RedisCommands
) -> None:
    for number in range(10):
        fail(valkey, shop, number, at=now_ms() - 10_000 + number)
    one = indexer()
    settle(one)
    valkey.zremrangebyrank(key(shop, "failed"), 0, 3)
    with redis_commands(max=1):
        one.due_now("look")
        one.step()
    assert equal(valkey, shop)


def test_nothing_is_written_once_the_lease_is_gone(valkey: redis.Redis, shop: QueueRef) -> None:
    desk = Desk("main")
    one = indexer(desk)
    settle(one)
    term = one._term
    assert term
    desk.epoch = None
    with pytest.raises(Lost), term.writing():
        pytest.fail("it may not write")
