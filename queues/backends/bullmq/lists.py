"""Pages of jobs: one state, or completed and failed merged; filtered by name where that is asked for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from queues.backend import PAGE_SIZES
from queues.backends.bullmq import cursors, fields
from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.cursors import Cursor
from queues.backends.bullmq.keys import base
from queues.backends.bullmq.rows import CAPS, row
from queues.backends.bullmq.stretches import Entry, Place, Stretch, Walk, ranked, walk
from queues.errors import LimitExceeded
from queues.types import JobPage, JobRef, JobRow, Order, QueueRef, State

SCAN_BOUND = 10_000  # jobs that one call with a name filter looks at
SCAN_STEP = 1000
_NAME_CAP = {b"name": 1024}


@dataclass(slots=True)
class _Found:
    """What a page will hold, and what lies before and after it."""

    entries: list[Entry] = field(default_factory=list)
    total: int = 0
    more: bool = False
    behind: bool = False
    begin: Place | None = None
    end: Place | None = None
    scanned: int = 0
    bound_reached: bool = False


def page(
    connection: Connection,
    queue: QueueRef,
    states: Sequence[State],
    *,
    size: int,
    order: Order,
    cursor: str,
    name: str,
) -> JobPage:
    """A page of jobs: one call for the ids, one pipeline for their small fields (BullMQ: scripts/getRanges).

    With `name` (case does not matter, any part of the job's name) one more call for every 1,000 jobs looked at.
    """
    if not 1 <= size <= PAGE_SIZES[-1]:
        raise LimitExceeded(_("A page holds at most %(limit)d jobs.") % {"limit": PAGE_SIZES[-1]})
    steps = walk(connection, queue, states, order)
    start = cursors.decode(cursor, ranked=ranked(states)) if cursor else None
    at, back = (start.at, start.back) if start else (None, False)
    look = _Look(connection, queue, steps, size, name.casefold())
    found = look.collect(at, back=back)
    if back and not found.more and len(found.entries) < size:
        back, found = False, look.collect(None, back=False)
    return _page(found, _rows(connection, queue, found.entries), at=at, back=back, stable=steps.stable)


@dataclass(frozen=True, slots=True)
class _Look:
    connection: Connection
    queue: QueueRef
    steps: Walk
    size: int
    needle: str

    def collect(self, at: Place | None, *, back: bool) -> _Found:
        """Entries from `at` on, in the order of the page."""
        found = self._filtered(at, back=back) if self.needle else self._plain(at, back=back)
        if back:
            found.entries.reverse()
        return found

    def _plain(self, at: Place | None, *, back: bool) -> _Found:
        stretch = self.steps.take(at, back=back, size=self.size)
        return _Found(
            list(stretch.entries),
            stretch.total,
            stretch.more,
            stretch.behind,
            begin=stretch.entries[0].at if stretch.entries else at,
            end=stretch.end,
        )

    def _filtered(self, at: Place | None, *, back: bool) -> _Found:
        found = _Found(begin=at, end=at)
        first = True
        while True:
            stretch = self.steps.take(found.end, back=back, size=min(SCAN_STEP, SCAN_BOUND - found.scanned))
            if first:
                found.behind, found.begin, first = stretch.behind, _begin(stretch, at), False
            self._sift(stretch, found)
            if not found.more or len(found.entries) == self.size:
                return found
            if found.scanned >= SCAN_BOUND:
                found.bound_reached = True
                return found

    def _sift(self, stretch: Stretch, found: _Found) -> None:
        """Take over what matches, up to a full page."""
        found.total, found.more, found.end = stretch.total, stretch.more, stretch.end
        names = self._names(stretch.entries)
        for number, (entry, name) in enumerate(zip(stretch.entries, names, strict=True), 1):
            if self.needle not in name:
                continue
            found.entries.append(entry)
            if len(found.entries) == self.size:
                found.scanned += number
                found.more = stretch.more or number < len(stretch.entries)
                found.end = entry.at
                return
        found.scanned += len(stretch.entries)

    def _names(self, entries: Sequence[Entry]) -> list[str]:
        start = base(self.queue)
        hashes = fields.read(self.connection, [start + entry.id for entry in entries], _NAME_CAP)
        found = (one.get(b"name") for one in hashes)
        return [name.raw.decode("utf-8", errors="replace").casefold() if name else "" for name in found]


def _begin(stretch: Stretch, at: Place | None) -> Place | None:
    return stretch.entries[0].at if stretch.entries else at


def _rows(connection: Connection, queue: QueueRef, entries: Sequence[Entry]) -> list[JobRow]:
    start = base(queue)
    hashes = fields.read(connection, [start + entry.id for entry in entries], CAPS)
    return [
        row(JobRef(queue, entry.id), entry.state, found, score=entry.score)
        for entry, found in zip(entries, hashes, strict=True)
    ]


def _page(found: _Found, rows: Sequence[JobRow], *, at: Place | None, back: bool, stable: bool) -> JobPage:
    ahead, behind = (found.behind, found.more) if back else (found.more, found.behind)
    last, first = (found.begin, found.end) if back else (found.end, found.begin)
    return JobPage(
        rows=rows,
        total=found.total,
        next=cursors.encode(Cursor(last)) if ahead and last else "",
        previous=cursors.encode(Cursor(first, back=True)) if behind and first else "",
        scanned=found.scanned,
        exhausted=not found.bound_reached,
        stable=stable,
        read_ms=int(time.time() * 1000),
    )
