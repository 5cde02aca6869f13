"""What admins allow of replays: one row, read wherever it counts."""

from __future__ import annotations

from queues.audit.types import Asked
from queues.models import AuditEntry, ReplayLimits


def limits() -> ReplayLimits:
    """What is allowed now; what a fresh installation allows where nobody has changed it. One query."""
    return ReplayLimits.objects.filter(pk=1).first() or ReplayLimits(pk=1)


def change(
    asked: Asked,
    *,
    largest: int | None,
    fastest: float | None,
    approval: int | None,
    undo_s: int,
    typed: int,
) -> AuditEntry:
    """Set all of them, with an entry in the audit log. BadInput with the field for what is no limit."""
    raise NotImplementedError
