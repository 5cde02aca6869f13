"""The channel layer: what groups are called, and how the follower's news get into them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from hashlib import sha1
from typing import Any

from channels.layers import get_channel_layer

from dashboard.live import wire
from dashboard.live.outage import Outage
from queues import interest
from queues.errors import QueueError
from queues.live import News, Topic

SENT_WITHIN_S = 5.0
MESSAGE = "live.news"

logger = logging.getLogger(__name__)


def _told_by_us(record: logging.LogRecord) -> bool:
    """The layer's driver writes a trace each second of an outage, which we log once in one line."""
    return record.levelno < logging.ERROR


logging.getLogger("channels_redis.pubsub").addFilter(_told_by_us)


def group(topic: Topic) -> str:
    """The group of all who watch a topic: names of queues and jobs may hold what names of groups must not."""
    name = f"{topic.source}\0{topic.queue}\0{topic.job}"
    digest = sha1(name.encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()
    return f"{topic.about.value}.{digest}"


def message(news: News) -> dict[str, Any]:
    """News as they travel."""
    return {"type": MESSAGE, "news": wire.encode(news)}


class Publisher:
    """The follower's audience (`queues.live.Audience`). Safe to share between threads; `close` ends its own.

    News that cannot be sent within five seconds are dropped, and so are those that come meanwhile: the next say it all.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="publish", daemon=True)
        self._thread.start()
        self._lock = threading.Lock()
        self._underway: dict[str, Future[None]] = {}  # by source
        self._known: dict[str, Collection[Topic]] = {}
        self._sending = Outage(logger, "Sending news to the web processes")
        self._asking = Outage(logger, "Asking who watches")

    def watched(self, source: str) -> Collection[Topic]:
        try:
            self._known[source] = interest.watched(source)
            self._asking.over()
        except QueueError as error:
            self._asking.failed(error)
        return self._known.get(source, ())

    def publish(self, news: Sequence[News]) -> None:
        by_source: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        for each in news:
            by_source.setdefault(each.topic.source, []).append((group(each.topic), message(each)))
        with self._lock:
            for source, messages in by_source.items():
                before = self._underway.get(source)
                if before is None or before.done():
                    self._underway[source] = asyncio.run_coroutine_threadsafe(self._send(messages), self._loop)

    def close(self) -> None:
        """Send what is underway, at most for five seconds, and end."""
        for future in self._underway.values():
            try:
                future.result(SENT_WITHIN_S + 1)
            except (TimeoutError, asyncio.CancelledError):
                continue
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SENT_WITHIN_S)
        if not self._loop.is_running():
            self._loop.close()  # the layer closes its connections with it

    async def _send(self, messages: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        layer: Any = get_channel_layer()
        try:
            async with asyncio.timeout(SENT_WITHIN_S):
                for name, each in messages:
                    await layer.group_send(name, each)
        except Exception as error:  # whatever the layer's driver raises: the follower must go on
            self._sending.failed(error)
        else:
            self._sending.over()
