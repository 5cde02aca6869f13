"""The socket of a live page: who may open it, what it may ask, and that it ends when its session does."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import DatabaseError

from dashboard.live import rights
from dashboard.live.hub import Hub, hub, in_pool
from dashboard.live.refusals import Refusals
from dashboard.live.requests import BAD, RESTART, Ack, Refused, Rows, Watch, parse
from dashboard.live.viewer import Viewer
from queues.quantities import now_ms

FIRST_MESSAGE_S = 10.0
RIGHTS_S = 30.0
RIGHTS_UNKNOWN_S = 55.0  # while the database does not answer, a socket lives on for so long
PAUSE_S = 0.2  # between two frames
WRITTEN_S = 0.2  # a server that stops breaks all connections when we return: the code must be out by then
MESSAGES, MESSAGES_A_SECOND = 120, 20  # that a socket may send at once, and for long

_refusals = Refusals()


class LiveConsumer(AsyncWebsocketConsumer):
    """One socket. See `dashboard.live.requests` for what it is sent, `dashboard.live.frames` for what it sends."""

    # None that exists: the hub alone listens to the layer.
    channel_layer_alias = "none"

    def __init__(self) -> None:
        super().__init__()
        self._tasks: list[asyncio.Task[None]] = []
        self._viewer: Viewer | None = None
        self._hub: Hub | None = None
        self._session = self._user = ""
        self._accepted = self._closed = False
        self._left, self._left_at = float(MESSAGES), time.monotonic()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._reply = send
        try:
            await super().__call__(scope, receive, send)
        except asyncio.CancelledError:
            await self._restarting()
            raise
        finally:
            self._end()

    async def dispatch(self, message: Any) -> None:
        # Without Channels' look at old database connections at each message: none is used in this loop.
        match message["type"]:
            case "websocket.connect":
                await self.connect()
            case "websocket.receive":
                await self.receive(message.get("text"))
            case "websocket.disconnect":
                raise StopConsumer

    async def connect(self) -> None:
        if not rights.is_own_origin(self.scope):
            self._log("opened by a page of another origin")
            await self.close()
            return
        await self.accept()
        self._accepted = True
        self._session = rights.session_key(self.scope)
        try:
            self._user = await in_pool(lambda: rights.check(self._session))
        except Refused as refused:
            await self._refuse(refused)
        except DatabaseError:
            await self._refuse(Refused(RESTART, "the database does not answer"))
        else:
            self._tasks.append(asyncio.create_task(self._check()))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self._closed:
            return
        try:
            self._count()
            await self._obey(parse(text_data))
        except Refused as refused:
            await self._refuse(refused)

    async def _obey(self, message: Watch | Rows | Ack) -> None:
        match message, self._viewer, self._hub:
            case Watch(topics, rows, read_ms, after), None, None:
                self._viewer = Viewer(topics, settings.LANGUAGE_CODE, rows, min(read_ms, now_ms()), after)
                self._hub = hub()
                self._hub.join(self._viewer)
                self._tasks.append(asyncio.create_task(self._write(self._hub, self._viewer)))
            case Rows(rows), Viewer() as viewer, Hub() as joined:
                joined.show(viewer, rows)
            case Ack(number), Viewer() as viewer, Hub():
                viewer.acknowledge(number)
            case _:
                raise Refused(BAD, "out of turn")

    async def _write(self, joined: Hub, viewer: Viewer) -> None:
        """Send what is new, when there is something new and the browser keeps up."""
        while True:
            await viewer.woken.wait()
            viewer.woken.clear()
            if frame := joined.frame(viewer):
                await self.send(frame)
                await asyncio.sleep(PAUSE_S)

    async def _check(self) -> None:
        """End the socket when its session ends."""
        known_at = time.monotonic()
        try:
            await asyncio.sleep(FIRST_MESSAGE_S)
            if self._viewer is None:
                raise Refused(BAD, "it asks for nothing")
            await asyncio.sleep(max(RIGHTS_S - FIRST_MESSAGE_S, 0))
            while True:
                try:
                    await in_pool(lambda: rights.check(self._session))
                    known_at = time.monotonic()
                except DatabaseError:
                    if time.monotonic() - known_at > RIGHTS_UNKNOWN_S:
                        raise Refused(RESTART, "the database does not answer") from None
                await asyncio.sleep(RIGHTS_S)
        except Refused as refused:
            await self._refuse(refused)

    def _count(self) -> None:
        now = time.monotonic()
        self._left = min(self._left + (now - self._left_at) * MESSAGES_A_SECOND, MESSAGES) - 1
        self._left_at = now
        if self._left < 0:
            raise Refused(BAD, "too many messages")

    async def _refuse(self, refused: Refused) -> None:
        if not self._closed:
            self._closed = True
            self._log(str(refused))
            self._stop_viewing()
            await (self._restarting() if refused.code == RESTART else self.close(refused.code))

    async def _restarting(self) -> None:
        """Close with 1012: Daphne passes the codes of the standard to a method that takes none but 1000."""
        if not self._accepted:
            return
        protocol = next(iter(getattr(self._reply, "args", ())), None)
        if frame := getattr(protocol, "sendCloseFrame", None):
            frame(code=RESTART)
            await asyncio.sleep(WRITTEN_S)
        else:
            await self.close(RESTART)

    def _stop_viewing(self) -> None:
        if self._viewer and self._hub:
            self._hub.leave(self._viewer)
            self._viewer = self._hub = None
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()

    def _end(self) -> None:
        self._closed = True
        self._stop_viewing()

    def _log(self, why: str) -> None:
        client = (self.scope.get("client") or [None])[0]
        _refusals.record(self._user or None, client, why)
