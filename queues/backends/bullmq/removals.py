"""Jobs that go, and what hangs on them."""

from __future__ import annotations

from collections.abc import Sequence

from queues.actions import Result, Target
from queues.backends.bullmq.writer import Writer
from queues.types import JobRef, QueueRef, State


def remove(
    writer: Writer, queue: QueueRef, targets: Sequence[Target], *, state: State | None, children: bool
) -> list[Result]:
    raise NotImplementedError


def remove_children(writer: Writer, job: JobRef) -> Result:
    raise NotImplementedError
