"""Sockets of live pages: within this process, and over the network as a browser opens them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

from channels.layers import get_channel_layer
from channels.routing import ProtocolTypeRouter
from channels.testing import WebsocketCommunicator
from django.conf import settings

from dashboard.live.groups import group, message
from dashboard.sockets import router, routes
from dashboard.subpath import SubPath
from queues.live import News, OverviewNews, Pulse, QueueNews, RowNews, SourceNews, Standing
from queues.quantities import now_ms
from queues.types import QueueRef
from tests.queues.fakes import counts

PATIENCE_S = 60.0
HOST = "testserver"


def overview(*sources: str) -> dict[str, Any]:
    """The message of an overview page."""
    return {"watch": {"page": "overview", "sources": list(sources or ("main",)), "read": now_ms(), "after": ""}}


class Socket:
    """A browser's socket to the application of this very process."""

    def __init__(
        self,
        session: str = "",
        *,
        origin: str | None = f"http://{HOST}",
        host: str = HOST,
        prefix: str = "",
        **headers: str,
    ) -> None:
        sent = {"host": host, "cookie": f"{settings.SESSION_COOKIE_NAME}={session}", **headers}
        if origin is not None:
            sent["origin"] = origin
        encoded = [(name.replace("_", "-").encode(), value.encode("latin1")) for name, value in sent.items()]
        served = SubPath(ProtocolTypeRouter({"websocket": router(*routes())}), prefix=prefix)
        self._wire = WebsocketCommunicator(served, f"{prefix}/live/", headers=encoded)

    async def opened(self) -> bool:
        connected, _code = await self._wire.connect(timeout=PATIENCE_S)
        return connected

    async def send(self, value: object) -> None:
        await self._wire.send_to(text_data=value if isinstance(value, str) else json.dumps(value))

    async def send_bytes(self, value: bytes) -> None:
        await self._wire.send_to(bytes_data=value)

    async def text(self) -> str:
        """The next frame as it was sent; it is not acknowledged."""
        found = await self._wire.receive_output(PATIENCE_S)
        assert found["type"] == "websocket.send", found
        return str(found["text"])

    async def frame(self) -> dict[str, Any]:
        """The next frame, acknowledged."""
        found: dict[str, Any] = json.loads(await self.text())
        await self.send({"ack": found["n"]})
        return found

    async def until(self, *names: str) -> dict[str, Any]:
        """The next frame that has all of these members."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found = await self.frame()
                if all(name in found for name in names):
                    return found

    async def close_code(self) -> int:
        """The code with which the server closes it, whatever it sends before."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found = await self._wire.receive_output(PATIENCE_S)
                if found["type"] == "websocket.close":
                    return int(found.get("code") or 1000)
                await self.send({"ack": json.loads(found["text"])["n"]})

    def killed(self) -> None:
        """The connection is broken off: the server hears nothing more, and ends the application as Daphne does."""
        self._wire.stop(exceptions=False)

    async def gone(self) -> None:
        await self._wire.disconnect(timeout=PATIENCE_S)


def standing(pulse: Pulse = Pulse.LIVE) -> Standing:
    return Standing(pulse, now_ms(), events_per_s=1.5)


def row(name: str, source: str = "main", *, changed_ms: int | None = None, **by_state: Any) -> RowNews:
    now = now_ms()
    return RowNews(QueueRef(source, b"bull", name.encode()), now, changed_ms or now, counts(**by_state), 1)


async def tell(*news: News) -> None:
    """As the follower does it."""
    layer: Any = get_channel_layer()
    for each in news:
        await layer.group_send(group(each.topic), message(each))


async def told_when_listening(*news: News) -> None:
    """Wait until somebody of this process listens to these, then tell them."""
    layer: Any = get_channel_layer()
    async with asyncio.timeout(PATIENCE_S):
        while not all(group(each.topic) in layer.groups for each in news):
            await asyncio.sleep(0.01)
    await tell(*news)


def overview_news(*rows: RowNews, whole: bool = False, source: str = "main") -> OverviewNews:
    return OverviewNews(source, standing(), rows, whole)


def queue_news(name: str, source: str = "main", **values: Any) -> QueueNews:
    return QueueNews(QueueRef(source, b"bull", name.encode()), standing(), **values)


def source_news(source: str = "main", pulse: Pulse = Pulse.LIVE) -> SourceNews:
    return SourceNews(source, standing(pulse))


def parts_of(frame: Mapping[str, Any]) -> dict[str, str]:
    return dict(frame.get("parts", {}))


def unnumbered(text: str) -> str:
    """A frame without its number: one that is written anew between two sockets has another."""
    return re.sub(r'^\{"n":[0-9]+,', "{", text)
