"""Failures of which events tell: those that were removed as they failed, bursts, and what nobody saw."""

# mypy: allow-untyped-calls

from __future__ import annotations

from datetime import timedelta

import pytest
import redis
from django.utils import timezone

from queues import failed
from queues.failures.desk import Desk
from queues.failures.index import fresh, looking
from queues.failures.index.standing import behind_ms
from queues.failures.store import Store
from queues.failures.types import How
from queues.follow.source import SourceFollower
from queues.follow.teller import Reader
from queues.models import Failure, FailureGroup, Indexing, Notable
from queues.quantities import now_ms
from queues.registry import SourceConfig, dedicated
from queues.types import QueueRef
from tests.queues.following import Listening, add, know, step
from tests.queues.indexing import (
    equal,
    fail,
    failed_event,
    in_index,
    indexer,
    key,
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


@pytest.fixture
def desk() -> Desk:
    return Desk("main")


def followed(desk: Desk) -> SourceFollower:
    reader = dedicated("main")
    assert isinstance(reader, Reader)
    one = SourceFollower("main", reader, Listening(), "one", desk)
    step(one)
    return one


def test_a_failure_whose_job_was_removed_at_once_joins_the_group_of_its_message(
    valkey: redis.Redis, shop: QueueRef, desk: Desk
) -> None:
    fail(valkey, shop, *range(6), reason="card declined")
    one = indexer(desk)
    settle(one)
    desk.failed(shop, [failed_event(shop, "gone-1", now_ms(), "card declined")])
    settle(one)
    row = Failure.objects.get(job="gone-1")
    assert (row.how, row.in_set, row.present) == (How.EVENT, False, False)
    assert FailureGroup.objects.get().total == 7
    assert equal(valkey, shop)
    assert sums_agree()


def test_an_event_of_a_failure_in_the_set_is_no_second_one(valkey: redis.Redis, shop: QueueRef, desk: Desk) -> None:
    one = indexer(desk)
    settle(one)
    now = now_ms()
    fail(valkey, shop, *range(20), at=now - 100_000)  # its worker's clock is far behind
    events = [failed_event(shop, str(number), now) for number in range(20)]
    desk.failed(shop, events)
    settle(one)
    desk.failed(shop, events)  # read again after a restart
    settle(one)
    assert Failure.objects.count() == 20
    retry(valkey, shop, *range(20))
    desk.left(shop, [str(number).encode() for number in range(20)])
    settle(one)
    assert Failure.objects.count() == 20
    assert sums_agree()


def test_events_that_are_read_again_after_their_jobs_left_count_once(
    valkey: redis.Redis, shop: QueueRef, desk: Desk
) -> None:
    now = now_ms()
    fail(valkey, shop, "a", at=now)
    one = indexer(desk)
    settle(one)
    retry(valkey, shop, "a")
    for epoch in (2, 3):
        other = indexer(desk, epoch=epoch)
        desk.failed(shop, [failed_event(shop, "a", now + 3), failed_event(shop, "b", now + 4)])
        settle(other)
    assert sorted(Failure.objects.values_list("job", "how")) == [("a", "set"), ("b", "event")]


def test_a_job_that_failed_twice_between_two_looks_is_two_failures(
    valkey: redis.Redis, shop: QueueRef, desk: Desk
) -> None:
    one = indexer(desk)
    settle(one)
    now = now_ms()
    fail(valkey, shop, "a", at=now)
    desk.failed(shop, [failed_event(shop, "a", now - 300_000), failed_event(shop, "a", now)])
    settle(one)
    assert sorted(Failure.objects.values_list("how", "in_set")) == [("event", False), ("set", True)]
    assert equal(valkey, shop)


def test_a_burst_is_read_whole(valkey: redis.Redis, shop: QueueRef, desk: Desk) -> None:
    one = indexer(desk)
    settle(one)
    for burst in range(4):
        jobs = [f"{burst}-{number}" for number in range(1500)]
        fail(valkey, shop, *jobs)
        # The set keeps a few only, as `removeOnFail: {count}` does.
        valkey.zremrangebyrank(key(shop, "failed"), 0, -1001)
        now = now_ms()
        desk.failed(shop, [failed_event(shop, job, now) for job in jobs])
        one.due_now("touched")
        one.step()
    settle(one)
    assert equal(valkey, shop)
    assert Failure.objects.count() == 6000
    assert state().behind_ms == 0
    assert sums_agree()


def test_while_it_cannot_keep_up_it_says_how_far_it_is_behind(
    valkey: redis.Redis, source: SourceConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    refs = know(*(f"q{number}".encode() for number in range(5)))
    one = indexer()
    settle(one)
    at = now_ms() - 60_000
    for ref in refs:
        fail(valkey, ref, 1, at=at)
    monkeypatch.setattr("queues.failures.index.source.READINGS", 2)
    one.due_now("look")
    assert one.step() < 0.2
    assert behind_ms(one.tracks.values()) >= 60_000
    settle(one)
    assert behind_ms(one.tracks.values()) == 0
    assert equal(valkey, *refs)


def test_more_events_than_are_kept_have_the_queue_compared(
    valkey: redis.Redis, shop: QueueRef, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queues.failures.index.source.EVENTS", 10)
    fail(valkey, shop, *range(5))
    one = indexer(desk)
    settle(one)
    desk.failed(shop, [failed_event(shop, f"e{number}", now_ms()) for number in range(25)])
    settle(one)
    assert Failure.objects.filter(how="event").count() == 10
    assert equal(valkey, shop)


def test_steady_failures_cost_a_few_commands_each_look(
    valkey: redis.Redis, shop: QueueRef, desk: Desk, redis_commands: RedisCommands
) -> None:
    fail(valkey, shop, *range(5))
    one = indexer(desk)
    settle(one)
    with redis_commands(max=30) as sent:
        for number in range(5):
            jobs = [f"{number}-{each}" for each in range(50)]
            fail(valkey, shop, *jobs)
            desk.failed(shop, [failed_event(shop, job, now_ms()) for job in jobs])
            one.due_now("touched")
            one.step()
    assert len(sent) < 30
    assert equal(valkey, shop)


@pytest.mark.parametrize("away", ["restart", "outage", "lost events"])
def test_what_nobody_saw_is_said(valkey: redis.Redis, shop: QueueRef, desk: Desk, away: str) -> None:
    before = now_ms() - 600_000
    fail(valkey, shop, *range(10), at=before)
    one = indexer(desk)
    settle(one)
    remove(valkey, shop, *range(10))
    after = before + 300_000
    fail(valkey, shop, "x", "y", at=after)
    if away == "restart":
        one = indexer(desk, epoch=2)
    elif away == "outage":
        one._look_anew()
    else:
        desk.compare([shop])
    settle(one)
    assert progress(shop).gaps == [[before, after]]
    assert equal(valkey, shop)
    settle(indexer(desk, epoch=3))
    assert len(progress(shop).gaps) == 1


def test_a_set_that_went_on_while_nobody_looked_has_no_gap(valkey: redis.Redis, shop: QueueRef) -> None:
    fail(valkey, shop, *range(10))
    settle(indexer())
    fail(valkey, shop, *range(10, 20))
    remove(valkey, shop, *range(5))
    settle(indexer(epoch=2))
    assert progress(shop).gaps == []
    assert equal(valkey, shop)


def test_events_of_unknown_queues_and_without_jobs_do_no_harm(valkey: redis.Redis, shop: QueueRef, desk: Desk) -> None:
    one = indexer(desk)
    settle(one)
    nobody = QueueRef("main", b"bull", b"nobody")
    event = failed_event(shop, "x", now_ms())
    desk.failed(nobody, [event])
    desk.left(nobody, [b"1"])
    desk.compare([nobody])
    object.__setattr__(event, "job", None)
    desk.failed(shop, [event])
    settle(one)
    assert not Failure.objects.exists()
    assert not in_index(shop)


def test_the_page_of_events_is_bounded(
    valkey: redis.Redis, shop: QueueRef, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failed, "PAGE", 7)
    asked: list[int] = []
    real = looking.rows_near

    def watched(track: object, jobs: set[bytes]) -> object:
        asked.append(len(jobs))
        return real(track, jobs)  # type: ignore[arg-type]

    monkeypatch.setattr(fresh, "rows_near", watched)
    one = indexer(desk)
    settle(one)
    desk.failed(shop, [failed_event(shop, f"e{number}", now_ms()) for number in range(30)])
    settle(one)
    assert max(asked) == 7
    assert Failure.objects.count() == 30


def test_what_failed_before_a_kill_and_was_not_written_is_heard_by_the_next_term(
    valkey: redis.Redis, shop: QueueRef
) -> None:
    settle(indexer())
    one = followed(Desk("main"))
    for number in range(5):
        add(valkey, "shop", "failed", "jobId", f"gone:{number}", "failedReason", "card declined", "prev", "active")
    step(one)  # the stream is read and stored; the process is killed before its index has written
    other = indexer(epoch=2)
    settle(other)
    assert Failure.objects.filter(how="event").count() == 5
    settle(indexer(epoch=3))
    assert Failure.objects.count() == 5
    assert progress(shop).gaps == []
    assert sums_agree()


def test_what_was_handed_over_outlives_a_term_that_ended_before_it_had_written_anything(
    valkey: redis.Redis, shop: QueueRef
) -> None:
    settle(indexer())
    one = followed(Desk("main"))
    add(valkey, "shop", "failed", "jobId", "gone", "failedReason", "card declined", "prev", "active")
    step(one)
    long_ago = timezone.now() - timedelta(minutes=5)
    Indexing.objects.update(beat_at=long_ago)
    Notable.objects.update(at_ms=int(long_ago.timestamp() * 1000))
    Store("main", 2).begin()  # and is killed
    settle(indexer(epoch=3))
    assert Failure.objects.count() == 1
    assert state().behind_ms == 0


@pytest.mark.parametrize("trimmed", [False, True])
def test_more_than_the_follower_keeps_are_read_from_the_stream_again_or_missing_is_said(
    valkey: redis.Redis, shop: QueueRef, trimmed: bool
) -> None:
    settle(indexer())
    one = followed(Desk("main"))
    for number in range(700):
        add(valkey, "shop", "failed", "jobId", f"gone{number}", "failedReason", "card declined", "prev", "active")
    before = now_ms() - 20_000
    step(one)
    assert Notable.objects.filter(kind="failed").count() < 700
    if trimmed:
        valkey.xtrim("bull:shop:events", maxlen=500, approximate=False)
    settle(indexer(epoch=2))
    gaps = progress(shop).gaps
    if trimmed:
        assert 500 <= Failure.objects.count() < 700
        assert len(gaps) == 1
        assert before - 20_000 < gaps[0][0] < gaps[0][1] <= now_ms()
    else:
        assert Failure.objects.count() == 700
        assert gaps == []


def test_the_first_failure_of_a_queue_that_the_index_has_not_met_is_written(
    valkey: redis.Redis, shop: QueueRef, desk: Desk
) -> None:
    one = indexer(desk)
    settle(one)
    (fresh_queue,) = know(b"fresh")
    desk.failed(fresh_queue, [failed_event(fresh_queue, "1", now_ms())])
    one._due["join"] = float("inf")
    one.step()
    one.due_now("look", "touched")
    one.step()
    one.step()
    assert Failure.objects.get().queue.slug == fresh_queue.slug
