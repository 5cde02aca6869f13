"""How many jobs of a state are older than something, where their order tells."""

from __future__ import annotations

from queues.actions import Clock
from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.keys import ZSETS, key
from queues.backends.bullmq.replies import count
from queues.types import QueueRef, State

_PER_MS = 4096  # a delayed job's score is its time by this, and a number to tell jobs of one ms apart


def older(connection: Connection, queue: QueueRef, state: State, clock: Clock, before_ms: int) -> int | None:
    """One ZCOUNT. None where the jobs are not in the order of that clock."""
    if clock is Clock.FINISHED and state in (State.COMPLETED, State.FAILED):
        limit = before_ms
    elif clock is Clock.DUE and state is State.DELAYED:
        limit = before_ms * _PER_MS
    else:
        return None
    return count(connection.run([("ZCOUNT", key(queue, ZSETS[state]), "-inf", f"({limit}")])[0])
