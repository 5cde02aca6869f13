"""Who watches what."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import redis
from pytest_django.fixtures import Settings

from queues import interest
from queues.errors import Unreachable
from queues.live import About, Topic
from tests.valkey import Server, StartRedis

QUEUE = Topic(About.QUEUE, "main", "a:~_w", "")
JOB = Topic(About.JOB, "main", "orders", "1:é\0")
OTHER = Topic(About.OVERVIEW, "other")


@pytest.fixture(params=["in process", "valkey_server", "redis_server"])
def kept(request: pytest.FixtureRequest, settings: Settings) -> str:
    interest.LOCAL.clear()
    settings.MIRANTE_APP_REDIS = None
    if request.param != "in process":
        server: Server = request.getfixturevalue(request.param)
        with server.client() as client:
            client.flushall()
        settings.MIRANTE_APP_REDIS = SimpleNamespace(url=f"redis://127.0.0.1:{server.port}/3", ca_file="")
    return str(request.param)


def test_what_is_told_is_watched_by_source(kept: str) -> None:
    assert set(interest.watched("main")) == set()
    interest.tell([QUEUE, JOB, OTHER])
    interest.tell([QUEUE])
    assert set(interest.watched("main")) == {QUEUE, JOB}
    assert set(interest.watched("other")) == {OTHER}
    assert set(interest.watched("nobody")) == set()


def test_it_runs_out_unless_it_is_renewed(kept: str) -> None:
    interest.tell([QUEUE, JOB], expiry_s=60)
    interest.tell([JOB], expiry_s=0)
    assert set(interest.watched("main")) == {QUEUE}
    interest.tell([JOB])
    assert set(interest.watched("main")) == {QUEUE, JOB}


def test_nothing_stays_in_redis_when_nobody_renews_it(server: Server, store: redis.Redis, settings: Settings) -> None:
    settings.MIRANTE_APP_REDIS = SimpleNamespace(url=server.url, ca_file="")
    interest.tell([QUEUE, OTHER])
    assert all(0 < store.pttl(key) <= interest.EXPIRY_S * 1_000 for key in store.keys("*"))
    store.zadd("mirante:watched:main", {b"\xff": 1e15, b"[1]": 1e15, b'["queue"]': 1e15, b'["later","a","b"]': 1e15})
    assert set(interest.watched("main")) == {QUEUE}


def test_a_server_that_does_not_answer_is_said_without_its_password(
    start_redis: StartRedis, settings: Settings
) -> None:
    server = start_redis()
    settings.MIRANTE_APP_REDIS = SimpleNamespace(url=f"redis://:secret@127.0.0.1:{server.port}/0", ca_file="")
    server.stop()
    for call in (lambda: interest.tell([QUEUE]), lambda: interest.watched("main")):
        with pytest.raises(Unreachable, match="APP_REDIS_URL") as raised:
            call()
        assert "secret" not in str(raised.value)


def test_a_restart_is_survived(start_redis: StartRedis, settings: Settings) -> None:
    server = start_redis()
    settings.MIRANTE_APP_REDIS = SimpleNamespace(url=server.url, ca_file="")
    interest.tell([QUEUE])
    server.stop()
    server.start()
    assert set(interest.watched("main")) == set()
    interest.tell([QUEUE])
    assert set(interest.watched("main")) == {QUEUE}
