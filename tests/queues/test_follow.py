"""The follower counts each event once, keeps cursors with what was counted, and says what was lost."""

# mypy: allow-untyped-calls

from __future__ import annotations

import sqlite3
import time

import pytest
import redis
from django.db import connection

from queues.events import EventKind
from queues.follow.source import SourceFollower
from queues.followed import histories, standings
from queues.history import KINDS, MINUTE_MS, MINUTES, load
from queues.live import Pulse
from queues.models import Following, Notable, Queue, Stream
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.queues.following import Listening, add, follower, know, step

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(valkey: redis.Redis, source: SourceConfig) -> QueueRef:
    valkey.hset("bull:shop:meta", "opts.maxLenEvents", "10000")
    return know(b"shop")[0]


def total(kind: EventKind, slug: str = "shop") -> int:
    """What is stored of a queue, also in minutes that are not whole."""
    history = load(Stream.objects.get(queue__slug=slug).history)
    assert history
    return sum(row[KINDS.index(kind)] for row in history.counts.values())


def followed() -> SourceFollower:
    one = follower()
    step(one)
    return one


def test_events_are_counted_by_kind_and_stored_with_the_cursor(valkey: redis.Redis, shop: QueueRef) -> None:
    one = followed()
    for number in range(30):
        add(valkey, "shop", "completed", "jobId", str(number), "returnvalue", "1")
    last = add(valkey, "shop", "failed", "jobId", "x", "failedReason", "no luck")
    step(one)
    row = Stream.objects.get()
    assert (row.last_id, row.read, row.lost, row.added) == (last, 31, 0, 31)
    assert total(EventKind.COMPLETED) == 30
    assert total(EventKind.FAILED) == 1


def test_a_follower_that_dies_counts_nothing_twice_and_loses_nothing(valkey: redis.Redis, shop: QueueRef) -> None:
    one = followed()
    for number in range(50):
        add(valkey, "shop", "completed", "jobId", str(number))
    step(one)
    # Read and not stored: what a killed process takes along.
    for number in range(7):
        add(valkey, "shop", "failed", "jobId", str(number), "failedReason", "a")
    one.step()
    for number in range(3):
        add(valkey, "shop", "completed", "jobId", str(number))
    Following.objects.update(holder="")
    other = follower(holder="two")
    step(other)
    row = Stream.objects.get()
    assert (row.read, row.lost) == (60, 0)
    assert (total(EventKind.COMPLETED), total(EventKind.FAILED)) == (53, 7)
    assert Notable.objects.filter(kind="failed").count() == 7
    assert not Notable.objects.filter(kind="gap").exists()


def test_a_gap_is_measured_by_what_the_server_counted(valkey: redis.Redis, shop: QueueRef) -> None:
    one = followed()
    add(valkey, "shop", "completed", "jobId", "1")
    step(one)
    for number in range(500):
        add(valkey, "shop", "completed", "jobId", str(number))
    valkey.xtrim("bull:shop:events", maxlen=100, approximate=False)
    step(one)
    row = Stream.objects.get()
    assert (row.read, row.lost) == (101, 400)
    gap = Notable.objects.get(kind="gap")
    assert gap.count == 400
    assert gap.until_ms is not None
    assert gap.at_ms <= gap.until_ms
    minute = gap.until_ms // MINUTE_MS
    history = load(row.history)
    assert history
    assert minute in history.lost


def test_a_gap_while_nobody_followed_is_measured_at_the_start(valkey: redis.Redis, shop: QueueRef) -> None:
    one = followed()
    add(valkey, "shop", "completed", "jobId", "1")
    step(one)
    one.close()
    for number in range(40):
        add(valkey, "shop", "completed", "jobId", str(number))
    valkey.xtrim("bull:shop:events", maxlen=10, approximate=False)
    step(follower(holder="two"))
    assert Stream.objects.get().lost == 30
    assert Notable.objects.get(kind="gap").count == 30


def test_a_gap_is_found_also_while_events_go_on(valkey: redis.Redis, shop: QueueRef) -> None:
    """The server is asked, more is added before the next reading: the comparison is made at the point it spoke of."""
    one = followed()
    add(valkey, "shop", "completed", "jobId", "1")
    step(one)
    for number in range(20):
        add(valkey, "shop", "completed", "jobId", str(number))
    valkey.xtrim("bull:shop:events", maxlen=5, approximate=False)
    one._verify(list(one.streams.values()))
    for number in range(8):
        add(valkey, "shop", "completed", "jobId", str(number))
    one.step()
    step(one)
    row = Stream.objects.get()
    assert (row.read, row.lost, row.added) == (14, 15, 29)


def test_a_stream_that_was_deleted_is_a_gap_of_unknown_size_and_is_read_on(valkey: redis.Redis, shop: QueueRef) -> None:
    one = followed()
    add(valkey, "shop", "completed", "jobId", "1")
    step(one)
    valkey.delete("bull:shop:events")
    step(one)
    add(valkey, "shop", "completed", "jobId", "2")
    add(valkey, "shop", "failed", "jobId", "3", "failedReason", "b")
    step(one)
    assert Stream.objects.get().read == 3
    [gap] = Notable.objects.filter(kind="gap")
    assert gap.count is None
    assert Notable.objects.filter(kind="failed").count() == 1


