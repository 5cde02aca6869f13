"""BullMQ 4.x, 5.x and 6.x in Redis and servers that speak like it, read without its libraries."""

from __future__ import annotations

from queues.backend import Actions, Backend
from queues.backends.bullmq.actions import BullMQActions
from queues.backends.bullmq.connection import CONNECTIONS
from queues.backends.bullmq.reader import BullMQ
from queues.registry import SourceConfig


def connect(config: SourceConfig, *, connections: int = CONNECTIONS) -> Backend:
    """The backend for a source. Does not connect yet; BadInput when its address cannot be read."""
    return BullMQ(config, connections=connections)


def actions(config: SourceConfig) -> Actions:
    """What can be done to the queues of a source, over connections of its own. Does not connect yet."""
    return BullMQActions(config)
