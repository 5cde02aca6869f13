"""What is done to a queue itself."""

from __future__ import annotations

from queues.actions import NewJob
from queues.audit.types import Asked
from queues.models import AuditEntry
from queues.types import QueueRef


def add(asked: Asked, queue: QueueRef, new: NewJob) -> AuditEntry:
    """A new job. `audit.made(entry)` is its slug."""
    raise NotImplementedError


def pause(asked: Asked, queue: QueueRef) -> AuditEntry:
    """Let no worker take a job."""
    raise NotImplementedError


def resume(asked: Asked, queue: QueueRef) -> AuditEntry:
    """Let workers take jobs again: loops until both lists are merged."""
    raise NotImplementedError


def concurrency(asked: Asked, queue: QueueRef, most: int | None) -> AuditEntry:
    """How many jobs may be active at once; None = no limit."""
    raise NotImplementedError


def rate_limit(asked: Asked, queue: QueueRef, most: int | None, duration_ms: int = 0) -> AuditEntry:
    """How many jobs may start in a span of time; None = no limit."""
    raise NotImplementedError


def release_limit(asked: Asked, queue: QueueRef) -> AuditEntry:
    """End the wait of a queue that has reached its rate limit."""
    raise NotImplementedError


def release_deduplication(asked: Asked, queue: QueueRef, dedup_id: bytes) -> AuditEntry:
    """Forget which job holds a deduplication id, where that job is gone or has ended."""
    raise NotImplementedError


def trim_events(asked: Asked, queue: QueueRef, *, keep: int) -> AuditEntry:
    """Drop the oldest events until about `keep` are left."""
    raise NotImplementedError
