"""The shop's dead letters: a payment that failed for good becomes a job of `payments-failed`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

from bullmq import UnrecoverableError

from dashboard.demo.catalog import DEAD_LETTERS
from dashboard.demo.payloads import Payload, moment
from dashboard.demo.shop import Shop
from dashboard.demo.streams import Room


class DeadLetters:
    """Listens to a worker's failures and posts a letter for each final one, while there is room."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._room = Room(shop, DEAD_LETTERS)
        self._posting: set[asyncio.Task[None]] = set()

    def failed(self, job: Any, error: Exception) -> None:
        """The worker's `failed` event. Events are called outside of any coroutine, so posting is a task."""
        if final(job, error):
            task = asyncio.ensure_future(self._shop.persist(lambda: self._post(letter(job, error))))
            self._posting.add(task)
            task.add_done_callback(self._posting.discard)

    async def _post(self, body: Payload) -> None:
        if await self._room.take():
            await self._shop.queues[DEAD_LETTERS].add("dead-letter", body)


def final(job: Any, error: Exception) -> bool:
    """Whether this failure was the job's last."""
    return isinstance(error, UnrecoverableError) or job.attemptsMade >= job.opts.get("attempts", 1)


def letter(job: Any, error: Exception) -> Payload:
    origin = {"queue": job.queue.name, "jobId": job.id, "jobName": job.name, "attempts": job.attemptsMade}
    stack = job.stacktrace[-1] if job.stacktrace else ""
    return letter_of(job.data, str(error), stack, datetime.now(UTC), origin)


def letter_of(payload: Payload, reason: str, stack: str, at: datetime, origin: Payload) -> Payload:
    """What a letter of the shop holds."""
    return {
        "payload": payload,
        "error": {"message": reason, "stack": stack},
        "failedAt": moment(at),
        "origin": origin,
    }
