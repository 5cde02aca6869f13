"""How an outage is kept: since when, told alike by every page and process, and ended by the first answer."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation
from pytest_django.fixtures import Settings

from queues import discovery, outages, readings, registry
from queues.backend import Backend
from queues.errors import NotFound, QueueError, Unreachable
from queues.models import Source
from queues.registry import SourceConfig
from queues.sources import ask_all
from queues.types import State
from tests.queues.fakes import FakeBackend, counts, ref
from tests.queues.rows import keep, writes
from tests.valkey import StartRedis, eventually

pytestmark = pytest.mark.django_db


def test_an_outage_keeps_the_time_at_which_it_began_and_ends_with_the_first_answer(main: FakeBackend) -> None:
    keep(main)
    main.down = "no"
    began = readings.read("main").down_since
    assert began is not None
    with CaptureQueriesContext(connection) as captured:
        again = readings.read("main")
    assert (again.down_since, again.tries, writes(captured)) == (began, 1, [])
    Source.objects.update(tried_at=timezone.now() - timedelta(seconds=6))
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
    before = timezone.now()
    since = outages.note_failure("main", "no")
    outages.note_success("main", before)
    assert Source.objects.get().down_since == since


def test_a_watched_use_fills_in_since_when_the_source_is_down(main: FakeBackend) -> None:
    main.down = "no"
    seen = []
    for _again in range(2):
        with pytest.raises(Unreachable, match="no") as caught, outages.watched("main") as backend:
            backend.health()
        seen.append(caught.value.since)
    assert seen[0] is not None
    assert seen[0] == seen[1] == Source.objects.get().down_since
    main.down = ""
    with outages.watched("main") as backend:
        backend.health()
    assert Source.objects.get().down_since is None


def test_an_error_that_is_no_outage_leaves_a_watched_use_unchanged(main: FakeBackend) -> None:
    with pytest.raises(NotFound), outages.watched("main") as backend:
        backend.queue(ref("x"))
    assert not Source.objects.exists()
    with pytest.raises(NotFound), outages.watched("nowhere"):
        pass


def test_after_a_failure_that_took_long_the_next_pages_do_not_wait_again(main: FakeBackend) -> None:
    told = outages.failed("main", Unreachable("it swallows packets", source="main"), took_s=30)
    calls = main.commands_sent
    with pytest.raises(Unreachable, match="swallows packets") as caught, outages.watched("main") as backend:
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


def test_a_real_server_that_is_gone_is_written_down_by_the_regular_reading(
    start_redis: StartRedis, settings: Settings, client: Client
) -> None:
    server = start_redis("--appendonly", "yes")
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    assert readings.store("main").live
    server.stop()
    since = readings.store("main").down_since
    assert since is not None
    assert Source.objects.get().down_since == since
    assert readings.status()[0].down_since == since
    told = client.get("/healthz").json()["sources"][0]
    assert (told["reachable"], told["down_since"][:19]) == (False, since.isoformat()[:19])
    server.start()
    eventually(lambda: readings.store("main").live)
    assert Source.objects.get().down_since is None
    assert client.get("/healthz").json()["sources"][0]["reachable"]


@pytest.fixture
def silent(settings: Settings) -> Iterator[None]:
    """The source `main` is a port that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        settings.MIRANTE_SOURCES = (SourceConfig("main", f"redis://127.0.0.1:{listening.getsockname()[1]}/0"),)
        registry.forget()
        yield
    registry.forget()
    outages.forget("main")


@pytest.mark.usefixtures("silent")
def test_a_server_that_never_answers_costs_its_timeout_once_and_then_fails_at_once() -> None:
    first = ask_all(["main"], lambda reader: reader.workers())["main"]
    assert isinstance(first, Unreachable)
    assert "did not answer within" in str(first)
    began = time.monotonic()
    for _again in range(20):
        with pytest.raises(Unreachable) as later, outages.watched("main") as reader:
            reader.workers()
        assert (str(later.value), later.value.since) == (str(first), first.since)
    assert time.monotonic() - began < 1


def test_an_answer_to_another_process_ends_the_hold_of_this_one(main: FakeBackend) -> None:
    outages.failed("main", Unreachable("it swallows packets", source="main"), took_s=30)
    assert not readings.read("main").live
    Source.objects.update(down_since=None)  # as the other process writes it
    reading = readings.read("main")
    assert (reading.live, reading.down_since) == (True, None)


def test_an_outage_that_began_anew_is_not_told_with_the_time_of_the_one_before(main: FakeBackend) -> None:
    before = outages.failed("main", Unreachable("it swallows packets", source="main"), took_s=30).since
    later = timezone.now()
    Source.objects.update(down_since=later)  # another process has seen it come and go again
    main.down = "no"
    assert readings.read("main").down_since == later != before


def test_an_outage_that_no_page_saw_end_is_followed_by_one_with_a_start_of_its_own(main: FakeBackend) -> None:
    main.down = "no"
    first = readings.read("main").down_since  # a page; from here on only the regular reading asks
    assert first is not None
    assert readings.store("main").down_since == first
    main.down = ""
    assert readings.store("main").live
    between = timezone.now()
    main.down = "again"
    second = readings.store("main").down_since
    assert second is not None
    assert first < between < second
    seen = [readings.read("main").down_since, readings.status()[0].down_since, Source.objects.get().down_since]
    assert seen == [second] * 3
    assert readings.status()[0].error == "again"


def test_several_sources_are_asked_in_the_language_of_whoever_asks(two: tuple[FakeBackend, FakeBackend]) -> None:
    languages: list[str | None] = []

    def ask(reader: Backend) -> int:
        languages.append(translation.get_language())
        if reader.source == "other":
            raise NotFound("not an outage")
        return 7

    with translation.override("pt-br"):
        answers = ask_all(["other", "main"], ask)
    assert languages == ["pt-br", "pt-br"]
    assert list(answers) == ["other", "main"]
    assert isinstance(answers["other"], QueueError)
    assert answers["main"] == 7
    with pytest.raises(NotFound):
        ask_all(["main", "nowhere"], ask)
