"""What is done to jobs that were picked from one page: one or some, of one queue."""

from __future__ import annotations

from collections.abc import Sequence

from queues.actions import Target
from queues.audit.types import Asked
from queues.models import AuditEntry
from queues.types import QueueRef, State


def retry(asked: Asked, queue: QueueRef, targets: Sequence[Target], *, state: State, reset: bool) -> AuditEntry:
    """Failed or completed jobs, back to where they wait. `reset` forgets their attempts."""
    raise NotImplementedError


def promote(asked: Asked, queue: QueueRef, targets: Sequence[Target]) -> AuditEntry:
    """Delayed jobs, at once."""
    raise NotImplementedError


def delay(asked: Asked, queue: QueueRef, targets: Sequence[Target], *, run_at_ms: int) -> AuditEntry:
    """Delayed jobs, at another moment."""
    raise NotImplementedError


def priority(asked: Asked, queue: QueueRef, targets: Sequence[Target], *, priority: int) -> AuditEntry:
    """Jobs that wait or are delayed: another priority, 0 to 2,097,152."""
    raise NotImplementedError


def remove(
    asked: Asked, queue: QueueRef, targets: Sequence[Target], *, state: State | None, children: bool
) -> AuditEntry:
    """Jobs that no worker holds, with all their keys. Copies are kept for a while where undo is on (`queues.undo`)."""
    raise NotImplementedError


def fail(asked: Asked, queue: QueueRef, targets: Sequence[Target], *, reason: str) -> AuditEntry:
    """Active jobs whose lock is gone, to failed. `reason` becomes the job's reason of failure."""
    raise NotImplementedError


def requeue(asked: Asked, queue: QueueRef, targets: Sequence[Target]) -> AuditEntry:
    """Active jobs whose lock is gone, back to where they wait."""
    raise NotImplementedError
