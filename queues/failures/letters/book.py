"""What people said about queues of dead letters, as this process knows it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from django.db import DatabaseError

from queues.models import DeadLetterQueue
from queues.types import QueueRef

KNOWN_FOR_S = 5.0  # so long a process goes by what it read; it sees its own changes at once

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Said:
    """`is_one` False: the queue holds no letters, whatever its name. `origin` is the queue they are for, if said."""

    is_one: bool
    origin: QueueRef | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)


class _Book:
    """`clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._said: Mapping[QueueRef, Said] | None = None
        self._until = float("-inf")

    def all(self) -> Mapping[QueueRef, Said]:
        with self._lock:
            if self._clock() >= self._until or self._said is None:
                self._read()
            return self._said or {}

    def hold(self, said: Mapping[QueueRef, Said], until: float) -> None:
        self._said, self._until = said, until

    def forget(self) -> None:
        with self._lock:
            self._until = float("-inf")

    def _read(self) -> None:
        try:
            rows = list(DeadLetterQueue.objects.select_related("queue__source"))
        except DatabaseError:
            if self._said is None:
                raise
            log.warning("what was said about dead-letter queues cannot be read: the last known holds")
            self.hold(self._said, self._clock() + KNOWN_FOR_S)
            return
        self.hold(dict(map(_entry, rows)), self._clock() + KNOWN_FOR_S)


_book = _Book()


def said(queue: QueueRef) -> Said | None:
    """What somebody said about a queue, None where nobody did. At most one query each five seconds and process.

    While the database does not answer the last known holds; DatabaseError when there was none yet.
    """
    return _book.all().get(queue)


def all_said() -> Mapping[QueueRef, Said]:
    """The same for all queues about which somebody said something."""
    return _book.all()


def forget() -> None:
    """Read anew at the next question."""
    _book.forget()


def preload(said: Mapping[QueueRef, Said]) -> None:
    """Go by this for good and ask no database: for processes and tests that have none."""
    _book.hold(dict(said), float("inf"))


def _entry(row: DeadLetterQueue) -> tuple[QueueRef, Said]:
    source = row.queue.source.name
    origin = QueueRef.from_slug(source, row.origin) if row.origin else None
    return QueueRef.from_slug(source, row.queue.slug), Said(row.is_one, origin, row.mapping)
