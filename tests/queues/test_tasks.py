"""What the worker does by the clock, and what a page may hand to it."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest
import redis
from celery import Celery, current_app
from celery.signals import worker_ready
from django.utils import timezone

from dashboard.celery import app as product
from queues import discovery, readings, tasks
from queues.models import Queue, Snapshot, Source
from tests.queues.fakes import FakeBackend, counts
from tests.valkey import Server

pytestmark = pytest.mark.django_db


@pytest.fixture
def eager() -> Iterator[None]:
    """Tasks run where they are sent from."""
    current_app.conf.task_always_eager = True
    yield
    current_app.conf.task_always_eager = False


@pytest.fixture
def no_broker() -> Iterator[None]:
    """A broker whose port refuses connections, behind an application without any settings of its own."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: it refuses, and nobody else can take it
        app = Celery("alone", broker=f"redis://127.0.0.1:{closed.getsockname()[1]}/0", set_as_current=True)
        yield
        app.close()
        product.set_current()


@pytest.mark.usefixtures("eager")
def test_every_source_is_read_and_stored_also_when_one_is_dead(two: tuple[FakeBackend, FakeBackend]) -> None:
    dead, live = two
    live.add("orders", counts(waiting=3), workers=1)
    discovery.scan("other")
    dead.down = "no"
    tasks.read_sources()
    assert [status.down_since is not None for status in readings.status()] == [True, False]
    snapshot = Snapshot.objects.get()
    assert (snapshot.source.name, snapshot.taken_at is not None) == ("other", True)
    assert snapshot.source.ok_at == snapshot.taken_at


@pytest.mark.usefixtures("eager")
def test_scans_start_for_the_sources_that_are_due(two: tuple[FakeBackend, FakeBackend]) -> None:
    first, second = two
    first.add("a")
    second.add("b")
    tasks.scan_sources()
    assert Queue.objects.count() == 2
    calls = first.commands_sent
    tasks.scan_sources()
    assert first.commands_sent == calls
    Source.objects.filter(name="main").update(scan_requested_at=timezone.now())
    tasks.scan_sources()
    assert first.commands_sent > calls
    assert not readings.read("main").scan.requested


@pytest.mark.usefixtures("eager")
def test_a_scan_that_is_no_longer_due_is_not_begun_and_one_that_ends_starts_those_that_waited(
    two: tuple[FakeBackend, FakeBackend],
) -> None:
    first, second = two
    first.add("a")
    second.add("b")
    tasks.scan_source("main")
    assert sorted(queue.slug for queue in Queue.objects.all()) == ["a", "b"]
    calls = first.commands_sent
    tasks.scan_source("main")
    assert first.commands_sent == calls


def test_a_worker_that_is_ready_looks_for_queues_and_reads_at_once(valkey_server: Server, valkey: redis.Redis) -> None:
    before = product.conf.broker_url, product.conf.broker_transport_options
    product.conf.update(broker_url=valkey_server.url, broker_transport_options={}, task_default_queue="ready")
    try:
        worker_ready.send(sender=None)
        sent = str(valkey.lrange("ready", 0, -1))
    finally:
        product.conf.update(broker_url=before[0], broker_transport_options=before[1], task_default_queue="mirante")
        product.close()
    assert '"queues.tasks.scan_sources"' in sent
    assert '"queues.tasks.read_sources"' in sent


@pytest.mark.usefixtures("eager")
def test_a_requested_scan_runs_at_once(main: FakeBackend) -> None:
    main.add("orders")
    assert tasks.request_scan("main")
    assert [queue.slug for queue in Queue.objects.all()] == ["orders"]


def test_a_page_does_not_wait_long_for_a_broker_that_never_answers(main: FakeBackend) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        app = Celery("alone", broker=f"redis://127.0.0.1:{silent.getsockname()[1]}/0", set_as_current=True)
        began = time.monotonic()
        assert not tasks.request_scan("main")
        assert time.monotonic() - began < 30  # two seconds, and not until somebody gives up
        app.close()
        product.set_current()


@pytest.mark.usefixtures("no_broker")
def test_a_scan_that_is_requested_without_a_broker_is_kept_for_the_next_look(main: FakeBackend) -> None:
    main.add("orders")
    assert not tasks.request_scan("main")
    assert readings.read("main").scan.requested
    assert "main" in discovery.due()
    tasks.read_sources()
    tasks.scan_sources()


def test_a_requested_scan_is_handed_to_a_worker_through_a_real_broker(main: FakeBackend, valkey_server: Server) -> None:
    app = Celery("alone", broker=valkey_server.url, set_as_current=True)
    app.conf.task_default_queue = "handed"
    try:
        assert tasks.request_scan("main")
        with valkey_server.client() as client:
            assert b'"queues.tasks.scan_sources"' in client.lrange("handed", 0, -1)[0]
            client.delete("handed")
    finally:
        app.close()
        product.set_current()


def test_tasks_of_a_source_that_left_the_configuration_do_nothing(main: FakeBackend) -> None:
    tasks.read_source("former")
    tasks.scan_source("former")
    assert not Source.objects.exists()


def test_every_task_has_an_end_to_its_worth() -> None:
    for task in (
        *(tasks.read_sources, tasks.read_source, tasks.scan_sources, tasks.scan_source),
        *(tasks.run_bulks, tasks.run_bulk, tasks.forget_old_events),
    ):
        assert task.expires
        assert task.ignore_result
