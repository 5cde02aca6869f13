"""The ways to a plan: each writes the plan and its entry in the log of actions in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from queues.actions import Target
from queues.audit.types import Asked
from queues.failures.occurrences import Which
from queues.models import FailureGroup, Replay
from queues.types import JobRef, QueueRef, State

PLAN = "plan-replay"  # as the log of actions calls it


def of_jobs(asked: Asked, queue: QueueRef, state: State, targets: Sequence[Target]) -> Replay:
    """A plan of these jobs, at most `actions.BATCH`; letters where the queue is one of dead letters and they wait."""
    raise NotImplementedError


def of_group(asked: Asked, group: FailureGroup, which: Which) -> Replay:
    """A plan of the failures of a group that are there now, in the failed set or as letters."""
    raise NotImplementedError


def of_state(asked: Asked, queue: QueueRef, state: State, *, name: str = "") -> Replay:
    """A plan of all failed or completed jobs of a queue, or of those whose name holds something."""
    raise NotImplementedError


def of_letters(asked: Asked, queue: QueueRef, *, name: str = "") -> Replay:
    """A plan of a whole queue of dead letters, or of those whose name holds something."""
    raise NotImplementedError


def of_edited(asked: Asked, job: JobRef, state: State, target: Target, data: bytes) -> Replay:
    """A plan of one job with other data. `target` is the job as it was seen."""
    raise NotImplementedError
