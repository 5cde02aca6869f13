"""What is read live, what is kept for an outage, and how an outage is told."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

import pytest
import redis
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from queues import cost, discovery, outages, readings, registry
from queues.errors import NotFound, Unreachable
from queues.models import Cost, Queue, Snapshot, Source
from queues.snapshots import dump_counts, dump_health, load_counts, load_health
from queues.types import Counts, Health, Oldest, State, Workers
from tests.queues.fakes import FakeBackend, counts, ref
from tests.valkey import RedisCommands, StartRedis, eventually

pytestmark = pytest.mark.django_db


def keep(backend: FakeBackend) -> Source:
    """Write the queues of a backend into the database, as a scan does."""
    source, _ = Source.objects.get_or_create(name=backend.source)
    for queue in backend.queues:
        Queue.objects.get_or_create(source=source, slug=queue.slug, defaults={"seen_at": readings.now()})
    return source


def writes(captured: CaptureQueriesContext) -> list[str]:
    statements = (str(query["sql"]) for query in captured.captured_queries)
    return [sql for sql in statements if sql.startswith(("INSERT", "UPDATE", "DELETE"))]


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


def test_an_outage_keeps_the_time_at_which_it_began_and_ends_with_the_first_answer(main: FakeBackend) -> None:
    keep(main)
    main.down = "no"
    began = readings.read("main").down_since
    assert began is not None
    with CaptureQueriesContext(connection) as captured:
        again = readings.read("main")
    assert (again.down_since, again.tries, writes(captured)) == (began, 1, [])
    Source.objects.update(tried_at=readings.now() - timedelta(seconds=6))
    main.down = "still no"
    assert readings.read("main").down_since == began
    assert Source.objects.get().tries == 2
    assert Source.objects.get().error == "still no"
    main.down = ""
    reading = readings.read("main")
    assert (reading.live, reading.down_since) == (True, None)
    source = Source.objects.get()
    assert (source.down_since, source.error, source.tries) == (None, "", 0)
    main.down = "no"
    later = readings.read("main").down_since
    assert later is not None
    assert later > began


def test_a_failure_that_was_seen_a_moment_earlier_keeps_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    look = outages._row
    earlier: list[datetime] = []

    def overtaken(name: str) -> Source:
        row = look(name)
        if not earlier:  # another process fails between our look and our write
            monkeypatch.setattr(outages, "_row", look)
            earlier.append(outages.note_failure(name, "another process was first"))
        return row

    monkeypatch.setattr(outages, "_row", overtaken)
    assert outages.note_failure("main", "no") == earlier[0]
    assert Source.objects.get().down_since == earlier[0]


def test_an_answer_from_before_the_outage_does_not_end_it(main: FakeBackend) -> None:
    before = readings.now()
    since = outages.note_failure("main", "no")
    outages.note_success("main", before)
    assert Source.objects.get().down_since == since


def test_a_watched_use_fills_in_since_when_the_source_is_down(main: FakeBackend) -> None:
    main.down = "no"
    seen = []
    for _again in range(2):
        with pytest.raises(Unreachable, match="no") as caught, readings.watched("main") as backend:
            backend.health()
        seen.append(caught.value.since)
    assert seen[0] is not None
    assert seen[0] == seen[1] == Source.objects.get().down_since
    main.down = ""
    with readings.watched("main") as backend:
        backend.health()
    assert Source.objects.get().down_since is None


def test_an_error_that_is_no_outage_leaves_a_watched_use_unchanged(main: FakeBackend) -> None:
    with pytest.raises(NotFound), readings.watched("main") as backend:
        backend.queue(ref("x"))
    assert not Source.objects.exists()
    with pytest.raises(NotFound), readings.watched("nowhere"):
        pass


def test_after_a_failure_that_took_long_the_next_pages_do_not_wait_again(main: FakeBackend) -> None:
    told = outages.failed("main", Unreachable("it swallows packets", source="main"), took_s=30)
    calls = main.commands_sent
    with pytest.raises(Unreachable, match="swallows packets") as caught, readings.watched("main") as backend:
        backend.health()
    assert caught.value.since == told.since
    assert readings.read("main").down_since == told.since
    assert main.commands_sent == calls
    outages.forget("main")
    assert readings.read("main").live


def test_a_dead_source_holds_up_the_others_no_longer_than_its_own_timeout(two: tuple[FakeBackend, FakeBackend]) -> None:
    dead, live = two
    live.add("orders", counts(waiting=1))
    keep(dead)
    keep(live)
    dead.down, dead.gate = "no", threading.Event()
    answered = threading.Event()
    live.after_workers = answered.set

    def open_gate(gate: threading.Event) -> None:
        answered.wait(30)
        gate.set()

    opener = threading.Thread(target=open_gate, args=(dead.gate,))
    opener.start()
    first, second = readings.read_all()
    opener.join()
    assert answered.is_set()  # the live one was read while the dead one still hung
    assert (first.live, second.live) == (False, True)
    assert second.queues[0].counts == counts(waiting=1)


def test_storing_keeps_reading_and_health_and_an_outage_overwrites_neither(main: FakeBackend) -> None:
    main.add("orders", counts(waiting=3))
    keep(main)
    readings.store("main")
    before = Snapshot.objects.get()
    found = readings.health("main")
    assert found is not None
    assert (found[0].server, found[0].notes, found[1]) == ("Valkey", ("no INFO",), before.health_at)
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
    Queue.objects.filter(slug="b").update(gone_since=readings.now())
    second.down = "no"
    readings.read("other")
    Source.objects.create(name="no longer configured")
    with CaptureQueriesContext(connection) as captured:
        one, two_ = readings.status()
    assert len(captured) == 1
    assert (one.name, one.queue_total, one.down_since) == ("main", 1, None)
    assert one.read_at is not None
    assert (two_.name, two_.error, two_.queue_total) == ("other", "no", 0)
    assert two_.down_since is not None


def test_a_queue_that_answers_again_is_not_shown_as_gone(main: FakeBackend) -> None:
    main.add("orders", counts(waiting=1))
    keep(main)
    Queue.objects.update(gone_since=readings.now())
    assert readings.read("main").queues[0].gone_since is None
    main.queues.clear()
    assert readings.read("main").queues[0].gone_since is not None


@pytest.mark.django_db(transaction=True)
def test_many_that_fail_at_once_agree_on_when_the_outage_began(main: FakeBackend) -> None:
    main.down = "no"
    start = threading.Barrier(6)
    seen: list[datetime | None] = []

    def fail() -> None:
        start.wait(30)
        try:
            seen.append(readings.read("main").down_since)
        finally:
            connection.close()

    threads = [threading.Thread(target=fail) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 6
    assert set(seen) == {Source.objects.get().down_since}
    assert Source.objects.count() == 1


def test_an_outage_of_a_real_server_is_told_from_the_last_reading_until_it_answers_again(
    start_redis: StartRedis, settings: Settings
) -> None:
    server = start_redis("--appendonly", "yes")
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    with server.client() as client:
        client.hset("bull:orders:meta", mapping={"version": "bullmq:5.81.5"})
        client.lpush("bull:orders:wait", "1", "2", "3")
    discovery.scan("main")
    live = readings.store("main")
    assert (live.live, live.error) == (True, "")
    assert live.queues[0].counts is not None
    assert live.queues[0].counts[State.WAITING] == 3
    assert live.queues[0].workers == 0
    server.stop()
    dead = readings.read("main")
    assert (dead.live, dead.read_at, dead.queues[0].counts) == (False, live.read_at, live.queues[0].counts)
    assert str(server.port) in dead.error
    assert dead.down_since is not None
    assert readings.store("main").down_since == dead.down_since
    server.start()
    eventually(lambda: readings.read("main").live)
    back = readings.read("main")
    assert back.down_since is None
    assert back.queues[0].counts == live.queues[0].counts


@pytest.mark.usefixtures("source")
def test_reading_a_thousand_queues_of_a_real_server_is_a_dozen_commands(
    valkey: redis.Redis, redis_commands: RedisCommands
) -> None:
    pipe = valkey.pipeline()
    for number in range(1000):
        pipe.hset(f"bull:queue-{number}:meta", mapping={"version": "bullmq:6.7.0"})
        pipe.lpush(f"bull:queue-{number}:wait", "1")
    pipe.execute()
    discovery.scan("main")
    with redis_commands(max=12):
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
    oldest=st.none() | st.builds(Oldest, numbers, st.booleans()),
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
    health = Health("Redis", "7.2", "standalone", "master", memory_used=5, notes=("a", "b"))
    assert load_health(dump_health(health)) == health
    assert load_health('{"server": "x", "version": "1", "mode": "", "role": "", "new": 1}') == Health("x", "1", "", "")
    assert load_health('{"server": "x"}') is None
    assert load_health("") is None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds, set by hand."""
    at = [1_800_000_000.0]
    monkeypatch.setattr(cost, "time", type("Clock", (), {"time": lambda: at[0], "monotonic": lambda: at[0]}))
    monkeypatch.setattr(cost, "_reported", cost._Reported())
    return at


