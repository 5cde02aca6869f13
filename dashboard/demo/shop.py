"""The shop's connection to its Redis: queues, flows and workers of the real library, and what to do in an outage."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from bullmq import FlowProducer, Queue, Worker
from bullmq.redis_connection import ConnectionError as RedisConnectionError
from bullmq.redis_connection import TimeoutError as RedisTimeoutError

from dashboard.demo.catalog import QUEUES, QueueSpec

T = TypeVar("T")
Say: TypeAlias = Callable[[str], None]
Processor: TypeAlias = Callable[[Any, str], Awaitable[Any]]

OUTAGES: tuple[type[Exception], ...] = (RedisConnectionError, RedisTimeoutError, OSError)
RETRY_SECONDS = 1.0
# An overloaded worker reports many lost locks at once; one line tells as much.
QUIET_SECONDS = 10.0
# The library blocks for up to 10 s at a time, twice what redis-py allows a read by default: without more
# patience each idle worker would take its own waiting for an outage.
SOCKET_SECONDS = "30"


class Shop:
    """Everything that one process of the shop opens in Redis. Connects on first use, closes all at once."""

    def __init__(self, url: str, say: Say) -> None:
        self._url = _patient(url)
        self.say = say
        self._away = False
        self._said = float("-inf")
        self.closing = False
        first = next(iter(QUEUES.values()))
        self._first = Queue(first.name, {"connection": self._url, "defaultJobOptions": first.options})
        self.client: Any = self._first.client
        _fail_soon(self.client)
        self.queues: dict[str, Any] = {first.name: self._first} | {
            name: Queue(name, {"connection": self.client, "defaultJobOptions": spec.options})
            for name, spec in QUEUES.items()
            if name != first.name
        }
        self.flows: Any = FlowProducer(None, {"connection": self.client})
        self.workers: list[Any] = []

    def work(self, spec: QueueSpec, processor: Processor, **options: Any) -> Any:
        """Start a worker of this queue; it reconnects by itself."""
        options = {"concurrency": spec.concurrency, "runRetryDelay": round(RETRY_SECONDS * 1000), **options}
        worker = Worker(spec.name, processor, {**options, "connection": self._url})
        _fail_soon(worker.client)
        _fail_soon(worker.bclient)
        worker.on("error", self._worker_error)
        self.workers.append(worker)
        return worker

    async def persist(self, action: Callable[[], Awaitable[T]]) -> T:
        """Do this when Redis answers: an outage is said once and waited out."""
        while True:
            try:
                done = await action()
            except OUTAGES as error:
                if self.closing:
                    raise
                self._went_away(error)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                if self._away:
                    self._away = False
                    self.say("Redis answers again.")
                return done

    async def close(self, grace: float) -> None:
        """Let running jobs finish for `grace` seconds, then leave the rest to be found as stalled."""
        closing = [asyncio.ensure_future(worker.close()) for worker in self.workers]
        if closing:
            _, late = await asyncio.wait(closing, timeout=grace)
            if late:
                forced = [asyncio.ensure_future(worker.close(force=True)) for worker in self.workers]
                await asyncio.wait([*late, *forced], timeout=1)
        await self.client.aclose()

    def _went_away(self, error: Exception) -> None:
        if not self._away:
            self._away = True
            self.say(f"Redis does not answer ({type(error).__name__}); waiting for it.")

    def _worker_error(self, error: Exception, *_job: Any) -> None:
        if isinstance(error, OUTAGES):
            self._went_away(error)
        elif not self._away and time.monotonic() - self._said > QUIET_SECONDS:
            self._said = time.monotonic()
            self.say(f"A worker reports: {error}")


def _patient(url: str) -> str:
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    return urlunsplit(parts._replace(query=urlencode({"socket_timeout": SOCKET_SECONDS} | query)))


def _fail_soon(client: Any) -> None:
    """One retry instead of the library's twenty with growing pauses: who calls has a loop of its own."""
    client.get_retry().update_retries(1)
