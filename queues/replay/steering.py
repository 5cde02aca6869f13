"""What people do to a plan. Each act takes the phase it expects and changes it in one statement."""

from __future__ import annotations

from queues.audit.types import Asked
from queues.models import AuditEntry, Replay
from queues.replay.terms import Terms


def save(asked: Asked, replay: Replay, terms: Terms) -> None:
    """Keep the terms of a draft."""
    raise NotImplementedError


def look_again(replay: Replay) -> None:
    """Have a draft's jobs looked at on the server anew."""
    raise NotImplementedError


def start(asked: Asked, replay: Replay, terms: Terms, *, typed: str = "") -> AuditEntry:
    """Arm a draft, or have it wait for approval."""
    raise NotImplementedError


def approve(asked: Asked, replay: Replay) -> AuditEntry:
    """Arm a plan that somebody else has started."""
    raise NotImplementedError


def refuse(asked: Asked, replay: Replay) -> AuditEntry:
    """Refuse approval: it is a draft again."""
    raise NotImplementedError


def take_back(asked: Asked, replay: Replay) -> AuditEntry:
    """Take a start back before the first job is sent: it is a draft again."""
    raise NotImplementedError


def pause(asked: Asked, replay: Replay) -> AuditEntry:
    """Send no more until somebody lets it go on."""
    raise NotImplementedError


def go_on(asked: Asked, replay: Replay) -> AuditEntry:
    """Let a plan go on that is paused, has stopped, or waits for a decision."""
    raise NotImplementedError


def change_pace(
    asked: Asked, replay: Replay, pace_from: float | None, pace_to: float | None, double_s: int
) -> AuditEntry:
    """Send faster or slower from now on."""
    raise NotImplementedError


def cancel(asked: Asked, replay: Replay, *, take_back: bool = False) -> AuditEntry:
    """Send no more, ever."""
    raise NotImplementedError


def discard(asked: Asked, replay: Replay) -> AuditEntry:
    """Delete a plan of which nothing was sent."""
    raise NotImplementedError
