"""How a queue is let run: paused, limited, its deduplication; and what cannot be done to it."""

from __future__ import annotations

from collections.abc import Mapping

from queues.actions import Action, Result, Step
from queues.backends.bullmq.writer import Writer
from queues.types import QueueRef


def unable(writer: Writer, queue: QueueRef) -> Mapping[Action, str]:
    raise NotImplementedError


def read_only(writer: Writer, queue: QueueRef) -> str:
    raise NotImplementedError


def release_deduplication(writer: Writer, queue: QueueRef, deduplication_id: bytes) -> Result:
    raise NotImplementedError


def pause(writer: Writer, queue: QueueRef) -> Step:
    raise NotImplementedError


def resume(writer: Writer, queue: QueueRef) -> Step:
    raise NotImplementedError


def concurrency(writer: Writer, queue: QueueRef, most: int | None) -> Result:
    raise NotImplementedError


def rate_limit(writer: Writer, queue: QueueRef, most: int | None, duration_ms: int) -> Result:
    raise NotImplementedError


def release_limit(writer: Writer, queue: QueueRef) -> Result:
    raise NotImplementedError
