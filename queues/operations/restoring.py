"""Bringing back a removed job, as a new one."""

from __future__ import annotations

from queues.audit.types import Asked
from queues.models import AuditEntry, RemovedJob


def restore(asked: Asked, removed: RemovedJob) -> AuditEntry:
    """A new job with the name, data and options of a removed one, without its attempts and result; once only.

    `audit.made(entry)` is the new job's slug; WrongState when it was restored before, and the text says as what.
    """
    raise NotImplementedError
