"""Jobs that go on: retried, promoted, moved in time or in rank, and those whose worker is gone."""

from __future__ import annotations

from collections.abc import Sequence

from queues.actions import Result, Target
from queues.backends.bullmq.writer import Writer
from queues.types import QueueRef, State


def retry(writer: Writer, queue: QueueRef, targets: Sequence[Target], *, state: State, reset: bool) -> list[Result]:
    return writer.batch("retry", queue, targets, state.value, int(reset))


def promote(writer: Writer, queue: QueueRef, targets: Sequence[Target]) -> list[Result]:
    raise NotImplementedError


def delay(writer: Writer, queue: QueueRef, targets: Sequence[Target], *, run_at_ms: int) -> list[Result]:
    raise NotImplementedError


def priority(writer: Writer, queue: QueueRef, targets: Sequence[Target], *, priority: int) -> list[Result]:
    raise NotImplementedError


def fail(writer: Writer, queue: QueueRef, targets: Sequence[Target], *, reason: str) -> list[Result]:
    raise NotImplementedError


def requeue(writer: Writer, queue: QueueRef, targets: Sequence[Target]) -> list[Result]:
    raise NotImplementedError
