"""What was known of one server is not told of another one that was given its name."""

from __future__ import annotations

import pytest
from django.conf import LazySettings

from queues import discovery, identity, readings, registry
from queues.models import FailureGroup, FailureSignature, FailureStrand, Notable, Queue, Snapshot, Source, Stream
from tests.seed import seed_queue
from tests.valkey import Server, StartRedis

pytestmark = pytest.mark.django_db


def watch(server: Server, settings: LazySettings) -> None:
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    identity.recognise()


def test_another_server_under_the_same_name_begins_anew(start_redis: StartRedis, settings: LazySettings) -> None:
    old, new = start_redis(), start_redis()
    with old.client() as client:
        seed_queue(client, "mail", waiting=3)
    settings.MIRANTE_SOURCES = (old.config(),)
    registry.forget()
    discovery.scan("main")
    readings.store("main")
    identity.recognise()
    discovery.pin("main", "kept")
    old.stop()
    readings.store("main")
    assert Source.objects.get().down_since
    new.stop()
    watch(new, settings)
    reading = readings.read("main")
    assert [queue.ref.slug for queue in reading.queues] == ["kept"]
    assert reading.read_at is None
    assert not Snapshot.objects.exists()
    assert Source.objects.get().scan_finished_at is None
    assert Source.objects.get().tries == 1


def test_the_same_server_keeps_what_is_known(start_redis: StartRedis, settings: LazySettings) -> None:
    server = start_redis()
    with server.client() as client:
        seed_queue(client, "mail", waiting=3)
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    discovery.scan("main")
    readings.store("main")
    for _start in range(2):
        identity.recognise()
    assert Queue.objects.get().slug == "mail"
    assert Snapshot.objects.exists()
    assert Source.objects.get().address == registry.backend("main").address


def test_what_was_followed_of_another_server_is_forgotten_also_for_pinned_queues(
    start_redis: StartRedis, settings: LazySettings
) -> None:
    source = Source.objects.create(name="main")
    watch(start_redis(), settings)
    queue = Queue.objects.create(source=source, slug="kept", pinned=True)
    Stream.objects.create(queue=queue, last_id="1-1")
    Notable.objects.create(source=source, queue=queue, event_id="1-1", at_ms=1, kind="failed")
    watch(start_redis(), settings)
    assert Queue.objects.filter(slug="kept").exists()
    assert not Stream.objects.exists()
    assert not Notable.objects.exists()


def test_what_a_group_says_for_all_time_is_not_counted_twice_on_another_server(
    start_redis: StartRedis, settings: LazySettings
) -> None:
    source = Source.objects.create(name="main")
    watch(start_redis(), settings)
    group = FailureGroup.objects.create(source=source, slug="abc", title="boom", first_ms=1, last_ms=9, total=7)
    signature = FailureSignature.objects.create(source=source, group=group, digest="abc", version=1)
    for slug, pinned, total in (("mail", False, 4), ("kept", True, 3)):
        queue = Queue.objects.create(source=source, slug=slug, pinned=pinned)
        FailureStrand.objects.create(signature=signature, group=group, queue=queue, first_ms=1, last_ms=9, total=total)
    watch(start_redis(), settings)
    group.refresh_from_db()
    assert group.total == 3
