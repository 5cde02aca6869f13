"""How queues are found, kept, called gone and dropped."""

from __future__ import annotations

from datetime import timedelta

import pytest
import redis
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import Settings

from queues import discovery, readings, registry
from queues.errors import BadInput, NotFound
from queues.models import Queue, Source
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.node import Node
from tests.queues.fakes import FakeBackend, counts, ref
from tests.valkey import Server, StartRedis

pytestmark = pytest.mark.django_db


def slugs() -> dict[str, bool]:
    """All queues in the database, and whether each is gone."""
    return {queue.slug: queue.gone_since is not None for queue in Queue.objects.order_by("slug")}


def make_due() -> None:
    Source.objects.update(scan_started_at=timezone.now() - timedelta(hours=1))


def test_a_scan_finds_all_queues_and_says_how_it_went(main: FakeBackend) -> None:
    main.add("orders")
    main.queues[QueueRef("main", b"{tag}:x", b"<b>\xff</b>")] = counts()
    assert discovery.scan("main")
    assert slugs() == {"orders": False, QueueRef("main", b"{tag}:x", b"<b>\xff</b>").slug: False}
    scan = readings.read("main").scan
    assert (scan.running, scan.requested, scan.keys, scan.error) == (False, False, 20, "")
    assert scan.finished_at is not None
    assert readings.names("main") == set(main.queues)


def test_queues_stand_in_the_database_while_the_scan_goes_on(
    main: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "FLUSH_ROWS", 1)
    for name in "abc":
        main.add(name)
    seen = []

    def look(step: int) -> None:
        seen.append((list(slugs()), readings.scan_state(Source.objects.get()).running, Source.objects.get().scan_keys))

    main.between = look
    discovery.scan("main")
    assert seen == [([], True, 0), (["a"], True, 10), (["a", "b"], True, 20)]
    assert list(slugs()) == ["a", "b", "c"]


def test_a_vanished_queue_is_gone_then_dropped_after_seven_days_unless_it_is_pinned(main: FakeBackend) -> None:
    for name in ("kept", "lost", "pinned"):
        main.add(name)
    discovery.scan("main")
    discovery.pin("main", "pinned")
    del main.queues[ref("lost")], main.queues[ref("pinned")]
    discovery.scan("main")
    assert slugs() == {"kept": False, "lost": True, "pinned": True}
    since = Queue.objects.get(slug="lost").gone_since
    discovery.scan("main")
    assert Queue.objects.get(slug="lost").gone_since == since
    Queue.objects.filter(gone_since__isnull=False).update(gone_since=timezone.now() - timedelta(days=7, seconds=1))
    discovery.scan("main")
    assert slugs() == {"kept": False, "pinned": True}


def test_a_queue_that_reappears_is_no_longer_gone(main: FakeBackend) -> None:
    main.add("orders")
    discovery.scan("main")
    found_at = Queue.objects.get().found_at
    main.queues.clear()
    discovery.scan("main")
    assert slugs() == {"orders": True}
    main.add("orders")
    discovery.scan("main")
    assert slugs() == {"orders": False}
    assert Queue.objects.get().found_at == found_at


def test_a_queue_that_a_scan_misses_is_not_gone_while_its_keys_are_there(main: FakeBackend) -> None:
    main.add("orders")
    discovery.scan("main")
    main.hidden.add(ref("orders"))
    discovery.scan("main")
    assert slugs() == {"orders": False}


def test_a_scan_that_fails_marks_nothing_gone_and_keeps_its_error(main: FakeBackend) -> None:
    for name in ("a", "b", "c"):
        main.add(name)
    discovery.scan("main")
    finished = Source.objects.get().scan_finished_at
    del main.queues[ref("a")]

    def cut(step: int) -> None:
        main.down = "the connection was cut" if step == 2 else ""

    main.between = cut
    assert discovery.scan("main")
    assert slugs() == {"a": False, "b": False, "c": False}
    source = Source.objects.get()
    assert (source.scan_error, source.scan_finished_at) == ("the connection was cut", finished)
    assert source.down_since is not None
    assert not readings.scan_state(source).running
    main.between, main.down = lambda step: None, ""
    discovery.scan("main")
    assert slugs() == {"a": True, "b": False, "c": False}
    source = Source.objects.get()
    assert (source.scan_error, source.down_since) == ("", None)


def test_a_scan_that_is_interrupted_marks_nothing_gone_and_gives_the_source_free(main: FakeBackend) -> None:
    main.add("a")
    main.add("b")
    discovery.scan("main")
    del main.queues[ref("a")]

    def stop(step: int) -> None:
        raise KeyboardInterrupt

    main.between = stop
    with pytest.raises(KeyboardInterrupt):
        discovery.scan("main")
    assert slugs() == {"a": False, "b": False}
    assert Source.objects.get().scan_error == "It was interrupted."
    main.between = lambda step: None
    assert discovery.scan("main")


