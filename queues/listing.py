"""The list of all queues: filtered, grouped, sorted, cut into pages, and summed up. Pure functions."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType

from django.utils.translation import gettext as _

from queues.attention import Verdict, judge_reading
from queues.errors import BadInput, LimitExceeded
from queues.facts import Why
from queues.followed import Histories
from queues.history import History
from queues.readings import QueueReading, SourceReading
from queues.types import QueueRef, State

MOST_ROWS = 500  # a page

Value = tuple[int | str, ...]
Place = tuple[bool, Value, str, str, str]


class SortKey(StrEnum):
    """What the list can be sorted by, in the words of the query string."""

    URGENCY = "urgency"
    NAME = "name"
    WAITING = "waiting"
    PRIORITIZED = "prioritized"
    ACTIVE = "active"
    DELAYED = "delayed"
    WAITING_CHILDREN = "waiting-children"
    COMPLETED = "completed"
    FAILED = "failed"
    WORKERS = "workers"
    OLDEST = "oldest"


@dataclass(frozen=True, slots=True)
class Row:
    """A queue with its judgement. `live` is false when it comes from a last reading.

    `history` counts up to the whole minute `upto`; None when nothing is known of the last hour.
    """

    queue: QueueReading
    verdict: Verdict
    live: bool = True
    history: History | None = None
    upto: int = 0

    @property
    def ref(self) -> QueueRef:
        return self.queue.ref

    @property
    def gone(self) -> bool:
        """Whether not one key of it is left."""
        return self.verdict.why is Why.GONE

    @property
    def finished(self) -> int | None:
        """How many jobs were completed in the last whole minute; None when that is not known."""
        if self.history is None or not self.history.knows(self.upto):
            return None
        row = self.history.counts.get(self.upto)
        return row[0] if row else 0


@dataclass(frozen=True, slots=True)
class Sorting:
    """A sort key and its direction. Every order is total: what is equal goes by source, prefix and name."""

    key: SortKey = SortKey.URGENCY
    descending: bool = False

    @classmethod
    def parse(cls, text: str) -> Sorting:
        """`failed` or `-failed` as in a query string; the most urgent first for anything else."""
        word = text.removeprefix("-")
        return cls(SortKey(word), text.startswith("-")) if word in set(SortKey) else cls()

    def __str__(self) -> str:
        return f"-{self.key}" if self.descending else str(self.key)


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a sorted list; `after` continues behind them, "" at the end. `left` rows are still to come."""

    rows: Sequence[Row]
    after: str
    left: int


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum over queues, of which only `known` of `total` could be counted."""

    number: int
    known: int
    total: int

    @property
    def complete(self) -> bool:
        return self.known == self.total


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums of the overview, over the queues that are not gone."""

    by_state: Mapping[State, Sum]
    workers: Sum
    paused: int
    queues: int
    finished: Sum  # completed in the last whole minute

    def __getitem__(self, state: State) -> Sum:
        return self.by_state[state]


def rows(
    readings: Sequence[SourceReading], at_ms: int, histories: Mapping[str, Histories] = MappingProxyType({})
) -> list[Row]:
    """All queues of some sources, judged at `at_ms`; those of a last reading at the time of that reading.

    `histories` are by source: a queue without any has an unknown last hour.
    """
    made: list[Row] = []
    for reading in readings:
        among = frozenset(queue.ref for queue in reading.queues)
        then = int(reading.read_at.timestamp() * 1000) if reading.read_at and not reading.live else at_ms
        known = histories.get(reading.source)
        made += [_row(queue, reading, then, among, known) for queue in reading.queues]
    return made


def _row(
    queue: QueueReading, reading: SourceReading, at_ms: int, among: Collection[QueueRef], known: Histories | None
) -> Row:
    history, upto = (known.by_slug.get(_slug(queue.ref)), known.upto) if known else (None, 0)
    # What was lately is no judgement of a reading that is older.
    verdict = judge_reading(queue, at_ms, among, history if reading.live else None, upto)
    return Row(queue, verdict, reading.live, history, upto)


@lru_cache(maxsize=20_000)
def _slug(ref: QueueRef) -> str:
    return ref.slug


def matching(listed: Sequence[Row], text: str) -> list[Row]:
    """The rows whose name (with its prefix, as shown) holds `text`, in any case."""
    wanted = text.strip().casefold()
    if not wanted:
        return list(listed)
    return [row for row in listed if wanted in row.ref.label.casefold()]


