"""What people do to a plan. Each act takes the phase it expects and changes it in one statement.

What this leaves to the runner:

- `cancel` of a plan that was started, or of more than a few jobs, makes it CANCELLING. `step` is then "taking-back"
  where what was sent and not begun shall be taken back too, else empty. The runner sends nothing more; it asks the
  server by `receipts` about rows that are READY, as a lost worker may have sent some of them; it writes these down as
  SENT and puts the others, and those that are HELD, BACK, in bounded steps; takes back what was asked for; then it
  makes the plan CANCELLED, with `ended_at`, and completes `entry`. Who cancelled stands in the line and in the log.
- `take_back`, and `cancel` before anything was sent, take the lease from whoever prepares the plan: `LeaseLost`.
- `go_on` finds out where a plan was by its columns: `started_at`, `rest_at` and `sent_at`, whether it has a canary.
  Out of a canary that failed or was too late it makes it RUNNING with `rest_at`. After BLOCKED it sets
  `Terms.key_failed` to GO_ON: rows that are HELD behind one that failed again have to be made READY then.
- `change_pace` writes `terms` alone: who sends reads them anew, and climbs from the new `pace_from`.
"""

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
