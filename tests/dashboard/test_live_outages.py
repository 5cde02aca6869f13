"""Live pages over the real server and a real channel layer, through what happens to both."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from channels.layers import channel_layers
from django.conf import LazySettings

from dashboard import broker
from dashboard.environment.urls import RedisUrl
from dashboard.live.groups import Publisher
from queues import interest
from queues.live import About, Topic
from tests.dashboard.browser_socket import BrowserSocket
from tests.dashboard.people import person, signed_in
from tests.dashboard.sockets import overview, source_news
from tests.dashboard.started import eventually
from tests.server import Server, StartServer
from tests.valkey import Server as Valkey
from tests.valkey import StartRedis

PATIENCE_S = 60.0


@pytest.fixture
def app_redis(start_redis: StartRedis, settings: LazySettings) -> Valkey:
    """A server of Mirante's own for one test, which this process uses too, as the follower does."""
    server = start_redis()
    settings.MIRANTE_APP_REDIS = SimpleNamespace(url=server.url, ca_file="")
    settings.CHANNEL_LAYERS = {"default": broker.channel_layer(RedisUrl(server.url))}
    return server


@pytest.fixture
def web(start_server: StartServer, app_redis: Valkey, valkey_server: Valkey) -> Iterator[Server]:
    server = start_server({"REDIS_URL": valkey_server.url, "APP_REDIS_URL": app_redis.url})
    yield server
    print(server.output)


@pytest.fixture
def publisher(app_redis: Valkey) -> Iterator[Publisher]:
    found = Publisher()
    yield found
    found.close()
    channel_layers.backends = {}


def session_of(role: str | None) -> str:
    return signed_in(person(role)).session.session_key or ""


def until_live(socket: BrowserSocket, publisher: Publisher, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Tell how the source stands each second, as the follower does, until a frame says what is expected."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        publisher.publish([source_news()])
        if holds(frame := socket.frame()):
            return frame
    raise AssertionError("no such frame")


def is_live(frame: dict[str, Any]) -> bool:
    return bool(frame["pulse"] == "live")


def is_blind(frame: dict[str, Any]) -> bool:
    return bool(frame["pulse"] == "blind")


def test_who_watches_is_known_to_the_follower(web: Server, publisher: Publisher) -> None:
    with closing(BrowserSocket(web.url, session_of("viewer"))) as socket:
        assert socket.status == 101
        socket.send(overview())
        eventually(lambda: Topic(About.OVERVIEW, "main") in publisher.watched("main"), "the overview is watched")
        until_live(socket, publisher, is_live)
    assert "Traceback" not in web.output


# DP-03
def test_frames_come_again_when_the_layers_server_was_restarted_or_emptied(
    web: Server, publisher: Publisher, app_redis: Valkey
) -> None:
    topic = Topic(About.OVERVIEW, "main")
    with closing(BrowserSocket(web.url, session_of("viewer"))) as socket:
        socket.send(overview())
        until_live(socket, publisher, is_live)
        eventually(lambda: topic in publisher.watched("main"), "it is watched")
        app_redis.stop()
        until_live(socket, publisher, is_blind)
        assert topic in publisher.watched("main")  # as it was last known
        app_redis.start()
        until_live(socket, publisher, is_live)
        eventually(lambda: topic in interest.watched("main"), "it is watched again")
        with app_redis.client() as client:
            client.flushall()
            client.client_kill_filter(_type="pubsub")
        until_live(socket, publisher, is_live)
        eventually(lambda: topic in interest.watched("main"), "it is watched again")
    assert "Traceback" not in web.output


def process_of(app_redis: Valkey) -> psutil.Process:
    """The server whose own Redis this is."""
    ours = psutil.Process(os.getpid()).children(recursive=True)
    [process] = [each for each in ours if each.environ().get("APP_REDIS_URL") == app_redis.url]
    return process


def test_a_server_that_stops_says_so_and_ends_soon(web: Server, publisher: Publisher, app_redis: Valkey) -> None:
    sockets = [BrowserSocket(web.url, session_of(role)) for role in ("viewer", "admin")]
    for socket in sockets:
        socket.send(overview())
        until_live(socket, publisher, is_live)
    process = process_of(app_redis)
    process.send_signal(signal.SIGTERM)
    assert [socket.close_code() for socket in sockets] == [1012, 1012]
    assert process.wait(15) == 0
    for socket in sockets:
        socket.close()
    assert "Traceback" not in web.output


# LV-03
def test_a_server_that_stops_ends_soon_also_with_fifty_sockets(
    web: Server, publisher: Publisher, app_redis: Valkey
) -> None:
    sessions = [session_of(role) for role in ("viewer", "admin")]
    sockets = [BrowserSocket(web.url, sessions[number % 2]) for number in range(50)]
    for socket in sockets:
        socket.send(overview())
    until_live(sockets[-1], publisher, is_live)
    process = process_of(app_redis)
    process.send_signal(signal.SIGTERM)
    assert process.wait(15) == 0
    # None: broken off before the word was out; pages take both alike.
    assert {socket.close_code() for socket in sockets} <= {1012, None}
    for socket in sockets:
        socket.close()
    assert "Traceback" not in web.output


@pytest.mark.parametrize(("role", "code"), [("", 4401), (None, 4403)])
def test_a_browser_is_told_why_it_may_not_watch(live: Server, role: str | None, code: int) -> None:
    with closing(BrowserSocket(live.url, "" if role == "" else session_of(role))) as socket:
        assert socket.status == 101
        assert socket.close_code() == code


def test_a_page_of_another_origin_is_refused_at_the_door(live: Server) -> None:
    with closing(BrowserSocket(live.url, session_of("admin"), origin="http://evil.example")) as socket:
        assert socket.status == 403


def test_no_message_leaves_a_trace_in_the_log(live: Server) -> None:
    before = len(live.output)
    values: list[object] = [
        "x" * 60_000,
        [[[[]]]],
        {"watch": {"page": "queue", "sources": ["main"], "queue": "\ud800"}},
    ]
    for value in values:
        with closing(BrowserSocket(live.url, session_of("viewer"))) as socket:
            socket.send(value)
            assert socket.close_code() in (4400, 4404)
    assert "Traceback" not in live.output[before:]
