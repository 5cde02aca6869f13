"""Pressing buttons as a user would: who asks, and about which jobs."""

from __future__ import annotations

from collections.abc import Sequence

from queues import operations
from queues.actions import Target
from queues.audit import Actor, Asked
from queues.models import AuditEntry
from queues.types import JobRef, QueueRef, State

SHOP = QueueRef("main", b"bull", b"shop")
JOB = JobRef(SHOP, b"7")
ANNA = Actor("anna", "operator", "10.0.0.1")
SOME = [Target(b"1", b"5"), Target(b"2", b"6"), Target(b"3")]


def asked(key: str = "", reason: str = "", by: Actor = ANNA) -> Asked:
    """A form that was sent; without a key, one that is never taken for another."""
    return Asked(by, key, reason)


def retry(ask: Asked, targets: Sequence[Target] = SOME) -> AuditEntry:
    """Failed jobs, at once."""
    return operations.retry(ask, SHOP, targets, state=State.FAILED, reset=False)
