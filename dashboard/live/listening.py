"""The hub's ear: one channel of the layer, in the groups of all topics that somebody watches, through every outage."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

from channels.layers import get_channel_layer

from dashboard.live import wire
from dashboard.live.groups import MESSAGE, group
from dashboard.live.outage import Outage
from queues.live import News, Topic

AGAIN_S = 1.0
PING_S = 4.0  # after so long a silence we ask ourselves whether messages arrive
DEAF_S = 10.0  # and after so long subscribe anew: a connection may be dead without saying so
RENEW_S = 30.0  # all groups are joined again, for layers that forget
ANSWER_S = 5.0

logger = logging.getLogger(__name__)


class Listening:
    """Hands news to `take`, in the event loop in which it was made."""

    def __init__(self, take: Callable[[News], None]) -> None:
        self.joined: frozenset[Topic] = frozenset()  # whose news arrive
        self._take = take
        self._wanted: frozenset[Topic] = frozenset()
        self._changed = asyncio.Event()
        self._layer: Any = get_channel_layer()
        self._loop = asyncio.get_running_loop()
        self._heard_at = self._loop.time()
        self._outage = Outage(logger, "Listening for news")
        self._odd = Outage(logger, "Reading news")
        self._task = self._loop.create_task(self._run())

    def want(self, topics: Iterable[Topic]) -> None:
        """From now on these."""
        self._wanted = frozenset(topics)
        self._changed.set()

    def close(self) -> None:
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            try:
                await self._listen()
            except Exception as error:  # whatever the layer's driver raises: we try until it works
                self._outage.failed(error)
            self.joined = frozenset()
            await asyncio.sleep(AGAIN_S)
            await self._afresh()

    async def _listen(self) -> None:
        """Until something fails or nothing arrives any more."""
        async with asyncio.timeout(ANSWER_S):
            channel = await self._layer.new_channel()
        self._heard_at = self._loop.time()
        receiving = self._loop.create_task(self._receive(channel))
        try:
            renewed_at = self._loop.time()
            while not receiving.done() and self._loop.time() - self._heard_at < DEAF_S:
                async with asyncio.timeout(ANSWER_S):
                    await self._join(channel)
                    await self._ask(channel)
                if self._loop.time() - renewed_at > RENEW_S:
                    renewed_at, self.joined = self._loop.time(), frozenset()
                await self._pause(receiving)
            if not receiving.done():
                raise TimeoutError("nothing arrives any more")
            receiving.result()
        finally:
            receiving.cancel()

    async def _join(self, channel: str) -> None:
        wanted = self._wanted
        self._changed.clear()
        for topic in self.joined - wanted:
            await self._layer.group_discard(group(topic), channel)
        for topic in wanted - self.joined:
            await self._layer.group_add(group(topic), channel)
        self.joined = wanted

    async def _ask(self, channel: str) -> None:
        if self._loop.time() - self._heard_at > PING_S:
            await self._layer.send(channel, {"type": "live.ping"})

    async def _pause(self, receiving: asyncio.Task[None]) -> None:
        changed = self._loop.create_task(self._changed.wait())
        try:
            await asyncio.wait((changed, receiving), timeout=AGAIN_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()

    async def _receive(self, channel: str) -> None:
        while True:
            message = await self._layer.receive(channel)
            self._heard_at = self._loop.time()
            self._outage.over()
            if message.get("type") == MESSAGE:
                try:
                    news = wire.decode(message["news"])
                except (KeyError, ValueError) as error:
                    self._odd.failed(error)
                    continue
                self._take(news)

    async def _afresh(self) -> None:
        """Have the layer drop its connections: only this hub uses it in this loop."""
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._layer.flush()
        except Exception as error:  # it is being dropped
            self._outage.failed(error)
