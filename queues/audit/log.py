"""Writing the log of actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from queues.audit.types import Actor
from queues.models import AuditEntry
from queues.types import QueueRef


def record(
    by: Actor,
    action: str,
    *,
    queue: QueueRef | None = None,
    source: str = "",
    jobs: Sequence[str] = (),
    parameters: Mapping[str, object] | None = None,
    reason: str = "",
    note: str = "",
) -> AuditEntry:
    """Write down an act that is done already or takes no time: signing in, revealing, downloading, pinning.

    `jobs` are slugs. OperationalError while the database is busy: then the act must not be carried out.
    """
    raise NotImplementedError


def refused(
    by: Actor,
    action: str,
    *,
    queue: QueueRef | None = None,
    source: str = "",
    jobs: Sequence[str] = (),
    reason: str = "",
    note: str = "",
) -> AuditEntry:
    """Write down that somebody was refused, and in `note` why. Never raises while the database is busy: logged then."""
    raise NotImplementedError
