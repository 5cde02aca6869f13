"""The rows of a plan, for its page and exports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from queues.errors import BadInput
from queues.models import FailureGroup, Queue, Replay, ReplayJob
from queues.names import encode_part
from queues.replay.ledger_rows import COLUMNS, Group, Kept, Names, Row
from queues.replay.types import ENDS, Place
from queues.replay.watching.ways import under_way
from queues.sendings import Conflict, Fate

PAGE = 50
CHUNK = 2_000  # rows of each place that are read at once for an export
LOOKED = 200_000  # rows of each place that are looked at for a text
_CURSOR = re.compile(r"(-?[0-9]{1,18})\.([0-9]{1,18})")
_WAITS = (Fate.NONE, Fate.WAITING)  # that it waits is what is thought of any that nobody has looked at

__all__ = ["Filters", "Group", "Page", "Row", "each", "page"]

_Place = tuple[int, int]  # what rows are ordered by, and the key of the row


@dataclass(frozen=True, slots=True)
class Filters:
    """Which rows; what is empty or None means all. `fate` NONE: those that were sent and have not ended, however.

    `queue` is the slug of the queue it came from, `group` that of the group it failed in before or again, `text` a part
    of an id, its own or that of its copy.
    """

    place: Place | None = None
    fate: Fate | None = None
    conflict: Conflict | None = None
    queue: str = ""
    group: str = ""
    text: str = ""
    canary: bool = False
    like: int | None = None  # key of a row: those whose order is kept within the same value as its own


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows in the order of sending. `later` and `earlier` are what `page` is given as a cursor; "" = no more."""

    rows: Sequence[Row]
    later: str = ""
    earlier: str = ""


def page(replay: Replay, filters: Filters | None = None, *, later: str = "", earlier: str = "") -> Page:
    """A page of at most 50 rows, without an offset. BadInput for an odd cursor.

    By an indexed query for each place. With a text no more than 200,000 rows are looked at; `later` goes on there.
    """
    which, names = _Which(replay, filters or Filters()), Names(replay.token)
    if earlier:
        rows = which.next(PAGE + 1, _cursor(earlier), back=True)
        more, rows = len(rows) > PAGE, rows[:PAGE][::-1]
        return Page(names.rows(rows), which.at(rows, -1), which.at(rows, 0) if more else "")
    begin = _cursor(later) if later else None
    end = which.window(begin, LOOKED) if which.searches else None
    rows = which.next(PAGE + 1, begin, until=end)
    further = which.at(rows[:PAGE], -1) if len(rows) > PAGE else "" if end is None else _text(end)
    back = "" if begin is None else which.at(rows, 0) or _text((begin[0], begin[1] + 1))
    return Page(names.rows(rows[:PAGE]), further, back)


def each(replay: Replay, filters: Filters | None = None) -> Iterator[Row]:
    """All rows that match, in order, some thousand at a time: for exports of any length. Some 15 µs a row.

    One that is sent meanwhile is told once.
    """
    which, names = _Which(replay, filters or Filters()), Names(replay.token)
    begin: _Place | None = None
    while True:
        end = which.window(begin, CHUNK)
        yield from names.rows(which.upto(begin, end))
        if end is None:
            return
        begin = end


