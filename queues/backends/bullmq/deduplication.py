"""Which job holds a deduplication id."""

from __future__ import annotations

from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.keys import key
from queues.backends.bullmq.replies import blob
from queues.types import JobRef, QueueRef


def holder(connection: Connection, queue: QueueRef, deduplication_id: bytes) -> JobRef | None:
    """The job that stands in `de:<id>` (BullMQ: includes/deduplicateJob), whether or not it is still there."""
    [found] = connection.run([("GET", key(queue, b"de:" + deduplication_id))])
    held = blob(found)
    return JobRef(queue, held) if held else None
