"""The index goes on through what servers, databases and hostile keys do, and says what it cannot read."""

# mypy: allow-untyped-calls

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from types import SimpleNamespace
from typing import NoReturn

import pytest
import redis
from django.conf import LazySettings
from django.conf import settings as django_settings
from django.db import OperationalError, connection
from django.utils import timezone

from queues import registry
from queues.errors import NotPermitted
from queues.failures import index
from queues.failures.desk import Desk
from queues.failures.index.pace import PAUSE_S, Pace
from queues.failures.index.source import SourceIndexer
from queues.failures.standing import SILENT, Index, standing
from queues.failures.store import Store, adding, leaving
from queues.failures.store.rows import Row
from queues.failures.store.tally import Tally
from queues.models import Failure, IndexedQueue, Indexing
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.queues.following import know
from tests.queues.indexing import equal, fail, in_index, indexer, key, on_server, progress, settle, state, sums_agree
from tests.valkey import StartRedis, eventually

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(valkey: redis.Redis, source: SourceConfig) -> QueueRef:
    return know(b"shop")[0]


def test_a_queue_that_cannot_be_read_says_why_and_stops_no_other(valkey: redis.Redis, source: SourceConfig) -> None:
    odd, shop = know(b"odd", b"shop")
    valkey.set(key(odd, "failed"), "no set")
    fail(valkey, shop, *range(10))
    one = indexer()
    settle(one)
    assert equal(valkey, shop)
    assert "another type" in progress(odd).error
    assert progress(shop).error == ""
    assert standing("main").refused == 1
    assert standing("main").index is Index.CURRENT  # it is not read for ever
    assert standing("main").complete
    valkey.delete(key(odd, "failed"))
    fail(valkey, odd, 1)
    settle(one)
    assert progress(odd).error == ""
    assert equal(valkey, odd)


