"""What is read live, and what is kept for an outage."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from queues import discovery, readings
from queues.health import Health, Persistence
from queues.models import Queue, Snapshot, Source
from queues.snapshots import dump_counts, dump_health, load_counts, load_health
from queues.types import Counts, Oldest, State, Workers
from tests.queues.fakes import FakeBackend, counts, ref
from tests.queues.rows import keep, writes
from tests.valkey import RedisCommands

pytestmark = pytest.mark.django_db


def test_a_source_is_read_live_and_without_a_write(main: FakeBackend) -> None:
    main.add("orders", counts(waiting=3), workers=2)
    main.add("sms")
    keep(main)
    with CaptureQueriesContext(connection) as captured:
        reading = readings.read("main")
    assert reading.live
    assert reading.read_at is not None
    orders, sms = reading.queues
    assert (orders.ref, orders.workers, sms.workers) == (ref("orders"), 2, 0)
    assert orders.counts is not None
    assert orders.counts[State.WAITING] == 3
    assert writes(captured) == []
    assert len(captured) == 3


def test_a_source_that_was_never_written_down_reads_as_empty_and_live(main: FakeBackend) -> None:
    reading = readings.read("main")
    assert (reading.live, reading.queues, reading.scan.finished_at) == (True, (), None)
    assert not Source.objects.exists()


def test_how_many_queues_there_are_is_unknown_until_a_scan_has_come_to_its_end(main: FakeBackend) -> None:
    def told() -> list[int | None]:
        return [readings.read("main").queue_total, readings.status()[0].queue_total]

    assert told() == [None, None]
    main.add("orders")
    keep(main, scanned=False)
    assert told() == [None, None]
    discovery.scan("main")
    assert told() == [1, 1]


def test_workers_that_the_server_will_not_tell_are_unknown_and_the_reason_is_kept(main: FakeBackend) -> None:
    main.add("orders", workers=2)
    main.workers_of = Workers(unknown_because="not permitted (CLIENT LIST)")
    keep(main)
    reading = readings.read("main")
    assert reading.queues[0].workers is None
    assert reading.workers_unknown_because == "not permitted (CLIENT LIST)"


def test_an_outage_shows_the_last_reading_with_its_own_time_and_never_zeros(main: FakeBackend) -> None:
    main.add("orders", counts(waiting=3, failed=2, oldest=Oldest(5, True)), workers=2)
    keep(main)
    stored = readings.store("main")
    main.add("newer", counts(waiting=1))
    keep(main)
    main.down = "main does not answer"
    reading = readings.read("main")
    assert (reading.live, reading.error, reading.read_at) == (False, "main does not answer", stored.read_at)
    newer, orders = reading.queues
    assert orders.counts == counts(waiting=3, failed=2, oldest=Oldest(5, True))
    assert (orders.workers, orders.read_at) == (2, stored.read_at)
    assert (newer.counts, newer.workers, newer.read_at) == (None, None, None)


def test_storing_keeps_reading_and_health_and_an_outage_overwrites_neither(main: FakeBackend) -> None:
    main.add("orders", counts(waiting=3))
    keep(main)
    readings.store("main")
    before = Snapshot.objects.get()
    found = readings.health("main")
    assert found is not None
    assert (found[0].server, found[0].refused, found[1]) == ("Valkey", ("CONFIG GET",), before.health_at)
    main.down = "no"
    assert not readings.store("main").live
    assert Snapshot.objects.values().get() == {
        "id": before.pk, "source_id": before.source_id, "taken_at": before.taken_at, "counts": before.counts,
        "health_at": before.health_at, "health": before.health,
    }  # fmt: skip
    assert readings.health("other") is None


def test_storing_a_thousand_queues_is_a_handful_of_statements(main: FakeBackend) -> None:
    for number in range(1000):
        main.add(f"queue-{number:04}", counts(waiting=number))
    source = keep(main)
    readings.store("main")
    with CaptureQueriesContext(connection) as captured:
        readings.store("main")
    assert len(writes(captured)) <= 2
    assert len(captured) <= 14
    assert len(source.snapshot.counts) < 100_000


def test_one_queue_is_known_from_the_last_reading(main: FakeBackend) -> None:
    orders = main.add("orders", counts(failed=1), workers=3)
    keep(main)
    known = readings.of(orders)
    assert known is not None
    assert (known.counts, known.workers) == (None, None)
    readings.store("main")
    known = readings.of(orders)
    assert known is not None
    assert (known.counts, known.workers) == (counts(failed=1), 3)
    assert readings.of(ref("other")) is None
    assert readings.names("main") == {orders}


def test_the_frame_of_a_page_costs_one_query_for_all_sources(two: tuple[FakeBackend, FakeBackend]) -> None:
    first, second = two
    first.add("a")
    first.add("b")
    keep(first)
    readings.store("main")
    Queue.objects.filter(slug="b").update(gone_since=timezone.now())
    second.down = "no"
    readings.read("other")
    Source.objects.create(name="no longer configured")
    with CaptureQueriesContext(connection) as captured:
        one, two_ = readings.status()
    assert len(captured) == 1
    assert (one.name, one.queue_total, one.down_since) == ("main", 1, None)
    assert one.read_at is not None
    assert (two_.name, two_.error, two_.queue_total) == ("other", "no", None)
    assert two_.down_since is not None


def test_a_queue_that_answers_again_is_not_shown_as_gone(main: FakeBackend) -> None:
    main.add("orders", counts(waiting=1))
    keep(main)
    Queue.objects.update(gone_since=timezone.now())
    assert readings.read("main").queues[0].gone_since is None
    main.queues.clear()
    assert readings.read("main").queues[0].gone_since is not None


@pytest.mark.usefixtures("source")
def test_reading_a_thousand_queues_of_a_real_server_is_two_calls_for_every_125(
    valkey: redis.Redis, redis_commands: RedisCommands
) -> None:
    pipe = valkey.pipeline()
    for number in range(1000):
        pipe.hset(f"bull:queue-{number}:meta", mapping={"version": "bullmq:6.7.0"})
        pipe.lpush(f"bull:queue-{number}:wait", "1")
    pipe.execute()
    discovery.scan("main")
    with redis_commands(max=2 * 8 + 1):  # and one for all workers
        reading = readings.read("main")
    assert reading.queue_total == 1000
    assert all(queue.counts and queue.counts.backlog == 1 for queue in reading.queues)


@pytest.mark.usefixtures("source")
def test_the_health_of_a_real_server_survives_the_database(valkey: redis.Redis) -> None:
    readings.store("main")
    found = readings.health("main")
    assert found is not None
    assert found[0].server == "Valkey"
    assert found[0].version == valkey.info("server")["valkey_version"]


numbers = st.integers(0, 2**53)
some_counts = st.builds(
    Counts,
    by_state=st.dictionaries(st.sampled_from(State), numbers),
    paused=st.booleans(),
    parked=numbers,
    oldest=st.none() | st.builds(Oldest, numbers, st.booleans(), st.none() | numbers),
    version=st.text(max_size=20),
    concurrency=st.none() | numbers,
    rate_max=st.none() | numbers,
    rate_duration_ms=st.none() | numbers,
    exists=st.booleans(),
)


@given(st.dictionaries(st.text(max_size=8), st.tuples(some_counts, st.none() | st.integers(0, 9)), max_size=4))
def test_counts_survive_the_database_unchanged(stored: dict[str, tuple[Counts, int | None]]) -> None:
    text = dump_counts((slug, found, workers) for slug, (found, workers) in stored.items())
    assert text.isascii()
    assert "\x00" not in text
    assert load_counts(text) == stored


def test_rows_of_another_release_are_left_out() -> None:
    assert load_counts('{"a": {}, "b": 3, "c": {"n": [1]}, "d": {"n": [0,0,0,0,0,0,0], "w": null}}') == {
        "d": (counts(), None)
    }
    assert load_counts("") == {}


def test_a_health_survives_the_database_and_unknown_fields_are_dropped() -> None:
    health = Health("Redis", "7.2", "standalone", "master", memory_used=5, refused=("INFO", "TIME"))
    for kinds in (None, (), (Persistence.RDB,), tuple(Persistence)):
        assert load_health(dump_health(replace(health, persistence=kinds))) == replace(health, persistence=kinds)
    assert load_health(dump_health(health).replace('"persistence": null', '"persistence": "none"')) is None
    assert load_health('{"server": "x", "version": "1", "mode": "", "role": "", "new": 1}') == Health("x", "1", "", "")
    assert load_health('{"server": "x"}') is None
    assert load_health("") is None
