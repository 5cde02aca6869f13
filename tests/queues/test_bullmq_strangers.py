"""What is no Redis, or refuses to be read: every call says so, with no empty answer and no crash."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
import redis
from pytest_django.fixtures import Settings

from queues import outages, readings, registry
from queues.backends.bullmq.reader import BullMQ
from queues.errors import NotPermitted, QueueError, Unreachable, Unsupported
from queues.models import Source
from queues.registry import SourceConfig
from queues.schedules.types import ScheduleRef
from queues.types import JobRef, QueueRef, State
from tests.strangers import parrot, silent
from tests.valkey import Server, StartRedis, free_port

SHOP = QueueRef("main", b"bull", b"shop")
JOB = JobRef(SHOP, b"1")
CALLS: dict[str, Callable[[BullMQ], object]] = {
    "health": lambda reader: reader.health(),
    "discover": lambda reader: list(reader.discover()),
    "counts": lambda reader: reader.counts([SHOP]),
    "counts of none": lambda reader: reader.counts([]),
    "workers": lambda reader: reader.workers(),
    "queue": lambda reader: reader.queue(SHOP),
    "failed": lambda reader: reader.jobs(SHOP, [State.FAILED]),
    "waiting": lambda reader: reader.jobs(SHOP, [State.WAITING], name="x"),
    "job": lambda reader: reader.job(JOB),
    "logs": lambda reader: reader.logs(JOB),
    "logs from": lambda reader: reader.logs(JOB, first=1),
    "body": lambda reader: reader.body(JOB, b"data"),
    "find": lambda reader: reader.find([SHOP], b"1"),
    "schedules": lambda reader: reader.schedules([SHOP]),
    "schedule": lambda reader: reader.schedule(ScheduleRef(SHOP, b"1")),
}
REPLIES = {
    "OK": b"+OK\r\n",
    "nil": b"$-1\r\n",
    "no array": b"*-1\r\n",
    "a number": b":1\r\n",
    "minus one": b":-1\r\n",
    "an empty string": b"$0\r\n\r\n",
    "an empty array": b"*0\r\n",
    "an array": b"*1\r\n$1\r\na\r\n",
    "two": b"*2\r\n$1\r\na\r\n*0\r\n",
    "three": b"*3\r\n$1\r\na\r\n:1\r\n*1\r\n:2\r\n",
    "an error": b"-ERR no\r\n",
    "another protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
}


def _reader(port: int, scheme: str = "redis") -> BullMQ:
    return BullMQ(SourceConfig("main", f"{scheme}://127.0.0.1:{port}/0"))


@pytest.mark.parametrize("reply", REPLIES)
def test_what_does_not_speak_like_redis_is_told_so_by_every_call(reply: str) -> None:
    quiet, told = [], []
    with parrot(REPLIES[reply], sound=reply != "another protocol") as port:
        reader = _reader(port)
        for name, call in CALLS.items():
            try:
                call(reader)
            except QueueError as error:
                told.append(str(error))
            else:
                quiet.append(name)
        reader.connection.close()
    assert all(told)
    # CLIENT LIST and the figures of health may be refused; then workers are unknown, and the figures.
    assert quiet == (["health", "workers"] if reply == "an error" else [])


@pytest.mark.parametrize("reply", ["OK", "nil", "a number", "an error"])
@pytest.mark.django_db
def test_a_source_without_queues_that_cannot_be_read_is_not_live(settings: Settings, reply: str) -> None:
    with parrot(REPLIES[reply]) as port:
        reading = _stored(settings, f"redis://127.0.0.1:{port}/0")
    assert not reading.live
    assert reading.error
    assert Source.objects.get().ok_at is None


def _stored(settings: Settings, url: str) -> readings.SourceReading:
    settings.MIRANTE_SOURCES = (SourceConfig("main", url),)
    registry.forget()
    try:
        return readings.store("main")
    finally:
        registry.backend("main").connection.close()  # type: ignore[attr-defined]
        registry.forget()
        outages.forget("main")


@pytest.mark.django_db
@pytest.mark.parametrize("without", ["scan", "evalsha"])
def test_a_user_who_may_not_read_is_told_what_is_refused_and_it_is_no_outage(
    settings: Settings, server: Server, store: redis.Redis, without: str
) -> None:
    store.acl_setuser("part", enabled=True, passwords=["+x"], keys=["*"], commands=["+@all", f"-{without}", "-eval"])
    url = server.url.replace("//", "//part:x@")
    try:
        reading = _stored(settings, url)
        assert (reading.live, reading.down_since) == (False, None)
        assert f"does not permit {without.upper()}" in reading.error
        source = Source.objects.get()
        assert (source.ok_at, source.down_since, source.error) == (None, None, reading.error)
        store.acl_setuser("part", commands=["+@all"], enabled=True)
        assert _stored(settings, url).live
        assert Source.objects.get().error == ""
    finally:
        store.acl_deluser("part")


@pytest.mark.django_db
def test_a_refusal_ends_an_outage_and_an_outage_a_refusal(
    settings: Settings, server: Server, store: redis.Redis
) -> None:
    outages.note_failure("main", "it was down")
    store.acl_setuser("part", enabled=True, passwords=["+x"], keys=["*"], commands=["+@all", "-scan"])
    try:
        assert _stored(settings, server.url.replace("//", "//part:x@")).down_since is None
        [status] = readings.status()
        assert (status.down_since, status.tries) == (None, 0)
        assert "SCAN" in status.error
    finally:
        store.acl_deluser("part")
    reading = _stored(settings, f"redis://127.0.0.1:{free_port()}/0")
    assert reading.down_since == Source.objects.get().down_since is not None
    assert "SCAN" not in Source.objects.get().error


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--cluster-enabled", "yes"), "Redis Cluster"),
        (("--rename-command", "SCAN", ""), "does not know SCAN"),
    ],
)
def test_a_server_of_another_kind_without_known_queues_cannot_be_read(
    settings: Settings, start_redis: StartRedis, options: tuple[str, ...], said: str
) -> None:
    if "--cluster-enabled" in options:
        options = (*options, "--cluster-port", str(free_port()))
    server = start_redis(*options)
    reading = _stored(settings, server.url)
    assert (reading.live, reading.down_since) == (False, None)
    assert said in reading.error


def test_a_probe_of_no_queues_names_what_is_refused(server: Server, store: redis.Redis) -> None:
    store.acl_setuser("part", enabled=True, passwords=["+x"], keys=["*"], commands=["+@all", "-scan"])
    try:
        with pytest.raises(NotPermitted, match="SCAN"):
            BullMQ(SourceConfig("main", server.url.replace("//", "//part:x@"))).counts([])
    finally:
        store.acl_deluser("part")


@pytest.mark.parametrize("scheme", ["redis", "rediss"])
def test_a_server_that_accepts_and_is_silent_costs_the_time_that_is_told(scheme: str) -> None:
    with silent() as port:
        reader = _reader(port, scheme)
        began = time.monotonic()
        with pytest.raises(Unreachable, match=r"did not answer within 1\.5 s"):
            reader.counts([SHOP])
        assert time.monotonic() - began < 4  # it was 5 s and more


def test_after_the_greeting_a_reply_may_take_longer(server: Server, store: redis.Redis) -> None:
    reader = BullMQ(server.config())
    reader.connection.call("PING")
    store.client_pause(2_500)
    try:
        assert reader.connection.call("PING") == b"PONG"
    finally:
        store.client_unpause()


def test_numbers_that_no_server_gives_are_not_taken_for_counts() -> None:
    with parrot(b":7\r\n", sound=True) as port:
        reader = _reader(port)
        with pytest.raises(Unsupported, match="does not speak like Redis"):
            reader.counts([SHOP])
        reader.connection.close()
