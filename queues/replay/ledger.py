"""The rows of a plan, for its page and exports."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from queues.errors import BadInput
from queues.failures.store.ids import id_of
from queues.models import FailureGroup, Queue, Replay, ReplayJob
from queues.names import encode_part
from queues.replay.types import ENDS, Acts, Place
from queues.replay.watching.ways import under_way
from queues.sendings import Conflict, Fate
from queues.types import JobRef, QueueRef

PAGE = 50
CHUNK = 500
MARK = 6  # hex digits of a key's mark
LOOKED = 200_000  # rows of each place that are looked at for a text
_CURSOR = re.compile(r"(-?[0-9]{1,18})\.([0-9]{1,18})")
_WAITS = (Fate.NONE, Fate.WAITING)  # that it waits is what is thought of any that nobody has looked at
_RELATED = ("queue__source", "target__source", "letter_queue__source", "group__merged_into", "again__merged_into")

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
    group: Group | None
    made: JobRef | None
    sent_ms: int | None
    fate: Fate
    tries: int
    ended_ms: int | None
    again: Group | None
    original: str
    key: str = ""  # a mark of the value within which its order is kept; "" = none


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
    which = _Which(replay, filters or Filters())
    if earlier:
        rows = which.next(PAGE + 1, _cursor(earlier), back=True)
        more, rows = len(rows) > PAGE, rows[:PAGE][::-1]
        return Page(list(map(_row, rows)), which.at(rows, -1), which.at(rows, 0) if more else "")
    begin = _cursor(later) if later else None
    end = which.window(begin) if which.searches else None
    rows = which.next(PAGE + 1, begin, until=end)
    further = which.at(rows[:PAGE], -1) if len(rows) > PAGE else "" if end is None else _text(end)
    back = "" if begin is None else which.at(rows, 0) or _text((begin[0], begin[1] + 1))
    return Page(list(map(_row, rows[:PAGE])), further, back)


def each(replay: Replay, filters: Filters | None = None) -> Iterator[Row]:
    """All rows that match, in order, some hundred at a time: for exports of any length."""
    which, begin = _Which(replay, filters or Filters()), None
    while rows := which.next(CHUNK, begin):
        yield from map(_row, rows)
        begin = which.place(rows[-1])


class _Which:
    """The rows that match, in an order that an index has.

    Those that have ended the newest first, those that are under way the longest first, all others as they are sent.
    """

    def __init__(self, replay: Replay, filters: Filters) -> None:
        self._replay = replay
        self._column, self._down = _order(filters)
        self._parts = _parts(replay, filters)
        self._match = _matching(replay, filters)
        self.searches = bool(filters.text)

    def next(
        self, size: int, at: _Place | None = None, *, back: bool = False, until: _Place | None = None
    ) -> list[ReplayJob]:
        """The rows next to a place, nearest first, up to another."""
        down = self._down != back
        found: list[ReplayJob] = []
        for part in self._parts:
            rows = self._behind(part, at, down).filter(self._match)
            if until is not None:
                rows = rows.exclude(self._beyond(until, down))
            found += self._ordered(rows, down).select_related(*_RELATED).defer("was")[:size]
        found.sort(key=self.place, reverse=down)
        for row in found[:size]:
            row.replay = self._replay
        return found[:size]

    def window(self, begin: _Place | None) -> _Place | None:
        """Where looking at rows ends that begins at a place; None: with the last."""
        ends: list[_Place] = []
        for part in self._parts:
            rows = self._ordered(self._behind(part, begin, self._down), self._down)
            ends += rows.values_list(self._column, "pk")[LOOKED - 1 : LOOKED]
        return (max if self._down else min)(ends, default=None)

    def place(self, row: ReplayJob) -> _Place:
        return getattr(row, self._column) or 0, row.pk

    def at(self, rows: Sequence[ReplayJob], number: int) -> str:
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


def _row(row: ReplayJob) -> Row:
    queue = _ref(row.queue)
    copied = row.acts == Acts.COPY and row.target is not None
    landed = _ref(row.target) if copied and row.target is not None else queue
    sent = row.sent_ms is not None
    fate = Fate(row.fate)
    return Row(
        pk=row.pk,
        job=JobRef(queue, id_of(row.job)),
        name=row.name,
        acts=Acts(row.acts),
        target=_ref(row.target) if row.target else None,
        letter=JobRef(_ref(row.letter_queue), id_of(row.letter)) if row.letter and row.letter_queue else None,
        place=Place(row.place),
        conflict=Conflict(row.conflict),
        note=row.note,
        canary=row.canary,
        created_ms=row.created_ms,
        failed_ms=row.failed_ms,
        group=_group(row.group),
        made=JobRef(landed, id_of(row.made or row.job)) if sent else None,
        sent_ms=row.sent_ms,
        fate=fate,
        tries=row.tries,
        ended_ms=row.ended_ms,
        again=_group(row.again),
        original=row.original,
        key="" if row.key is None else _mark(row.replay.token, row.key),
    )


def _mark(token: str, key: int) -> str:
    """What jobs of one value share: it tells them from others of the plan, and nothing of the value."""
    return hmac.new(token.encode(), b"%d" % key, "sha256").hexdigest()[:MARK]


def _group(group: FailureGroup | None) -> Group | None:
    """One that was merged is called by the one that it is part of now."""
    if group is None:
        return None
    into = group.merged_into or group
    return Group(into.slug, into.title)


def _ref(queue: Queue) -> QueueRef:
    return _known(queue.source.name, queue.slug)


@lru_cache(maxsize=1_000)
def _known(source: str, slug: str) -> QueueRef:
    return QueueRef.from_slug(source, slug)
