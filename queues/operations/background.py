"""What is done to many jobs or a whole queue: begun here, run in the background by `queues.bulk`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from queues.actions import Action, Clock, Target
from queues.audit.types import Asked
from queues.models import AuditEntry
from queues.types import QueueRef, State


def start_bulk(
    asked: Asked,
    queue: QueueRef,
    action: Action,
    targets: Sequence[Target] | None,
    *,
    state: State | None,
    name: str = "",
    expected: int | None = None,
    until_ms: int | None = None,
    parameters: Mapping[str, object] | None = None,
) -> AuditEntry:
    """Do `action` to these targets, or (None) to all jobs of `state` whose name holds `name`. Answers at once: running.

    `until_ms` is the server's clock when it was confirmed, and `expected` how many jobs there were then.
    """
    raise NotImplementedError


def drain(asked: Asked, queue: QueueRef, *, delayed: bool) -> AuditEntry:
    """Remove all jobs that wait, or are delayed too. Answers at once: running."""
    raise NotImplementedError


def clean(asked: Asked, queue: QueueRef, state: State, *, clock: Clock, older_ms: int) -> AuditEntry:
    """Remove the jobs of a state that are older than so many ms by a clock. Answers at once: running."""
    raise NotImplementedError


def obliterate(asked: Asked, queue: QueueRef, *, force: bool) -> AuditEntry:
    """Remove a paused queue with all it holds. Answers at once: running."""
    raise NotImplementedError


def stop(asked: Asked, entry: AuditEntry) -> AuditEntry:
    """Ask a running action to stop after its step. Gives the entry of the asking."""
    raise NotImplementedError