def test_commands_of_all_processes_add_up_to_a_mean_of_the_last_minute(
    main: FakeBackend, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cost.commands_per_second("main") is None
    main.commands_sent = 100
    cost.report(now=True)
    assert cost.commands_per_second("main") is None  # the slot is not over
    monkeypatch.setattr(cost, "_reported", cost._Reported())  # another process
    main.commands_sent = 50
    cost.report(now=True)
    clock[0] += 10
    assert cost.commands_per_second("main") == 15
    cost.report(now=True, silent_too=True)
    clock[0] += 10
    assert cost.commands_per_second("main") == 7.5
    clock[0] += 100
    assert cost.commands_per_second("main") is None  # nobody reports: not known, and not zero


def test_a_process_reports_at_most_every_ten_seconds_and_loses_nothing(main: FakeBackend, clock: list[float]) -> None:
    cost.report()
    main.commands_sent = 7
    clock[0] += 9
    cost.report()
    assert not Cost.objects.exists()
    clock[0] += 1
    cost.report()
    main.commands_sent = 9
    clock[0] += 10
    cost.report()
    main.commands_sent = 3  # began anew
    clock[0] += 10
    cost.report()
    assert list(Cost.objects.order_by("slot").values_list("commands", flat=True)) == [7, 2, 3]
    clock[0] += 3700
    cost.prune()
    assert not Cost.objects.exists()
