"""Web sockets at addresses where none is."""

from __future__ import annotations

import http.client
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from channels.generic.websocket import WebsocketConsumer
from channels.routing import ProtocolTypeRouter
from channels.testing import WebsocketCommunicator
from django.urls import path

from dashboard.sockets import router
from dashboard.subpath import SubPath
from tests.server import Server

HANDSHAKE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
}


@pytest.mark.parametrize("asked", ["/", "/queues/main/orders/", "/nowhere"])
def test_a_socket_where_none_is_gets_403_and_leaves_no_trace_in_the_log(live: Server, asked: str) -> None:
    before = len(live.output)
    connection = http.client.HTTPConnection(urlsplit(live.url).netloc, timeout=60)
    connection.request("GET", asked, headers=HANDSHAKE)
    assert connection.getresponse().status == 403
    connection.close()
    assert "Traceback" not in live.output[before:]
    assert "ValueError" not in live.output[before:]


@pytest.mark.django_db  # Channels looks after the connections of its thread
@pytest.mark.parametrize("prefix", ["", "/mirante"])
@pytest.mark.parametrize(("asked", "found"), [("/live/", True), ("/live", False), ("/", False), ("", False)])
async def test_only_a_socket_that_is_there_is_opened(prefix: str, asked: str, found: bool) -> None:
    there = path("live/", cast("Any", WebsocketConsumer.as_asgi()))
    served = SubPath(ProtocolTypeRouter({"websocket": router(there)}), prefix=prefix)
    socket = WebsocketCommunicator(served, prefix + asked)
    connected, _ = await socket.connect(timeout=30)
    assert connected is found
    await socket.disconnect(timeout=30)
