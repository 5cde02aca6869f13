"""The right to index one source as long as its follower holds the lease, and the one way to write in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from queues.backend import Backend, Failures
from queues.failures.desk import Desk
from queues.failures.index.pace import LONGEST_S, Pace
from queues.failures.index.tracks import Track
from queues.failures.store import Lost, Store, Written
from queues.failures.types import Found
from queues.types import QueueRef

OPEN_S = 1.0  # how often open groups are counted at most
WANTED = 1_000  # jobs whose data a sample wants, at most: others are wanted again
LEAST = 4  # rows that a part without any counts as: it writes a row of its own


@runtime_checkable
class Reader(Backend, Failures, Protocol):
    """A backend that can read failed jobs, on a connection of its own."""

    def close(self) -> None:
        """Close the connection; the next call opens another."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is to be written of one queue, in one transaction or as few as its rows need; then `then` is called."""

    track: Track
    found: Sequence[Found] = ()
    gone: Sequence[bytes] = ()
    progress: dict[str, object] = field(default_factory=dict)
    then: Callable[[], None] | None = None


class Term:
    """One term of one source. Raises `Lost` as soon as it has ended; then nothing may be written."""

    def __init__(self, source: str, epoch: int, reader: Reader, store: Store, desk: Desk) -> None:
        self.source, self.epoch = source, epoch
        self.reader, self.store, self.desk = reader, store, desk
        self.pace = Pace()
        self.wanted: dict[tuple[QueueRef, bytes], Found] = {}
        self._parts: list[Part] = []
        self._rows = 0
        self._groups: set[str] = set()
        self._fresh: set[str] = set()
        self._opened_at = float("-inf")
        self._opened = 0

    @contextmanager
    def writing(self, rows: int = 1) -> Iterator[None]:
        """A transaction, at its time. Others get the lock before it."""
        if self.desk.epoch != self.epoch:
            raise Lost(self.source)
        self.pace.wait()
        began = time.monotonic()
        try:
            with self.store.writing():
                yield
        finally:
            self.pace.wrote(rows, time.monotonic() - began)

    def apart(self, track: Track, write: Callable[[Callable[[], None]], Written]) -> None:
        """What makes its own transactions, however many it needs; it calls what it is given between two of them."""
        if self.desk.epoch != self.epoch:
            raise Lost(self.source)
        self.flush()
        self.pace.wait()
        began = time.monotonic()

        def rest() -> None:
            nonlocal began
            self.pace.wrote(0, min(time.monotonic() - began, LONGEST_S))
            self.pace.wait()
            began = time.monotonic()

        try:
            written = write(rest)
        finally:
            track.ours = None
            self.pace.wrote(0, min(time.monotonic() - began, LONGEST_S))
        self.note(track.ref, written)
        self.tell()

    def put(self, part: Part) -> None:
        """Have this written with the next `flush`, or now where enough has come together."""
        self._parts.append(part)
        self._rows += max(LEAST, len(part.found) + len(part.gone))
        if self._rows >= self.pace.rows:
            self.flush()

    def flush(self) -> None:
        """Write all that was put, in its order. What cannot be written is dropped: nobody has noted it as done."""
        parts, self._parts, self._rows = self._parts, [], 0
        for pieces in self._portions(parts):
            self._write(pieces)

    def drop(self) -> None:
        """Forget what was put and not written."""
        self._parts, self._rows = [], 0

    def note(self, queue: QueueRef, written: Written, found: Sequence[Found] = ()) -> None:
        """Keep what a writing says for news and samples."""
        self.note_changed(written)
        if not written.wanted:
            return
        by_key = {(each.job, each.score_ms): each for each in found}
        for key in written.wanted:
            if key in by_key and len(self.wanted) < WANTED:
                self.wanted[queue, key[0]] = by_key[key]

    def note_changed(self, written: Written) -> None:
        """Keep what changed in no queue alone."""
        self._groups |= written.groups
        self._fresh |= written.fresh

    def tell(self) -> None:
        """Let the follower publish which groups have changed."""
        if not (self._groups or self._fresh):
            return
        if time.monotonic() - self._opened_at >= OPEN_S:
            self._opened = self.store.opened()
            self._opened_at = time.monotonic()
        self.desk.changed(self._groups, self._fresh, self._opened)
        self._groups, self._fresh = set(), set()

    def _portions(self, parts: Sequence[Part]) -> Iterator[list[Part]]:
        """The parts in transactions of about `pace.rows`; a large one is cut, and only its end tells progress."""
        pieces: list[Part] = []
        room = self.pace.rows
        for part in parts:
            for piece in _cut(part, self.pace.rows):
                rows = max(LEAST, len(piece.found) + len(piece.gone))
                if pieces and rows > room:
                    yield pieces
                    pieces, room = [], self.pace.rows
                pieces.append(piece)
                room -= rows
        if pieces:
            yield pieces

    def _write(self, pieces: Sequence[Part]) -> None:
        done: list[tuple[QueueRef, Written, Sequence[Found]]] = []
        with self.writing(sum(len(piece.found) + len(piece.gone) for piece in pieces)):
            for piece in pieces:
                ref = piece.track.ref
                if piece.gone:
                    done.append((ref, self.store.gone(ref, piece.gone), ()))
                if piece.found:
                    done.append((ref, self.store.add(ref, piece.found), piece.found))
                if piece.progress:
                    self.store.progress(ref, **piece.progress)
        for ref, written, found in done:
            self.note(ref, written, found)
        for piece in pieces:
            if piece.found or piece.gone:
                piece.track.ours = None
            if piece.then:
                piece.then()
        self.tell()


def _cut(part: Part, rows: int) -> Iterator[Part]:
    if len(part.found) + len(part.gone) <= rows:
        yield part
        return
    for at in range(0, len(part.gone), rows):
        yield Part(part.track, gone=part.gone[at : at + rows])
    for at in range(0, len(part.found), rows):
        yield Part(part.track, part.found[at : at + rows])
    yield Part(part.track, progress=part.progress, then=part.then)
