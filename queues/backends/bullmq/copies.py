"""What is read for acting: which jobs are meant, and copies of those that will go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from queues.actions import Members, Stored
from queues.backends.bullmq.writer import Writer
from queues.types import QueueRef, State


def members(
    writer: Writer, queue: QueueRef, state: State, *, cursor: str, until_ms: int, name: str, most: int
) -> Members:
    raise NotImplementedError


def stored(writer: Writer, queue: QueueRef, ids: Sequence[bytes], *, most: int) -> Mapping[bytes, Stored]:
    raise NotImplementedError
