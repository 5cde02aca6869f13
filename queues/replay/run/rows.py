"""Which rows are sent next, and which of them together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models.base import ModelState

from queues.models import ReplayJob
from queues.replay import naming
from queues.replay.run.run import Run
from queues.replay.types import Acts, Place
from queues.sendings import Conflict
from queues.types import QueueRef, State

ORPHANS = frozenset({Conflict.PARENT_FAILED, Conflict.PARENT_GONE})

_READ = (
    "id", "rank", "queue_id", "job", "seen", "state", "acts", "target_id", "letter_queue_id", "letter", "conflict",
)  # fmt: skip

Cursor = tuple[int, int]  # rank and key of the last row


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that one call can send to `queue`, in their order. `orphans`: in spite of what became of their parents."""

    rows: Sequence[ReplayJob]
    queue: QueueRef
    acts: Acts
    state: State
    orphans: bool


def next_rows(run: Run, most: int, *, canary: bool, after: Cursor | None = None) -> list[ReplayJob]:
    """The next rows that can be sent, behind a place in their order. One query by an index."""
    found = ReplayJob.objects.filter(replay=run.replay.pk, place=Place.READY)
    if canary:
        found = found.filter(canary=True)
    if after is not None:
        rank, key = after
        found = found.filter(rank__gte=rank).exclude(rank=rank, pk__lte=key)
    rows = [_row(found.db, values) for values in found.order_by("rank", "pk").values_list(*_READ)[:most]]
    for row in rows:
        if row.acts == Acts.COPY:
            row.queue = run.queue(row.queue_id)
    return rows


def _row(db: str, values: Sequence[object]) -> ReplayJob:
    """A row as the ORM would make it, which takes four times as long; what was not read is read when asked for."""
    row = ReplayJob.__new__(ReplayJob)
    row._state = ModelState()
    row._state.adding, row._state.db = False, db
    vars(row).update(zip(_READ, values, strict=True))
    return row


def goes_to(row: ReplayJob) -> int:
    """The queue, by its key, that a row is sent to."""
    return naming.goes_to(row.acts, row.queue_id, row.target_id)


def parts(run: Run, rows: Sequence[ReplayJob]) -> list[Part]:
    """Rows by where they go: within a queue in their order, and together what one call can do.

    Between queues there is no order that a worker could see; jobs of one key wait for each other wherever they are.
    """
    by_queue: dict[int, list[ReplayJob]] = {}
    for row in rows:
        by_queue.setdefault(goes_to(row), []).append(row)
    return [part for queue, some in by_queue.items() for part in _alike(run.ref(queue), some)]


def _alike(queue: QueueRef, rows: Sequence[ReplayJob]) -> Iterator[Part]:
    first = 0
    for at in range(1, len(rows) + 1):
        if at == len(rows) or _kind(rows[at]) != _kind(rows[first]):
            acts, state, orphans = _kind(rows[first])
            yield Part(rows[first:at], queue, Acts(acts), State(state), orphans)
            first = at


def _kind(row: ReplayJob) -> tuple[str, str, bool]:
    return row.acts, row.state, row.conflict in ORPHANS
