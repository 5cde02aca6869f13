"""BullMQ 4.x, 5.x and 6.x in Redis and servers that speak like it, read without its libraries."""

from __future__ import annotations

from queues.backend import Backend
from queues.backends.bullmq.connection import CONNECTIONS
from queues.backends.bullmq.reader import BullMQ
from queues.registry import SourceConfig


def connect(config: SourceConfig, *, connections: int = CONNECTIONS) -> Backend:
    """The backend for a source. Does not connect yet; BadInput when its address cannot be read."""
    return BullMQ(config, connections=connections)
