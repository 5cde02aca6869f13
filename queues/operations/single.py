"""What is done to one job only."""

from __future__ import annotations

from queues.audit.types import Asked
from queues.models import AuditEntry
from queues.types import JobRef


def edit(asked: Asked, job: JobRef, data: bytes, *, was: bytes) -> AuditEntry:
    """Other data for a job. `was` is what its editor began with; the outcome is `CHANGED` where that is no more."""
    raise NotImplementedError


def duplicate(asked: Asked, job: JobRef, data: bytes | None = None) -> AuditEntry:
    """A new job with the name, options and data of this one, or with other data. `audit.made(entry)` is its slug."""
    raise NotImplementedError


def log(asked: Asked, job: JobRef, line: str) -> AuditEntry:
    """One more line in the job's log."""
    raise NotImplementedError


def remove_children(asked: Asked, job: JobRef) -> AuditEntry:
    """The children of a job that have not been worked on; `audit.took_along(entry)` tells how many."""
    raise NotImplementedError
