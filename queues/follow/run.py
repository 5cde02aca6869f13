"""The process that follows: one thread for each source, until it is told to stop."""

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
    threads = [
        threading.Thread(target=_follow, args=(config.name, audience, holder, stop), name=f"follow {config.name}")
        for config in configured()
    ]
    for thread in threads:
        thread.daemon = True  # one that hangs in a dead database must not keep the process alive
        thread.start()
    stop.wait()
    _join(threads)


def _join(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.join(ENDS_WITHIN_S)


def _follow(name: str, audience: Audience, holder: str, stop: threading.Event) -> None:
    """Follow one source; begin anew from what is stored when something happened that nobody foresaw."""
    while not stop.is_set():
        try:
            reader = dedicated(name)
            if Capability.EVENTS not in reader.capabilities:
                return
            assert isinstance(reader, Reader)
            SourceFollower(name, reader, audience, holder).run(stop.wait)
        except QueueError as error:
            logger.warning("%s cannot be followed: %s", name, error)
        except Exception:  # the outermost loop of this thread: one odd entry must not end the view for good
            logger.exception("Following %s was interrupted; it begins anew from what is stored", name)
            close_old_connections()
        stop.wait(AGAIN_S)
    connections.close_all()
