"""Refused sockets in the audit log: each kind once a minute, however often somebody tries."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

EVERY_S = 60.0
MOST_KINDS = 1_000

audit = logging.getLogger("mirante.audit")


class Refusals:
    """Writes refusals down. `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._written: dict[tuple[str | None, str | None, str], float] = {}

    def record(self, user: str | None, client: str | None, why: str) -> None:
        now, kind = self._clock(), (user, client, why)
        if now - self._written.get(kind, -EVERY_S) < EVERY_S:
            return
        self._written.pop(kind, None)
        self._written[kind] = now
        if len(self._written) > MOST_KINDS:
            del self._written[next(iter(self._written))]
        audit.info("refused by=%r from=%r socket: %s", user, client, why)
