"""The queues that jobs of a plan go to, as they were last seen: every two seconds, workers every five."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from django.utils import timezone

from queues.errors import QueueError, Unreachable
from queues.models import ReplayQueue
from queues.replay.run import facts
from queues.replay.run.run import Run
from queues.types import Capability, Counts, QueueRef, Workers

READ_EVERY_S = 2.0
EACH_S = 0.01  # that a plan's interval grows with each queue that it goes to
WORKERS_EVERY_S = 5.0

_workers: dict[str, tuple[float, Workers]] = {}  # by source, and when (time.monotonic())
_lock = threading.Lock()


@dataclass(slots=True)
class Target:
    """A queue, by its key. None is unknown. `sent` counts what we sent there since it was read."""

    key: int
    ref: QueueRef
    backlog: int | None = None
    oldest_ms: int | None = None
    paused: bool = False
    idle_since_ms: float | None = None
    sent: int = 0

    @property
    def depth(self) -> int | None:
        """Its backlog, were none of what we sent since taken by a worker yet."""
        return None if self.backlog is None else self.backlog + self.sent


@dataclass
class Targets:
    """The queues of one plan, within one slice."""

    run: Run
    known: dict[int, Target] = field(default_factory=dict)
    _read_at: float | None = None

    def of(self, keys: Collection[int]) -> Sequence[Target]:
        """Some queues as they were last seen, read now where that is long ago. Two calls for every 125 queues."""
        missing = [key for key in keys if key not in self.known]
        for key in missing:
            self.known[key] = Target(key, self.run.ref(key))
        if missing or self._is_due(late=True):
            self._read()
        return [self.known[key] for key in keys]

    def refresh(self) -> None:
        """Read them where that is due: all that anything was sent to."""
        if self._read_at is None:
            rows = ReplayQueue.objects.filter(replay=self.run.replay.pk).values_list("queue_id", flat=True)
            self.of(list(rows))
        elif self._is_due():
            self._read()

    def sent(self, key: int, number: int) -> None:
        """So many were sent to a queue."""
        if target := self.known.get(key):
            target.sent += number

    def _is_due(self, *, late: bool = False) -> bool:
        pause = max(READ_EVERY_S, EACH_S * len(self.known)) * (2 if late else 1)
        return self._read_at is None or time.monotonic() - self._read_at >= pause

    def _read(self) -> None:
        if not self.known:
            return
        counts = self.run.reader.counts([target.ref for target in self.known.values()])
        workers = _workers_of(self.run)
        now = self.run.clock.now_ms
        idle: dict[str, float] = self.run.facts.get(facts.IDLE, {})
        for target in self.known.values():
            if (told := counts.get(target.ref)) is not None:
                _take(target, told)
            held = workers.of(target.ref)
            target.idle_since_ms = min(idle.get(str(target.key), now), now) if held is not None and not held else None
        self.run.facts[facts.IDLE] = {
            str(each.key): each.idle_since_ms for each in self.known.values() if each.idle_since_ms is not None
        }
        self._write(workers)
        self._read_at = time.monotonic()

    def _write(self, workers: Workers) -> None:
        rows = list(ReplayQueue.objects.filter(replay=self.run.replay.pk, queue__in=list(self.known)))
        for row in rows:
            target = self.known[row.queue_id]
            held = workers.of(target.ref)
            row.backlog, row.oldest_ms, row.paused = target.backlog, target.oldest_ms, target.paused
            row.workers, row.seen_at = None if held is None else len(held), timezone.now()
        with self.run.saving():
            ReplayQueue.objects.bulk_update(rows, ["backlog", "oldest_ms", "paused", "workers", "seen_at"], 500)


def _take(target: Target, counts: Counts) -> None:
    target.backlog, target.paused, target.sent = counts.backlog, counts.paused, 0
    target.oldest_ms = counts.oldest.since_ms if counts.oldest else None


def _workers_of(run: Run) -> Workers:
    """The workers of all queues, as they were within the last five seconds: one CLIENT LIST for all plans."""
    source = run.replay.source.name
    if Capability.WORKERS not in run.reader.capabilities:
        return Workers(unknown_because="-")
    with _lock:
        at, known = _workers.get(source, (-WORKERS_EVERY_S, Workers(unknown_because="-")))
    if time.monotonic() - at < WORKERS_EVERY_S:
        return known
    try:
        known = run.reader.workers()
    except Unreachable:
        raise
    except QueueError as error:
        known = Workers(unknown_because=str(error))
    with _lock:
        _workers[source] = (time.monotonic(), known)
    return known
