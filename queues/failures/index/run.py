"""The thread that indexes one source, beside the one that follows it."""

from __future__ import annotations

import logging
import threading

from django.db import close_old_connections, connections

from queues.errors import QueueError
from queues.failures.desk import Desk
from queues.failures.index.source import SourceIndexer
from queues.failures.index.term import Reader
from queues.registry import dedicated
from queues.types import Capability

AGAIN_S = 5.0

logger = logging.getLogger(__name__)


def run(name: str, desk: Desk, stop: threading.Event) -> None:
    """Index a source until `stop` is set, as long as the follower of `desk` holds its lease. In the caller's thread.

    Closes its connections before it returns.
    """
    while not stop.is_set():
        try:
            reader = dedicated(name)
            if Capability.FAILURES not in reader.capabilities:
                return
            assert isinstance(reader, Reader)
            _index(SourceIndexer(name, reader, desk), stop)
        except QueueError as error:
            logger.warning("Failures of %s cannot be indexed: %s", name, error)
        except Exception:  # the outermost loop of this thread: one odd job must not end the index for good
            logger.exception("Indexing %s was interrupted; it begins anew from what is stored", name)
            close_old_connections()
        stop.wait(AGAIN_S)
    connections.close_all()


def _index(indexer: SourceIndexer, stop: threading.Event) -> None:
    try:
        pause = 0.0
        while not stop.wait(pause):
            pause = indexer.step()
    finally:
        indexer.close()