class _Which:
    """The rows that match, in an order that an index has.

    Those that have ended the newest first, those that are under way the longest first, all others as they are sent.
    """

    def __init__(self, replay: Replay, filters: Filters) -> None:
        self._column, self._down = _order(filters)
        self._parts = _parts(replay, filters)
        self._match = _matching(replay, filters)
        self.searches = bool(filters.text)

    def next(
        self, size: int, at: _Place | None = None, *, back: bool = False, until: _Place | None = None
    ) -> list[Kept]:
        """The rows next to a place, nearest first, up to another."""
        down = self._down != back
        found = [row for part in self._parts for row in self._read(part, at, until, down, size)]
        found.sort(key=self.place, reverse=down)
        return found[:size]

    def upto(self, at: _Place | None, until: _Place | None) -> list[Kept]:
        """All rows behind a place up to another, each once."""
        # Rows move on in the order of the parts: one that moves while they are read is where it was found last.
        found = {row.pk: row for part in self._parts for row in self._read(part, at, until, self._down)}
        return sorted(found.values(), key=self.place, reverse=self._down)

    def _read(
        self, part: QuerySet[ReplayJob], at: _Place | None, until: _Place | None, down: bool, size: int | None = None
    ) -> Iterator[Kept]:
        rows = self._behind(part, at, down).filter(self._match)
        if until is not None:
            bound = {f"{self._column}__{'gte' if down else 'lte'}": until[0]}
            rows = rows.filter(**bound).exclude(self._beyond(until, down))
        return map(Kept._make, self._ordered(rows, down).values_list(*COLUMNS)[:size])

    def window(self, begin: _Place | None, size: int) -> _Place | None:
        """Where looking at so many rows of each part ends that begins at a place; None: with the last."""
        ends: list[_Place] = []
        for part in self._parts:
            rows = self._ordered(self._behind(part, begin, self._down), self._down)
            ends += rows.values_list(self._column, "pk")[size - 1 : size]
        return (max if self._down else min)(ends, default=None)

    def place(self, row: Kept) -> _Place:
        return getattr(row, self._column) or 0, row.pk

    def at(self, rows: Sequence[Kept], number: int) -> str:
        return _text(self.place(rows[number])) if rows else ""

    def _ordered(self, rows: QuerySet[ReplayJob], down: bool) -> QuerySet[ReplayJob]:
        sign = "-" if down else ""
        return rows.order_by(f"{sign}{self._column}", f"{sign}pk")

    def _behind(self, rows: QuerySet[ReplayJob], at: _Place | None, down: bool) -> QuerySet[ReplayJob]:
        if at is None:
            return rows
        bound = {f"{self._column}__{'lte' if down else 'gte'}": at[0]}  # what an index can begin at
        return rows.filter(self._beyond(at, down), **bound)

    def _beyond(self, at: _Place, down: bool) -> Q:
        word = "lt" if down else "gt"
        return Q(**{f"{self._column}__{word}": at[0]}) | Q(**{self._column: at[0], f"pk__{word}": at[1]})


def _order(filters: Filters) -> tuple[str, bool]:
    """By what rows are ordered, and whether the highest comes first."""
    if filters.fate is None:
        return "rank", False
    return ("ended_ms", True) if filters.fate in ENDS else ("sent_ms", False)


def _parts(replay: Replay, filters: Filters) -> Sequence[QuerySet[ReplayJob]]:
    """The rows of these places and this fate, each part by an index of its own."""
    rows = ReplayJob.objects.filter(replay=replay.pk)
    if filters.fate is None:
        return [rows.filter(place=place) for place in ([filters.place] if filters.place else Place)]
    if filters.place not in (None, Place.SENT):
        return []
    if filters.fate in ENDS:
        return [rows.filter(place=Place.SENT, fate=filters.fate, ended_ms__isnull=False)]
    going = under_way(replay)
    if filters.fate is Fate.NONE:
        return [going]
    return [going.filter(fate__in=_WAITS if filters.fate is Fate.WAITING else (filters.fate,))]


def _matching(replay: Replay, filters: Filters) -> Q:
    """What else is asked of rows."""
    match = Q()
    if filters.conflict is not None:
        match &= Q(conflict=filters.conflict)
    if filters.canary:
        match &= Q(canary=True)
    if filters.like is not None:
        match &= Q(key__isnull=False, key=replay.jobs.filter(pk=filters.like).values("key")[:1])
    if filters.queue:
        queues = Queue.objects.filter(source=replay.source_id, slug=filters.queue)
        match &= Q(queue__in=list(queues.values_list("pk", flat=True)))
    if filters.group:
        wanted = Q(slug=filters.group) | Q(merged_into__slug=filters.group)
        groups = list(FailureGroup.objects.filter(wanted).values_list("pk", flat=True))
        match &= Q(group__in=groups) | Q(again__in=groups)
    return match & _named(filters.text) if filters.text else match


def _named(text: str) -> Q:
    """Jobs whose id holds this, or is it where it has other characters than those that stand in URLs."""
    slug = encode_part(text.encode(errors="replace"), colon=True)
    if slug == text:
        return Q(job__contains=text) | Q(made__contains=text) | Q(letter__contains=text)
    known = [slug, text] if text.startswith("~") else [slug]
    return Q(job__in=known) | Q(made__in=known) | Q(letter__in=known)


def _text(place: _Place) -> str:
    return f"{place[0]}.{place[1]}"


def _cursor(text: str) -> _Place:
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise BadInput(_("This link into the list cannot be read."))
    return int(found[1]), int(found[2])
