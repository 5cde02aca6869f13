"""A row of a plan as pages and exports tell it, made of what the database keeps.

The queues and groups that rows name are asked for once.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from queues.failures.store.ids import id_of
from queues.failures.store.rows import parts
from queues.models import FailureGroup, Queue
from queues.replay.types import Acts, Place
from queues.sendings import Conflict, Fate
from queues.types import JobRef, QueueRef

MARK = 6  # hex digits of a key's mark
MOST = 10_000  # groups that are remembered


@dataclass(frozen=True, slots=True)
class Group:
    slug: str
    title: str


@dataclass(frozen=True, slots=True)
class Row:
    """A job of a plan. `made` is where it waits, runs or ended: the copy, or itself; None while it was not sent."""

    pk: int
    job: JobRef
    name: str
    acts: Acts
    target: QueueRef | None
    letter: JobRef | None
    place: Place
    conflict: Conflict
    note: str
    canary: bool
    created_ms: int | None
    failed_ms: int | None
    permanent: bool
    group: Group | None
    made: JobRef | None
    sent_ms: int | None
    fate: Fate
    tries: int
    ended_ms: int | None
    again: Group | None
    original: str
    key: str = ""  # a mark of the value within which its order is kept; "" = none


class Kept(NamedTuple):
    """A row as the database keeps it: of `ReplayJob` what is told, by the names of its columns."""

    pk: int
    queue_id: int
    job: str
    name: str
    acts: str
    target_id: int | None
    letter_queue_id: int | None
    letter: str
    place: str
    conflict: str
    note: str
    canary: bool
    created_ms: int | None
    failed_ms: int | None
    permanent: bool
    group_id: int | None
    made: str
    sent_ms: int | None
    fate: str
    tries: int
    ended_ms: int | None
    again_id: int | None
    original: str
    key: int | None
    rank: int


COLUMNS = Kept._fields


class Names:
    """The queues and groups that rows name, and the marks of their keys. `token` is that of the plan."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._queues: dict[int, QueueRef] = {}
        self._groups: dict[int, Group] = {}

    def rows(self, kept: Sequence[Kept]) -> list[Row]:
        """These rows. A query for what they name and was not named before: one of queues, one of groups."""
        self._learn_queues(key for row in kept for key in (row.queue_id, row.target_id, row.letter_queue_id))
        self._learn_groups(key for row in kept for key in (row.group_id, row.again_id))
        return [self._row(row) for row in kept]

    def _learn_queues(self, wanted: Iterable[int | None]) -> None:
        for part in parts(sorted({key for key in wanted if key is not None} - self._queues.keys())):
            found = Queue.objects.filter(pk__in=part).values_list("pk", "source__name", "slug")
            self._queues |= {pk: QueueRef.from_slug(source, slug) for pk, source, slug in found}

    def _learn_groups(self, wanted: Iterable[int | None]) -> None:
        """One that was merged is called by the one that it is part of now."""
        if len(self._groups) > MOST:
            self._groups.clear()
        for part in parts(sorted({key for key in wanted if key is not None} - self._groups.keys())):
            found = FailureGroup.objects.filter(pk__in=part).values_list(
                "pk", "slug", "title", "merged_into__slug", "merged_into__title"
            )
            for pk, slug, title, into, called in found:
                self._groups[pk] = Group(into, called) if into else Group(slug, title)

    def _row(self, row: Kept) -> Row:
        queue = self._queues[row.queue_id]
        target = None if row.target_id is None else self._queues[row.target_id]
        landed = target if target is not None and row.acts == Acts.COPY else queue
        lettered = bool(row.letter) and row.letter_queue_id is not None
        job = JobRef(queue, _id(row.job))
        made = JobRef(landed, _id(row.made)) if row.made else job if landed is queue else JobRef(landed, job.id)
        return Row(
            row.pk,
            job,
            row.name,
            Acts(row.acts),
            target,
            JobRef(self._queues[row.letter_queue_id or 0], _id(row.letter)) if lettered else None,
            Place(row.place),
            Conflict(row.conflict),
            row.note,
            row.canary,
            row.created_ms,
            row.failed_ms,
            row.permanent,
            self._groups.get(row.group_id or 0),
            made if row.sent_ms is not None else None,
            row.sent_ms,
            Fate(row.fate),
            row.tries,
            row.ended_ms,
            self._groups.get(row.again_id or 0),
            row.original,
            "" if row.key is None else self._mark(row.key),
        )

    def _mark(self, key: int) -> str:
        """What jobs of one value share: it tells them from others of the plan, and nothing of the value."""
        return hmac.new(self._token, b"%d" % key, "sha256").hexdigest()[:MARK]


def _id(slug: str) -> bytes:
    # Written by ourselves, so it need not be looked at again whether it is a slug.
    return id_of(slug) if slug.startswith("~") else slug.encode("ascii")