def sort(listed: Sequence[Row], sorting: Sorting) -> list[Row]:
    """The rows in order. Those whose value is unknown come last in both directions."""
    return sorted(listed, key=lambda row: _place(row, sorting), reverse=sorting.descending)


def page(ordered: Sequence[Row], sorting: Sorting, *, after: str = "", size: int = 100) -> Page:
    """The `size` rows that follow the place `after` of a list sorted by `sorting`.

    The cursor holds the place and not a number of rows: nothing repeats or is left out because other
    queues came, went or moved. BadInput for a cursor of another order; LimitExceeded beyond 500 rows.
    """
    if not 0 < size <= MOST_ROWS:
        raise LimitExceeded(_("A page holds at most %(most)d rows.") % {"most": MOST_ROWS})
    rest = ordered
    if after:
        behind = _decode(after, sorting)
        rest = [row for row in ordered if _follows(_place(row, sorting), behind, sorting)]
    shown = rest[:size]
    left = len(rest) - len(shown)
    return Page(shown, _encode(_place(shown[-1], sorting), sorting) if left else "", left)


def group_key(name: str) -> str:
    """The part of a name before its first `.`, `-` or `:`; "" when there is none."""
    head, *tail = re.split(r"[.:-]", name, maxsplit=1)
    return head if tail else ""


def groups(refs: Collection[QueueRef]) -> Mapping[QueueRef, str]:
    """The group of each queue by its name as shown; "" for one that would be alone in its group.

    A queue called as a whole group (`orders` beside `orders-eu` and `orders-us`) belongs to it.
    """
    keys = {ref: group_key(ref.label) for ref in refs}
    sizes = Counter(key for key in keys.values() if key)
    heads = {ref: ref.label for ref in refs if not keys[ref] and ref.label in sizes}
    sizes.update(heads.values())
    return {ref: key if sizes[key := keys[ref] or heads.get(ref, "")] > 1 else "" for ref in refs}


def totals(listed: Sequence[Row]) -> Totals:
    """The sums over all rows whose queue is not gone; what could not be read is said and never counted as zero."""
    rows = [row for row in listed if not row.gone]
    here = [row.queue for row in rows]
    counted = [queue.counts for queue in here if queue.counts is not None]
    return Totals(
        by_state={state: _sum([each[state] for each in counted], len(here)) for state in State},
        workers=_sum([queue.workers for queue in here], len(here)),
        paused=sum(1 for each in counted if each.paused),
        queues=len(here),
        finished=_sum([row.finished for row in rows], len(here)),
    )


def _sum(numbers: Sequence[int | None], total: int) -> Sum:
    known = [number for number in numbers if number is not None]
    return Sum(sum(known), len(known), total)


def _value(row: Row, key: SortKey) -> Value | None:
    counts = row.queue.counts
    if key is SortKey.URGENCY:
        return row.verdict.rank
    if key is SortKey.NAME:
        return (row.ref.label.casefold(),)
    if key is SortKey.WORKERS:
        return None if row.queue.workers is None else (row.queue.workers,)
    if counts is None:
        return None
    if key is SortKey.OLDEST:  # by age: the creation grows as the age falls
        return (-counts.oldest.created_ms,) if counts.oldest else None
    number = counts[State(key.value)]
    return None if number is None else (number,)


def _place(row: Row, sorting: Sorting) -> Place:
    value = _value(row, sorting.key)
    last = value is None
    ref = row.ref
    # Latin-1 makes text of any bytes and keeps their order; slugs would have to be encoded for each row.
    return (
        last is not sorting.descending,
        value or (),
        ref.source,
        ref.prefix.decode("latin-1"),
        ref.name.decode("latin-1"),
    )


def _follows(place: Place, behind: Place, sorting: Sorting) -> bool:
    return place < behind if sorting.descending else place > behind


def _encode(place: Place, sorting: Sorting) -> str:
    text = json.dumps([str(sorting), *place], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def _decode(cursor: str, sorting: Sorting) -> Place:
    refused = BadInput(_("This link to more rows belongs to another list. Open the list again."))
    try:
        raw = base64.b64decode(cursor.encode() + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        order, last, value, *names = json.loads(raw)
    except (ValueError, TypeError, RecursionError, binascii.Error) as error:
        raise refused from error
    kinds = {SortKey.NAME: [str], SortKey.URGENCY: [int, int, int]}.get(sorting.key, [int])
    if order != str(sorting) or not isinstance(last, bool) or not isinstance(value, list):
        raise refused
    if [type(part) for part in value] not in (kinds, []) or [type(name) for name in names] != [str, str, str]:
        raise refused
    source, prefix, name = names
    return last, tuple(value), source, prefix, name
