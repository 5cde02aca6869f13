"""The process that follows: for each source one thread that follows and one that indexes, until told to stop."""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from collections.abc import Sequence

from django.db import close_old_connections, connections

from queues import identity
from queues.errors import QueueError
from queues.failures import index
from queues.failures.desk import Desk
from queues.follow.source import SourceFollower
from queues.follow.teller import Reader
from queues.live import Audience
from queues.registry import configured, dedicated
from queues.types import Capability

AGAIN_S = 5.0
ENDS_WITHIN_S = 10.0

logger = logging.getLogger(__name__)


def run(audience: Audience, stop: threading.Event) -> None:
    """Follow all configured sources until `stop` is set. Gives the leases free before it returns."""
    identity.recognise()
    holder = f"{socket.gethostname()[:40]}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    desks = {config.name: Desk(config.name) for config in configured()}
    threads = [
        threading.Thread(target=_follow, args=(desk, audience, holder, stop), name=f"follow {name}")
        for name, desk in desks.items()
    ]
    # Beside it, so that the live view never waits for the index.
    threads += [
        threading.Thread(target=index.run, args=(name, desk, stop), name=f"index {name}")
        for name, desk in desks.items()
    ]
    for thread in threads:
        thread.daemon = True  # one that hangs in a dead database must not keep the process alive
        thread.start()
    stop.wait()
    _join(threads)


def _join(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.join(ENDS_WITHIN_S)


def _follow(desk: Desk, audience: Audience, holder: str, stop: threading.Event) -> None:
    """Follow the source of a desk; begin anew from what is stored when something happened that nobody foresaw."""
    name = desk.source
    while not stop.is_set():
        try:
            reader = dedicated(name)
            if Capability.EVENTS not in reader.capabilities:
                return
            assert isinstance(reader, Reader)
            indexed = desk if Capability.FAILURES in reader.capabilities else None
            SourceFollower(name, reader, audience, holder, indexed).run(stop.wait)
        except QueueError as error:
            logger.warning("%s cannot be followed: %s", name, error)
        except Exception:  # the outermost loop of this thread: one odd entry must not end the view for good
            logger.exception("Following %s was interrupted; it begins anew from what is stored", name)
            close_old_connections()
        finally:
            desk.epoch = None
        stop.wait(AGAIN_S)
    connections.close_all()
