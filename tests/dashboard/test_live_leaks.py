"""Sockets that come and go leave nothing behind, whether they say goodbye or not, and outlive what a layer forgets."""

from __future__ import annotations

import asyncio
import os
import socket as network
import struct
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.conf import LazySettings

from dashboard.live import hub, listening
from queues import interest
from queues.live import About, Topic
from queues.quantities import now_ms
from queues.registry import SourceConfig
from tests.dashboard.browser_socket import BrowserSocket
from tests.dashboard.people import person, signed_in
from tests.dashboard.sockets import PATIENCE_S, Socket, overview, source_news, tell, told_when_listening
from tests.policy import rounds
from tests.server import Server
from tests.valkey import Server as Valkey
from tests.valkey import eventually

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = 25
ROUNDS = rounds(sample=3, soak=20)


@pytest.fixture
def one_source(settings: LazySettings) -> None:
    settings.MIRANTE_SOURCES = (SourceConfig("main", "redis://none"),)
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}  # an empty one
    settings.ALLOWED_HOSTS = ["testserver"]
    interest.LOCAL.clear()


def session() -> str:
    return signed_in(person("viewer")).session.session_key or ""


def page(kind: str, **names: str) -> dict[str, Any]:
    return {"watch": {"page": kind, "sources": ["main"], "read": now_ms(), "after": "", **names}}


PAGES = (
    overview(),
    page("queue", queue="orders"),
    page("job", queue="orders", job="7"),
    page("source"),
)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.01)


# LV-03
async def test_nothing_of_a_socket_stays_however_it_ends(one_source: None) -> None:
    key = await sync_to_async(session)()
    keeper = Socket(key)
    assert await keeper.opened()
    await keeper.send(page("source"))
    centre = None
    for _round in range(3):
        sockets = []
        for message in PAGES:
            for _each in range(2):
                sockets.append(one := Socket(key))
                assert await one.opened()
                await one.send(message)
        await told_when_listening(source_news())
        centre = hub.hub()
        await until(lambda: len(centre._viewers) == 2 * len(PAGES) + 1)  # noqa: B023
        for number, one in enumerate(sockets):
            if number % 2:
                await one.gone()
            else:
                one.killed()
        await until(lambda: len(centre._viewers) == 1)  # noqa: B023
        await until(lambda: centre._listening.joined == {Topic(About.SOURCE, "main")})  # noqa: B023
    assert centre is not None
    assert set(centre._watching) == {Topic(About.SOURCE, "main")}
    assert {topic.about for topic, _language in centre._boards} == {About.SOURCE}
    assert set(centre._heard) == {"main"}
    layer: Any = get_channel_layer()
    assert [len(members) for members in layer.groups.values()] == [1]
    await keeper.gone()


# LV-03
async def test_a_socket_outlives_the_time_for_which_a_layer_keeps_its_groups(
    one_source: None, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = "channels.layers.InMemoryChannelLayer"
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": backend, "CONFIG": {"group_expiry": 1}}}
    monkeypatch.setattr(listening, "RENEW_S", 0.3)
    monkeypatch.setattr(listening, "AGAIN_S", 0.1)
    socket = Socket(await sync_to_async(session)())
    assert await socket.opened()
    await socket.send(overview())
    await told_when_listening(source_news())
    opened = time.monotonic()
    while time.monotonic() - opened < 2.5:
        await tell(source_news())
        assert (await socket.frame())["pulse"] in ("live", "blind")
    before = now_ms()
    await told_when_listening(source_news())
    async with asyncio.timeout(PATIENCE_S):
        while ((frame := await socket.frame())["at"] or 0) < before:
            await told_when_listening(source_news())
    assert frame["pulse"] == "live"
    await socket.gone()


def kill(socket: BrowserSocket) -> None:
    """Broken off: no closing frame, no FIN."""
    socket._socket.setsockopt(network.SOL_SOCKET, network.SO_LINGER, struct.pack("ii", 1, 0))
    socket.close()


# LV-03
def test_many_sockets_that_are_killed_leave_no_memory_no_groups_and_no_interest(
    live: Server, live_environment: dict[str, str], valkey_server: Valkey
) -> None:
    key = session()
    [process] = [
        each for each in psutil.Process(os.getpid()).children() if live.url.rpartition(":")[2] in addresses(each)
    ]
    used = []
    own = valkey_server.client()
    own.connection_pool.connection_kwargs["db"] = 1
    others = set(own.pubsub_channels())  # of event loops of other tests, until their memory is collected
    for _round in range(ROUNDS):
        sockets = [BrowserSocket(live.url, key) for _each in range(AT_ONCE)]
        for number, socket in enumerate(sockets):
            socket.send(PAGES[number % len(PAGES)])
        assert {socket.frame()["n"] > 0 for socket in sockets} == {True}
        for number, socket in enumerate(sockets):
            (kill if number % 2 else BrowserSocket.close)(socket)
        eventually(lambda: not held(process), within=PATIENCE_S)
        used.append(process.memory_info().rss)
    eventually(lambda: set(own.pubsub_channels()) <= others, within=PATIENCE_S)
    own.close()
    assert used[-1] < used[0] * 1.1, used
    assert "Traceback" not in live.output


def addresses(process: psutil.Process) -> set[str]:
    return {str(each.laddr.port) for each in process.net_connections("tcp") if each.status == psutil.CONN_LISTEN}


def held(process: psutil.Process) -> list[int]:
    """Ports of browsers whose sockets the server still holds."""
    [port] = addresses(process)
    found = process.net_connections("tcp")
    return [each.raddr.port for each in found if len(each.raddr) and str(each.laddr.port) == port]
