"""Single failures of a group: lists of them, the newest first, and those that an action is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _

from queues.errors import BadInput
from queues.models import Failure, FailureGroup, FailureStrand

PAGE = 50
CHUNK = 500
COUNTED = 10_000  # failures that are counted for a page
APART = 60  # strands that are read one by one, each by its index


class Where(StrEnum):
    """Where the job of a failure is."""

    SET = "set"  # in the failed set
    LETTER = "letter"  # only a letter tells of it
    GONE = "gone"


_WHERE: Mapping[Where, Q] = {
    Where.SET: Q(in_set=True),
    Where.LETTER: Q(in_set=False, present=True),
    Where.GONE: Q(present=False),
}


@dataclass(frozen=True, slots=True)
class Which:
    """Failures of a group. `since_ms` is included, `until_ms` is not; what is empty or None means all.

    `queue` is a slug; `name` and `worker` are as the index keeps them, None means any ("" is one that is not known).
    """

    since_ms: int | None = None
    until_ms: int | None = None
    queue: str = ""
    name: str | None = None
    worker: str | None = None
    where: Where | None = None

    def kept(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return {key: value for key, value in asdict(self).items() if value is not None and (value or key != "queue")}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Which:
        where = kept.get("where")
        return cls(
            kept.get("since_ms"),
            kept.get("until_ms"),
            str(kept.get("queue", "")),
            kept.get("name"),
            kept.get("worker"),
            Where(where) if where else None,
        )


@dataclass(frozen=True, slots=True)
class Page:
    """Some failures, each with its strand and queue. `older` and `newer` are what `find` is given; "" = no more."""

    rows: Sequence[Failure]
    older: str = ""
    newer: str = ""


def strands(group: FailureGroup, which: Which) -> Sequence[FailureStrand]:
    """Those in which such failures may be. One query."""
    found = group.strands.select_related("queue")
    if which.queue:
        found = found.filter(queue__slug=which.queue)
    if which.name is not None:
        found = found.filter(name=which.name)
    if which.since_ms is not None:
        found = found.filter(last_ms__gte=which.since_ms)
    if which.where:  # where none can be, none is looked for: that would read all of its failures
        found = found.filter(total__gt=F("present")) if which.where is Where.GONE else found.filter(present__gt=0)
    return list(found.order_by("pk"))


def find(group: FailureGroup, which: Which, *, older: str = "", newer: str = "", size: int = PAGE) -> Page:
    """A page, newest first, without an offset: an indexed query for each of up to 60 strands. BadInput: odd cursor."""
    among = strands(group, which)
    if newer:
        rows = _next(among, which, after=_cursor(newer), size=size + 1)
        more, rows = len(rows) > size, rows[:size][::-1]
        return Page(rows, _at(rows, -1), _at(rows, 0) if more else "")
    rows = _next(among, which, before=_cursor(older) if older else None, size=size + 1)
    more, rows = len(rows) > size, rows[:size]
    return Page(rows, _at(rows, -1) if more else "", _at(rows, 0) if older else "")


def count(group: FailureGroup, which: Which, most: int = COUNTED) -> int:
    """How many there are; `most` + 1 where there are more than that."""
    return _matching([strand.pk for strand in strands(group, which)], which)[: most + 1].count()


def each(group: FailureGroup, which: Which) -> Iterator[Failure]:
    """All of them, newest first, some hundred at a time: for exports of any length."""
    among, before = strands(group, which), None
    while rows := _next(among, which, before=before, size=CHUNK):
        yield from rows
        before = (rows[-1].at_ms, rows[-1].pk)


def _next(
    among: Sequence[FailureStrand],
    which: Which,
    *,
    size: int,
    before: tuple[int, int] | None = None,
    after: tuple[int, int] | None = None,
) -> list[Failure]:
    """The failures next to a place in the order, nearest first."""
    forth = ("at_ms", "pk") if after else ("-at_ms", "-pk")
    keys = [strand.pk for strand in among]
    parts = [[key] for key in keys] if len(keys) <= APART else [keys]
    rows: list[Failure] = []
    for part in parts:
        found = _matching(part, which)
        if before:
            found = found.filter(Q(at_ms__lt=before[0]) | Q(at_ms=before[0], pk__lt=before[1]), at_ms__lte=before[0])
        if after:
            found = found.filter(Q(at_ms__gt=after[0]) | Q(at_ms=after[0], pk__gt=after[1]), at_ms__gte=after[0])
        rows += found.order_by(*forth)[:size]
    rows.sort(key=lambda row: (row.at_ms, row.pk), reverse=not after)
    by_key = {strand.pk: strand for strand in among}
    for row in rows[:size]:
        row.strand = by_key[row.strand_id]
    return rows[:size]


def _matching(keys: Sequence[int], which: Which) -> QuerySet[Failure]:
    found = Failure.objects.filter(strand__in=keys)
    if which.since_ms is not None:
        found = found.filter(at_ms__gte=which.since_ms)
    if which.until_ms is not None:
        found = found.filter(at_ms__lt=which.until_ms)
    if which.worker is not None:
        found = found.filter(worker=which.worker)
    return found.filter(_WHERE[which.where]) if which.where else found


def _at(rows: Sequence[Failure], place: int) -> str:
    return f"{rows[place].at_ms}-{rows[place].pk}" if rows else ""


def _cursor(text: str) -> tuple[int, int]:
    at, dash, pk = text.partition("-")
    if not dash or not all(part.isascii() and part.isdigit() and len(part) < 19 for part in (at, pk)):
        raise BadInput(_("This link into the list cannot be read."))
    return int(at), int(pk)