def test_a_queue_that_our_user_may_not_read_is_tried_again_later(
    valkey: redis.Redis, source: SourceConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, shop = know(b"secret", b"shop")
    fail(valkey, secret, *range(10))
    fail(valkey, shop, *range(10))
    one = indexer()
    real = one._reader.failed_page

    def refusing(queue: QueueRef, **options: object) -> object:
        if queue == secret:
            raise NotPermitted("Our user may not read this.")
        return real(queue, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(one._reader, "failed_page", refusing)
    settle(one)
    assert progress(secret).error == "Our user may not read this."
    assert equal(valkey, shop)
    monkeypatch.undo()
    for track in one.tracks.values():
        track.again_at = 0.0
    settle(one)
    assert progress(secret).error == ""
    assert equal(valkey, secret)


def test_an_outage_is_said_and_what_failed_meanwhile_is_read(
    start_redis: StartRedis, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_redis("--appendonly", "yes")
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    client = server.client()
    [shop] = know(b"shop")
    fail(client, shop, *range(30))
    one = indexer()
    settle(one)
    server.stop()
    one.due_now("look")
    assert one.step() > 0
    assert state().why
    assert standing("main").index is Index.BLIND
    monkeypatch.setattr("queues.failures.index.standing.BEAT_S", 0.0)
    right_ms = standing("main").at_ms
    assert right_ms
    time.sleep(0.3)
    one.due_now("look")
    one.step()
    assert abs((standing("main").at_ms or 0) - right_ms) < 100  # what stands there grows no newer meanwhile
    server.start()
    eventually(client.ping)
    fail(client, shop, *range(100, 130))
    settle(one)
    assert state().why == ""
    assert equal(client, shop)
    one.close()
    registry.forget()


@pytest.mark.django_db(transaction=True)
def test_a_database_that_fails_now_and_then_costs_nothing(
    valkey: redis.Redis, shop: QueueRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(valkey, shop, *range(300))
    one = indexer()
    number = [0]
    for method in ("add", "gone", "progress", "known", "count", "samples", "stand"):
        real = getattr(Store, method)

        def failing(*args: object, real: object = real, **fields: object) -> object:
            number[0] += 1
            if number[0] % 3 == 0:
                raise OperationalError("database is locked")
            return real(*args, **fields)  # type: ignore[operator]

        monkeypatch.setattr(Store, method, failing)
    for _again in range(40):
        one.due_now()
        one.step()
    fail(valkey, shop, "late")
    valkey.zrem(key(shop, "failed"), "5", "6")
    for _again in range(40):
        one.due_now()
        one.step()
    monkeypatch.undo()
    settle(one)
    assert equal(valkey, shop)
    assert sums_agree()


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("sqlite3" not in str(django_settings.DATABASES["default"]["ENGINE"]), reason="for SQLite only")
def test_while_somebody_else_writes_nothing_is_lost(
    valkey: redis.Redis, shop: QueueRef, caplog: pytest.LogCaptureFixture
) -> None:
    fail(valkey, shop, *range(100))
    one = indexer()
    settle(one)
    fail(valkey, shop, *range(100, 200))
    with sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        one.due_now("look")
        one.step()
        one.step()
        other.execute("ROLLBACK")
    other.close()
    assert caplog.text.count("cannot be used now") == 1
    assert len(in_index(shop)) == 100
    settle(one)
    assert equal(valkey, shop)
    assert "indexed again" in caplog.text


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("sqlite3" not in str(django_settings.DATABASES["default"]["ENGINE"]), reason="for SQLite only")
def test_others_can_write_while_much_is_read(valkey: redis.Redis, shop: QueueRef) -> None:
    fail(valkey, shop, *range(8000))
    stop = threading.Event()
    desk = Desk("main")
    desk.epoch = 1
    thread = threading.Thread(target=index.run, args=("main", desk, stop))
    thread.start()
    try:
        eventually(Failure.objects.exists)
        while IndexedQueue.objects.filter(scanning=True).exists():
            Indexing.objects.filter(source__name="nobody").update(why="")  # as a page does: it raises when locked out
            time.sleep(0.02)
    finally:
        stop.set()
        thread.join(60)
    assert not thread.is_alive()
    assert equal(valkey, shop)


@pytest.mark.parametrize("trimmed", [False, True])
def test_others_get_their_turn_while_many_leave(
    valkey: redis.Redis, shop: QueueRef, monkeypatch: pytest.MonkeyPatch, trimmed: bool
) -> None:
    monkeypatch.setattr(leaving, "AT_ONCE", 10)
    fail(valkey, shop, *range(105))
    one = indexer()
    settle(one)
    turns: list[str] = []
    wait, hide = Pace.wait, adding.hide

    def waited(pace: Pace) -> None:
        turns.append("others")
        wait(pace)

    def hidden(left: Sequence[Row], tally: Tally) -> None:
        turns.append("gone")
        hide(left, tally)

    monkeypatch.setattr(Pace, "wait", waited)
    monkeypatch.setattr(adding, "hide", hidden)
    valkey.zremrangebyrank(key(shop, "failed"), 0, 99 if trimmed else -1)
    one.due_now("look")
    one.step()
    assert in_index(shop) == on_server(valkey, shop)
    assert turns.count("gone") > 9
    assert ("gone", "gone") not in set(pairwise(turns))


def test_an_error_that_nobody_foresaw_begins_anew(
    valkey: redis.Redis, shop: QueueRef, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stop = threading.Event()
    steps = []

    def odd(self: SourceIndexer) -> NoReturn:
        steps.append(self)
        if len(steps) == 2:
            stop.set()
        raise ZeroDivisionError("odd")

    monkeypatch.setattr(SourceIndexer, "step", odd)
    running = import_module("queues.failures.index.run")
    monkeypatch.setattr(running, "AGAIN_S", 0.0)
    # In this thread, whose connection is the test's.
    monkeypatch.setattr(running, "connections", SimpleNamespace(close_all=lambda: None))
    monkeypatch.setattr(running, "close_old_connections", lambda: None)
    index.run("main", Desk("main"), stop)
    assert len(set(map(id, steps))) == 2
    assert caplog.text.count("begins anew from what is stored") == 2


def test_the_pace_leaves_room_for_others() -> None:
    clock = [100.0]
    slept: list[float] = []
    pace = Pace(lambda: clock[0], slept.append)
    pace.wrote(1000, 0.2)
    pace.wait()
    assert slept == [pytest.approx(0.04)]
    assert pace.rows < 1000
    clock[0] += 0.05
    pace.wait()
    assert len(slept) == 1
    rows = pace.rows
    pace.wrote(rows, 0.01)
    pace.wait()
    assert slept[1] == pytest.approx(PAUSE_S)
    assert pace.rows > rows


def test_how_the_index_stands_is_said_in_a_word(valkey: redis.Redis, shop: QueueRef) -> None:
    assert standing("main").index is Index.NEVER
    fail(valkey, shop, *range(10))
    settle(indexer())
    told = standing("main")
    assert (told.index, told.complete, told.scanned, told.expected) == (Index.CURRENT, True, 10, 10)
    IndexedQueue.objects.update(scanning=True, scanned=4)
    told = standing("main")
    assert (told.index, told.scanned, told.expected, told.scanning) == (Index.READING, 4, 10, 1)
    IndexedQueue.objects.update(scanning=False)
    Indexing.objects.update(behind_ms=60_000)
    assert standing("main").index is Index.BEHIND
    Indexing.objects.update(why="it is down")
    assert standing("main").index is Index.BLIND
    Indexing.objects.update(beat_at=timezone.now() - SILENT * 2)
    assert standing("main").index is Index.SILENT
