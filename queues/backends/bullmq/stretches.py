"""Walking the collections that hold job ids: lists by position, sorted sets by score and id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from django.utils.translation import gettext as _

from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.cursors import Anchor, Position
from queues.backends.bullmq.keys import LISTS, MARKER, ZSETS, key
from queues.backends.bullmq.replies import Reply, array, blobs, count, items
from queues.backends.bullmq.scripts import script
from queues.errors import BadInput, Unsupported
from queues.types import Order, QueueRef, State

Place = Anchor | Position
FINISHED = (State.COMPLETED, State.FAILED)


@dataclass(frozen=True, slots=True)
class Entry:
    id: bytes
    state: State
    at: Place
    score: bytes | None = None


@dataclass(frozen=True, slots=True)
class Stretch:
    """Entries in the order in which they were walked.

    `more` says that there is something beyond the last, `behind` that there is something on the
    other side of where the walk began, `end` is the last place looked at.
    """

    entries: Sequence[Entry]
    total: int
    more: bool
    behind: bool
    end: Place | None


class Walk(Protocol):
    """Walks from a place (exclusive; None = the beginning) in the order of the page, or `back`."""

    stable: bool

    def take(self, at: Place | None, *, back: bool, size: int) -> Stretch: ...


def walk(connection: Connection, queue: QueueRef, states: Sequence[State], order: Order) -> Walk:
    """The walk over one state, or over completed and failed merged. BadInput for other combinations."""
    wanted = tuple(state for state in State if state in states)
    if wanted == FINISHED or (len(wanted) == 1 and wanted[0] in ZSETS):
        return Ranked(connection, queue, wanted, order)
    if len(wanted) == 1:
        return Listed(connection, queue, wanted[0], order)
    raise BadInput(_("Only completed and failed jobs can be listed together."))


def ranked(states: Sequence[State]) -> bool:
    return all(state in ZSETS for state in states)


class Ranked:
    """One sorted set, or several merged by score. Its places stay right while jobs come and go."""

    stable = True

    def __init__(self, connection: Connection, queue: QueueRef, states: Sequence[State], order: Order) -> None:
        self.connection = connection
        self.keys = [key(queue, ZSETS[state]) for state in states]
        self.states = states
        self.order = order

    def take(self, at: Place | None, *, back: bool, size: int) -> Stretch:
        up = (self.order is Order.OLDEST) is not back
        anchor = at if isinstance(at, Anchor) else Anchor(b"", b"", 0)
        command = script("zpage").call(self.keys, "up" if up else "down", size, anchor.score, anchor.id, anchor.owner)
        parts = [items(part) for part in array(self.connection.run([command])[0], len(self.keys))]
        if not all(parts):
            raise Unsupported(_unreadable())
        entries = [entry for owner, part in enumerate(parts) for entry in self._entries(owner, part)]
        entries.sort(key=_rank, reverse=not up)
        total = sum(count(part[0]) for part in parts if part)
        other = sum(count(part[1]) for part in parts if part)
        taken = entries[:size]
        return Stretch(taken, total, total - other > len(taken), other > 0, taken[-1].at if taken else at)

    def _entries(self, owner: int, part: list[Reply]) -> list[Entry]:
        members = blobs(part[2]) if part else []
        return [
            Entry(member, self.states[owner], Anchor(score, member, owner + 1), score)
            for member, score in zip(members[::2], members[1::2], strict=True)
        ]


class Listed:
    """One state that is a list, or two lists read as one. Its places move while jobs come and go."""

    stable = False

    def __init__(self, connection: Connection, queue: QueueRef, state: State, order: Order) -> None:
        self.connection = connection
        self.keys = [key(queue, suffix) for suffix in LISTS[state]]
        self.state = state
        self.end = "head" if order is Order.NEWEST else "tail"

    def take(self, at: Place | None, *, back: bool, size: int) -> Stretch:
        offset = at.offset if isinstance(at, Position) else -1
        first = max(offset - size, 0) if back else offset + 1
        wanted = offset - first if back else size
        command = script("lpage").call(self.keys, self.end, first, wanted)
        lengths, markers, ids = (array(part) for part in array(self.connection.run([command])[0], 3))
        if any(length is None for length in lengths):
            raise Unsupported(_unreadable())
        entries = [Entry(job, self.state, Position(first + place)) for place, job in enumerate(blobs(ids))]
        if back:
            entries.reverse()
        length = sum(count(length) for length in lengths)
        return Stretch(
            entries=[entry for entry in entries if not entry.id.startswith(MARKER)],
            total=length - sum(count(marker) for marker in markers),
            more=first > 0 if back else first + len(entries) < length,
            behind=offset < length if back else 0 < first <= length,
            end=entries[-1].at if entries else at,
        )


def _rank(entry: Entry) -> tuple[float, int, bytes]:
    assert isinstance(entry.at, Anchor)
    return float(entry.at.score), entry.at.owner, entry.id


def _unreadable() -> str:
    return _("This list cannot be read: its key holds something that BullMQ did not put there.")
