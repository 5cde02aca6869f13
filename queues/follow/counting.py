"""The depths of a source's queues as the follower reads them: each second where somebody looks, else each five."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from queues.backend import Backend
from queues.errors import QueueError
from queues.live import RowNews
from queues.quantities import now_ms
from queues.types import Capability, QueueRef, Workers

TURN_S = 1.0
TURNS = 5  # a queue that nobody watches is counted in each fifth turn: all of them are never counted at once
WORKERS_S = 5.0


@dataclass(slots=True)
class _Due:
    turn: float = 0.0
    workers: float = 0.0


class Counting:
    """What was last read of each queue. For one thread."""

    def __init__(self, reader: Backend) -> None:
        self.rows: dict[QueueRef, RowNews] = {}
        self._reader = reader
        self._workers = Workers(unknown_because="-")
        self._due = _Due()
        self._turn = 0
        self._now: set[QueueRef] = set()

    def at_once(self, queues: Iterable[QueueRef]) -> None:
        """Count these with the next call, whosever turn it is."""
        self._now.update(queues)

    def read(self, queues: Collection[QueueRef], watched: Collection[QueueRef], now: float) -> Collection[QueueRef]:
        """Count the queues whose turn it is (`now` is monotonic, in seconds); give those that differ from before.

        Two calls for every 125 queues that are counted, and one CLIENT LIST each five seconds.
        """
        chosen = self._chosen(queues, watched, now)
        for gone in self.rows.keys() - set(queues):
            del self.rows[gone]
        if not chosen:
            return ()
        at_ms = now_ms()
        counts = self._reader.counts(chosen)
        self._read_workers(now)
        changed = []
        for ref, each in counts.items():
            held = self._workers.of(ref)
            workers = None if held is None else len(held)
            before = self.rows.get(ref)
            same = before is not None and before.counts == each and before.workers == workers
            stamp = before.changed_ms if same and before else at_ms
            self.rows[ref] = RowNews(ref, at_ms, stamp, each, workers)
            if not same:
                changed.append(ref)
        return changed

    def touch(self, queues: Iterable[QueueRef]) -> None:
        """Something else about these queues is different now: their history."""
        at_ms = now_ms()
        for ref in queues:
            if row := self.rows.get(ref):
                self.rows[ref] = replace(row, changed_ms=at_ms)

    def _chosen(self, queues: Collection[QueueRef], watched: Collection[QueueRef], now: float) -> list[QueueRef]:
        chosen = set(self._now)
        self._now.clear()
        if now >= self._due.turn:
            self._due.turn = now + TURN_S
            self._turn = (self._turn + 1) % TURNS
            chosen.update(watched)
            chosen.update(ref for place, ref in enumerate(queues) if place % TURNS == self._turn)
            chosen.update(ref for ref in queues if ref not in self.rows)
        return [ref for ref in queues if ref in chosen]

    def _read_workers(self, now: float) -> None:
        if now < self._due.workers or Capability.WORKERS not in self._reader.capabilities:
            return
        self._due.workers = now + WORKERS_S
        try:
            self._workers = self._reader.workers()
        except QueueError as error:
            self._workers = Workers(unknown_because=str(error))