def test_a_scan_that_takes_too_long_is_stopped_and_keeps_what_it_found(
    main: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        main.add(name)
    monkeypatch.setattr(discovery, "FLUSH_ROWS", 1)
    main.between = lambda step: monkeypatch.setattr(discovery, "LONGEST_S", -1) if step == 2 else None
    assert discovery.scan("main")
    assert list(slugs()) == ["a", "b"]
    source = Source.objects.get()
    assert source.scan_error.startswith("It was stopped after")
    assert source.scan_finished_at is None


def test_a_second_scan_of_the_same_source_does_nothing_while_one_runs(main: FakeBackend) -> None:
    main.add("a")
    second: list[bool] = []
    main.between = lambda step: second.append(discovery.scan("main"))
    assert discovery.scan("main")
    assert second == [False]
    assert slugs() == {"a": False}


def test_a_scan_that_died_silently_is_replaced_and_cannot_write_any_more(main: FakeBackend) -> None:
    main.add("a")
    main.add("b")
    discovery.scan("main")
    del main.queues[ref("a")]
    replaced: list[bool] = []

    def fall_silent(step: int) -> None:
        main.between = lambda step: None
        Source.objects.update(scan_beat_at=timezone.now() - timedelta(seconds=31))
        replaced.append(discovery.scan("main"))
        main.add("a")
        Queue.objects.all().delete()

    main.between = fall_silent
    assert discovery.scan("main")
    assert replaced == [True]
    assert slugs() == {}  # the silent one wrote nothing after it had been replaced
    source = Source.objects.get()
    assert (source.scan_beat_at, source.scan_error) == (None, "")


def test_names_that_are_too_long_to_keep_are_skipped_and_counted(main: FakeBackend) -> None:
    main.add("x" * 2000)
    main.add("y" * 2001)
    discovery.scan("main")
    assert list(slugs()) == ["x" * 2000]
    assert readings.read("main").scan.skipped == 1


def test_a_pinned_queue_is_listed_though_no_scan_finds_it(main: FakeBackend) -> None:
    discovery.pin("main", "tag:hidden")
    assert [queue.pinned for queue in readings.read("main").queues] == [True]
    main.queues[QueueRef("main", b"tag", b"hidden")] = counts(waiting=1)
    main.hidden = set(main.queues)
    discovery.scan("main")
    assert slugs() == {"tag:hidden": False}
    discovery.unpin("main", "tag:hidden")
    assert not Queue.objects.get().pinned  # it was seen: only its keys decide now


def test_unpinning_a_queue_that_was_never_seen_drops_it(main: FakeBackend) -> None:
    discovery.pin("main", "typo")
    discovery.unpin("main", "typo")
    assert slugs() == {}


@pytest.mark.parametrize("slug", ["", "a b", "bull:orders", "~", "x" * 2001, "a:b:c", "é"])
def test_a_slug_that_names_no_queue_cannot_be_pinned(main: FakeBackend, slug: str) -> None:
    with pytest.raises(BadInput):
        discovery.pin("main", slug)
    assert not Queue.objects.exists()


def test_a_source_that_is_not_configured_is_neither_scanned_nor_pinned_to(main: FakeBackend) -> None:
    for act in (discovery.scan, discovery.wish, lambda name: discovery.pin(name, "a")):
        with pytest.raises(NotFound):
            act("nowhere")
    assert not Source.objects.exists()


def test_queues_outside_the_configured_prefixes_leave_the_list_unless_they_are_pinned(
    main: FakeBackend, settings: Settings
) -> None:
    for prefix in (b"bull", b"other", b"pinned"):
        main.queues[QueueRef("main", prefix, b"q")] = counts()
    discovery.scan("main")
    discovery.pin("main", "pinned:q")
    settings.MIRANTE_SOURCES = (SourceConfig("main", "", kind="memory", prefixes=("bull",)),)
    registry.forget()
    narrowed = registry.backend("main")
    assert isinstance(narrowed, FakeBackend)
    narrowed.queues = dict(main.queues)
    narrowed.hidden = {queue for queue in main.queues if queue.prefix != b"bull"}
    discovery.scan("main")
    assert slugs() == {"pinned:q": False, "q": False}


def test_a_scan_is_due_at_first_then_after_a_pause_that_grows_with_its_duration(main: FakeBackend) -> None:
    def due() -> bool:
        return "main" in discovery.due()

    assert due()
    discovery.scan("main")
    assert not due()
    now = timezone.now()
    Source.objects.update(scan_started_at=now - timedelta(seconds=31), scan_seconds=1)
    assert due()
    Source.objects.update(scan_seconds=2)
    assert not due()
    Source.objects.update(scan_started_at=now - timedelta(seconds=41))
    assert due()
    Source.objects.update(scan_beat_at=now)
    assert not due()  # one is running
    Source.objects.update(scan_beat_at=now - timedelta(seconds=31))
    assert due()  # it has died


@pytest.mark.parametrize("broken", ["down", "endless"])
def test_a_scan_that_breaks_off_is_followed_by_the_same_rest_as_one_that_ends(
    main: FakeBackend, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    main.add("a")

    def break_off(step: int) -> None:
        if broken == "endless":
            monkeypatch.setattr(discovery, "LONGEST_S", -1)
        else:
            main.down = "no"

    main.between = break_off
    assert discovery.scan("main")
    source = Source.objects.get()
    assert source.scan_error
    assert source.scan_seconds > 0


def test_no_more_than_two_scans_run_at_once_and_who_was_asked_for_or_waited_longest_is_next(
    main: FakeBackend, settings: Settings
) -> None:
    names = ("a", "b", "c", "d", "e")
    settings.MIRANTE_SOURCES = tuple(SourceConfig(name, "", kind="memory") for name in names)
    now = timezone.now()
    for hours, name in enumerate(names):
        Source.objects.create(name=name, scan_started_at=now - timedelta(hours=hours + 1))
    assert discovery.due() == ["e", "d"]
    discovery.wish("b")
    assert discovery.due() == ["b", "e"]
    Source.objects.filter(name="e").update(scan_beat_at=timezone.now())
    assert discovery.due() == ["b"]
    Source.objects.filter(name="c").update(scan_beat_at=timezone.now())
    assert discovery.due() == []


def test_finding_a_thousand_queues_again_takes_a_handful_of_statements(main: FakeBackend) -> None:
    for number in range(1000):
        main.add(f"queue-{number:04}")
    discovery.scan("main")
    with CaptureQueriesContext(connection) as captured:
        discovery.scan("main")
    assert Queue.objects.count() == 1000
    assert len(captured) <= 40


def seed(valkey: redis.Redis, *names: str) -> None:
    """Queues as a BullMQ 5 leaves them, with a waiting job each."""
    for name in names:
        valkey.hset(f"bull:{name}:meta", mapping={"version": "bullmq:5.81.5", "opts.maxLenEvents": "10000"})
        valkey.lpush(f"bull:{name}:wait", "1")
        valkey.hset(f"bull:{name}:1", mapping={"name": "x", "data": "{}", "opts": "{}", "timestamp": "1"})


@pytest.mark.usefixtures("source")
def test_queues_of_a_real_server_are_found_between_thousands_of_other_keys(valkey: redis.Redis) -> None:
    valkey.mset({f"session:{number}": "x" for number in range(5000)})
    seed(valkey, "orders", "payments", "sms")
    assert discovery.scan("main")
    assert slugs() == {"orders": False, "payments": False, "sms": False}
    assert readings.read("main").scan.keys == valkey.dbsize()
    valkey.delete(*valkey.keys("bull:sms:*"))
    discovery.scan("main")
    assert slugs() == {"orders": False, "payments": False, "sms": True}
    seed(valkey, "sms")
    discovery.scan("main")
    assert slugs() == {"orders": False, "payments": False, "sms": False}


@pytest.mark.usefixtures("source")
def test_a_pinned_queue_without_meta_is_listed_and_counted_on_a_real_server(valkey: redis.Redis) -> None:
    discovery.pin("main", "bare")
    valkey.lpush("bull:bare:wait", "1", "2")
    discovery.scan("main")
    assert slugs() == {"bare": False}
    found = readings.read("main").queues[0].counts
    assert found is not None
    assert found.backlog == 2


def test_a_scan_of_a_server_that_dies_says_so_and_marks_nothing_gone(
    start_redis: StartRedis, settings: Settings
) -> None:
    server = start_redis()
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    with server.client() as client:
        seed(client, "orders")
    discovery.scan("main")
    server.stop()
    assert discovery.scan("main")
    source = Source.objects.get()
    assert str(server.port) in source.scan_error
    assert source.down_since is not None
    assert slugs() == {"orders": False}


@pytest.mark.node
@pytest.mark.usefixtures("source")
def test_queues_that_every_major_of_the_library_made_are_found_also_when_idle(
    node: Node, valkey_server: Server
) -> None:
    body = """
    for (const major of [4, 5, 6]) {
        await queue(major, `used-${major}`).add('x', {});
        await queue(major, `idle-${major}`).waitUntilReady();
        await queue(major, `odd ${major}/é`, {prefix: '{shop}:jobs'}).add('x', {});
    }
    """
    node.run(body, url=valkey_server.url)
    discovery.scan("main")
    found = {queue.label for queue in readings.names("main")}
    for major in (4, 5, 6):
        assert {f"used-{major}", f"idle-{major}", f"{{shop}}:jobs:odd {major}/é"} <= found
    assert len(found) == 9