def test_a_stream_that_was_replaced_between_two_looks_is_a_gap(valkey: redis.Redis, shop: QueueRef) -> None:
    one = followed()
    for number in range(9):
        add(valkey, "shop", "completed", "jobId", str(number))
    step(one)
    valkey.delete("bull:shop:events")
    add(valkey, "shop", "completed", "jobId", "2")
    step(one)
    step(one)
    assert Notable.objects.get(kind="gap").count is None
    assert Stream.objects.get().added == 1


# DP-03
def test_a_stream_whose_ids_went_back_is_followed_from_there(valkey: redis.Redis, shop: QueueRef) -> None:
    one = followed()
    add(valkey, "shop", "completed", "jobId", "1")
    step(one)
    now = int(time.time() * 1000)
    valkey.delete("bull:shop:events")
    add(valkey, "shop", "completed", "jobId", "old", id=f"{now - 600_000}-0")
    step(one)
    add(valkey, "shop", "failed", "jobId", "new", "failedReason", "c", id=f"{now - 500_000}-0")
    step(one)
    assert Notable.objects.filter(kind="gap").count() == 1
    assert Notable.objects.filter(kind="failed").count() == 1


def test_a_stream_that_was_never_read_tells_its_last_hour(valkey: redis.Redis, shop: QueueRef) -> None:
    now = int(time.time() * 1000)
    add(valkey, "shop", "completed", "jobId", "0", id=f"{now - 2 * 3_600_000}-0")
    add(valkey, "shop", "completed", "jobId", "1", id=f"{now - 30 * MINUTE_MS}-0")
    add(valkey, "shop", "failed", "jobId", "2", "failedReason", "d", id=f"{now - 5 * MINUTE_MS}-0")
    followed()
    row = Stream.objects.get()
    assert (row.read, row.lost, row.added) == (2, 0, 3)
    history = load(row.history)
    assert history
    series = history.series(EventKind.COMPLETED, now // MINUTE_MS - 1)
    assert None not in series[1:]
    assert sum(number or 0 for number in series) == 1
    assert Notable.objects.get().kind == "failed"


def test_a_queue_without_a_stream_is_known_from_the_minute_on_in_which_it_was_found(
    valkey: redis.Redis, shop: QueueRef
) -> None:
    one = followed()
    minute = int(time.time()) // 60
    add(valkey, "shop", "completed", "jobId", "1")
    step(one)
    history = load(Stream.objects.get().history)
    assert history
    assert history.known_from in (minute - 1, minute)


def test_a_trimmed_stream_is_unknown_before_its_first_entry(valkey: redis.Redis, shop: QueueRef) -> None:
    now = int(time.time() * 1000)
    for minutes in (50, 40, 10):
        add(valkey, "shop", "completed", "jobId", "1", id=f"{now - minutes * MINUTE_MS}-0")
    valkey.xtrim("bull:shop:events", maxlen=1, approximate=False)
    followed()
    history = load(Stream.objects.get().history)
    assert history
    series = history.series(EventKind.COMPLETED, now // MINUTE_MS - 1)
    assert series[:50] == [None] * 50
    assert series[-9:] == [0] * 9


def test_queues_that_are_found_are_joined_and_those_that_went_are_dropped(valkey: redis.Redis, shop: QueueRef) -> None:
    one = followed()
    [other] = know(b"other")
    add(valkey, "other", "completed", "jobId", "1")
    step(one)
    assert Stream.objects.get(queue__slug="other").read == 1
    Queue.objects.filter(slug="shop").delete()
    step(one)
    assert set(one.streams) == {other}


@pytest.mark.django_db(transaction=True)
def test_a_queue_that_is_deleted_with_events_to_store_loses_only_those(valkey: redis.Redis, shop: QueueRef) -> None:
    one = followed()
    know(b"other")
    step(one)
    add(valkey, "shop", "failed", "jobId", "1", "failedReason", "e")
    add(valkey, "other", "failed", "jobId", "2", "failedReason", "f")
    one.step()
    Queue.objects.filter(slug="shop").delete()
    one.due_now("save")
    one.step()
    step(one)
    assert [row.queue.slug for row in Notable.objects.filter(kind="failed") if row.queue] == ["other"]


def test_strange_entries_are_skipped_counted_and_logged_once(
    valkey: redis.Redis, shop: QueueRef, caplog: pytest.LogCaptureFixture
) -> None:
    one = followed()
    for _again in range(3):
        valkey.xadd("bull:shop:events", {"no": "word"})
        add(valkey, "shop", "completed", "jobId", "1")
        one.step()
    step(one)
    assert total(EventKind.COMPLETED) == 3
    assert Following.objects.get().strange == 3
    assert sum("make no sense" in record.message for record in caplog.records) == 1


def test_too_many_notable_events_are_counted_instead_of_kept(valkey: redis.Redis, shop: QueueRef) -> None:
    one = followed()
    pipe = valkey.pipeline()
    for number in range(2500):
        pipe.execute_command(
            "XADD", "bull:shop:events", "*", "event", "failed", "jobId", str(number), "failedReason", "g"
        )
    pipe.execute()
    step(one)
    kept = Notable.objects.filter(kind="failed").count()
    omitted = sum(row.count or 0 for row in Notable.objects.filter(kind="omitted"))
    assert 0 < kept <= 1000
    assert kept + omitted == 2500
    assert total(EventKind.FAILED) == 2500
    # The newest are those that are kept.
    assert Notable.objects.filter(kind="failed").order_by("-id")[0].job == "2499"


def test_at_most_so_many_notable_events_of_a_queue_are_kept(
    valkey: redis.Redis, shop: QueueRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queues.follow.store.KEPT", 25)
    one = followed()
    for number in range(60):
        add(valkey, "shop", "failed", "jobId", str(number), "failedReason", "h")
        if number % 20 == 19:
            step(one)
    assert [row.job for row in Notable.objects.order_by("id")] == [str(number) for number in range(35, 60)]


def test_an_outage_is_told_and_kept_and_ends_without_a_gap(valkey: redis.Redis, shop: QueueRef) -> None:
    audience = Listening()
    one = follower(audience)
    step(one)
    add(valkey, "shop", "completed", "jobId", "1")
    step(one)
    valkey.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    valkey.config_set("maxclients", 1)
    try:
        step(one)
        assert one.standing.pulse is Pulse.BLIND
        assert standings(["main"])["main"].pulse is Pulse.BLIND
        add(valkey, "shop", "completed", "jobId", "2")
    finally:
        valkey.config_set("maxclients", 10000)
    step(one)
    step(one)
    assert standings(["main"])["main"].pulse is Pulse.LIVE
    kinds = list(Notable.objects.order_by("id").values_list("kind", flat=True))
    assert kinds == ["source-down", "source-up"]
    assert Stream.objects.get().read == 2


def test_pages_know_the_last_hour_and_not_what_nobody_saw(valkey: redis.Redis, shop: QueueRef) -> None:
    followed()
    found = histories("main")
    series = found.by_slug["shop"].series(EventKind.COMPLETED, found.upto)
    assert series[0] is None
    Following.objects.update(covered_ms=int(time.time() * 1000) - 10 * MINUTE_MS)
    found = histories("main")
    assert found.by_slug["shop"].series(EventKind.COMPLETED, found.upto)[-9:] == [None] * 9
    Following.objects.update(covered_ms=0)  # or never: what is unknown is told of the hour that is drawn
    assert len(histories("main").by_slug["shop"].lost) == MINUTES


@pytest.mark.django_db(transaction=True)
def test_a_locked_database_delays_and_loses_nothing(valkey: redis.Redis, shop: QueueRef) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite locks the whole database")
    one = followed()
    add(valkey, "shop", "failed", "jobId", "1", "failedReason", "i")
    with sqlite3.connect(connection.settings_dict["NAME"], timeout=30) as other:
        other.execute("BEGIN IMMEDIATE")
        step(one)
        add(valkey, "shop", "failed", "jobId", "2", "failedReason", "j")
        step(one)
        other.rollback()
    other.close()
    assert Stream.objects.get().read == 0
    step(one)
    assert Stream.objects.get().read == 2
    assert [row.job for row in Notable.objects.order_by("id")] == ["1", "2"]


def test_a_quiet_while_costs_one_row_and_what_is_notable_is_kept_at_once(valkey: redis.Redis, shop: QueueRef) -> None:
    while time.time() % 60 > 50:
        time.sleep(0.2)  # all is stored when a minute is over
    [other] = know(b"other")
    one = followed()
    step(one)
    add(valkey, "shop", "completed", "jobId", "1")
    add(valkey, "other", "failed", "jobId", "2", "failedReason", "k")
    covered_ms = Following.objects.get().covered_ms
    one._stored_minute = one._covered_ms // MINUTE_MS
    one.due_now("save")
    one.step()
    assert {row.queue.slug: row.read for row in Stream.objects.all()} == {"shop": 0, "other": 1}
    assert Following.objects.get().covered_ms == covered_ms
    one.due_now("save")
    one.due_now("save all")
    one.step()
    assert {row.queue.slug: row.read for row in Stream.objects.all()} == {"shop": 1, "other": 1}
    assert Following.objects.get().covered_ms > covered_ms
    assert other in one.streams


def test_a_stream_that_moved_far_is_stored_at_once(valkey: redis.Redis, shop: QueueRef) -> None:
    one = followed()
    pipe = valkey.pipeline()
    for number in range(2100):
        pipe.execute_command("XADD", "bull:shop:events", "*", "event", "completed", "jobId", str(number))
    pipe.execute()
    one.due_now("save")
    one.step()
    assert Stream.objects.get().read == 2100
