"""What the follower of a source and the index beside it hand to each other. Safe between threads, bounded.

Nothing depends on what is handed over here: what is dropped is found by comparing with the server.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from queues.events import Event
from queues.types import QueueRef

EVENTS = 20_000  # failures of one source that wait to be indexed; beyond, queues are compared instead
LEFT = 20_000  # jobs that left a failed set, likewise


@dataclass(slots=True)
class Hints:
    """What happened since the last look. `touched`: queues in which anything failed, was removed, retried or lost."""

    failed: dict[QueueRef, list[Event]] = field(default_factory=dict)  # events of kind FAILED, oldest first
    left: dict[QueueRef, set[bytes]] = field(default_factory=dict)  # jobs that may be in the failed set no longer
    touched: set[QueueRef] = field(default_factory=set)
    compare: set[QueueRef] = field(default_factory=set)  # events were lost or left out: only comparing tells


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed in the index since the last news: slugs of groups, and how many of them are new or regressed."""

    groups: Sequence[str]
    fresh: int
    open: int  # groups that are open or regressed now


class Desk:
    """One source's. `epoch` is that of the follower's lease; None while it holds none: then nothing may be indexed."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.epoch: int | None = None
        self.woken = threading.Event()
        self._lock = threading.Lock()
        self._hints = Hints()
        self._events = self._left = 0
        self._groups: dict[str, None] = {}
        self._fresh: set[str] = set()
        self._open: int | None = None

    @property
    def full(self) -> bool:
        """Whether so many failures wait to be taken that no more are kept one by one: `compare` tells of them."""
        return self._events >= EVENTS

    def failed(self, queue: QueueRef, events: Sequence[Event]) -> None:
        """Jobs of a queue have failed for good."""
        with self._lock:
            self._hints.touched.add(queue)
            if self._events + len(events) > EVENTS:
                self._hints.compare.add(queue)
            else:
                self._events += len(events)
                self._hints.failed.setdefault(queue, []).extend(events)
        self.woken.set()

    def left(self, queue: QueueRef, jobs: Sequence[bytes]) -> None:
        """Jobs were removed, or wait again."""
        with self._lock:
            self._hints.touched.add(queue)
            if self._left + len(jobs) > LEFT:
                self._hints.compare.add(queue)
            else:
                self._left += len(jobs)
                self._hints.left.setdefault(queue, set()).update(jobs)
        self.woken.set()

    def compare(self, queues: Iterable[QueueRef]) -> None:
        """Events of these queues were lost, or told no ids (`cleaned`)."""
        with self._lock:
            self._hints.compare.update(queues)
            self._hints.touched.update(queues)
        self.woken.set()

    def take(self) -> Hints:
        """All hints since the last call."""
        with self._lock:
            hints, self._hints = self._hints, Hints()
            self._events = self._left = 0
        self.woken.clear()
        return hints

    def changed(self, groups: Iterable[str], fresh: Iterable[str], opened: int) -> None:
        """Groups have other counts or another life, some are new or regressed, so many are open now."""
        with self._lock:
            self._groups.update(dict.fromkeys(groups))
            self._fresh.update(fresh)
            self._open = opened

    def changes(self) -> Changes | None:
        """All changes since the last call; None without any."""
        with self._lock:
            if self._open is None or not (self._groups or self._fresh):
                return None
            told = Changes(tuple(self._groups), len(self._fresh), self._open)
            self._groups.clear()
            self._fresh.clear()
        return told
