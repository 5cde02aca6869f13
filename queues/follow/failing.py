"""What the follower and the index of failures beside it hand to each other, over the desk of their source.

Hints go there as events are read; what changed in the index comes back, to be told to those who watch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from queues.backend import Batch
from queues.events import EventKind
from queues.failures.desk import Changes, Desk
from queues.live import FailuresNews, Standing
from queues.types import QueueRef, State

RECALL_S = 4.0  # a page is read, connects and is asked for within that: what changed meanwhile is told it too
GROUPS = 1_000  # that news name; where more have changed, all are looked at again

_LEAVES = {EventKind.WAITING, EventKind.REMOVED}


def hint(desk: Desk, batch: Batch, *, lost: bool) -> None:
    """Hand over who failed and who left, by one reading of one stream; `lost`: events before it are not known.

    Where nothing failed: 0.1 µs for each entry of a batch in which jobs begin to wait, nothing for others.
    """
    kinds = {kind for tally in batch.tallies.values() for kind in tally}
    if lost or EventKind.CLEANED in kinds:
        desk.compare([batch.queue])
    if EventKind.FAILED in kinds:
        if desk.full:
            desk.compare([batch.queue])
        else:
            desk.failed(batch.queue, batch.events(kinds={EventKind.FAILED}, most=batch.number))
    if kinds & _LEAVES and (left := batch.left(State.FAILED)):
        desk.left(batch.queue, left)


def compare(desk: Desk | None, queues: Collection[QueueRef]) -> None:
    """Events of these queues may have been lost."""
    if desk is not None and queues:
        desk.compare(queues)


class Changed:
    """What changed in the index, until it is told. For the follower's thread; `now` is monotonic, in seconds."""

    def __init__(self, desk: Desk | None) -> None:
        self._desk = desk
        self._waiting: deque[tuple[float, Changes]] = deque()
        self._open: int | None = None

    def collect(self, now: float, *, watched: bool) -> bool:
        """Take over what is new; gives whether there is something to tell. What nobody watches is soon forgotten."""
        if self._desk is not None and (changes := self._desk.changes()) is not None:
            self._waiting.append((now, changes))
            self._open = changes.open
        while not watched and self._waiting and self._waiting[0][0] < now - RECALL_S:
            self._waiting.popleft()
        return bool(self._waiting)

    def news(self, source: str, standing: Standing) -> FailuresNews:
        """All that waits to be told."""
        told = [changes for _at, changes in self._waiting]
        self._waiting.clear()
        groups = tuple(dict.fromkeys(slug for changes in told for slug in changes.groups))
        fresh = sum(changes.fresh for changes in told)
        return FailuresNews(source, standing, groups[:GROUPS], fresh, self._open, whole=len(groups) > GROUPS)
