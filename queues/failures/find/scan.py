"""All groups that a filter may show, with their sums, in two queries: light enough to sort and count them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import Exists, Max, Min, OuterRef, Q, QuerySet, Sum

from queues.failures.find.filters import Filters
from queues.failures.find.rows import Windows
from queues.failures.types import Kind
from queues.models import FailureGroup, FailureSignature, FailureStrand, Queue

GRAVEST = (Kind.PERMANENT, Kind.TRANSIENT, Kind.UNKNOWN)  # the first wins where two are equal
_KINDS = {str(kind): kind for kind in Kind}


@dataclass(slots=True)
class Sums:
    """A group with the sums of those of its strands that match. Mutable while it is summed up."""

    pk: int
    life: str
    kind_set: str
    group_first_ms: int
    counts: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    total: int = 0
    present: int = 0
    usual: float | None = None
    first_ms: int = 0
    last_ms: int = 0
    of_kind: dict[str, int] = field(default_factory=dict)  # failures ever counted
    h1_of_kind: dict[str, int] = field(default_factory=dict)

    kind: Kind = Kind.UNKNOWN  # set by hand, or the class of most of its failures

    @property
    def windows(self) -> Windows:
        return Windows(*self.counts)

    @property
    def mixed(self) -> bool:
        """Whether the rules say different things of its failures, and nobody settled it."""
        return not self.kind_set and len(self.of_kind) > 1

    def settle(self) -> Sums:
        """Decide on its class, now that all is summed up."""
        if self.kind_set:
            self.kind = _KINDS.get(self.kind_set, Kind.UNKNOWN)
        elif len(self.of_kind) == 1:
            self.kind = _KINDS.get(next(iter(self.of_kind)), Kind.UNKNOWN)
        else:
            self.kind = max(GRAVEST, key=lambda kind: self.of_kind.get(kind, -1))
        return self

    def h1_of(self, kind: Kind) -> int:
        """How many of the last hour's failures are of a class."""
        if self.kind_set:
            return self.counts[0] if self.kind is kind else 0
        return self.h1_of_kind.get(kind, 0)


def scan(filters: Filters, left: Mapping[str, object]) -> Sequence[Sums]:
    """Groups of every life and class that match all else. Two queries; some 2 us a strand and 5 us a group.

    `left` is what `narrowed` made of the filters.
    """
    found = {row[0]: Sums(*row) for row in _groups(filters).values_list("pk", "life", "kind_set", "first_ms")}
    return _within(filters, summed(left, found)) if found else ()


def narrowed(filters: Filters) -> Mapping[str, object]:
    """The lookups by which strands are left by a queue and a job name. One query where there is a queue.

    It is named by its keys, so that the database need not join.
    """
    left: dict[str, object] = {}
    if filters.queue:
        named = Queue.objects.filter(source__name__in=filters.sources, slug=filters.queue)
        left["queue__in"] = list(named.values_list("pk", flat=True))
    return left | {"name": filters.name} if filters.name else left


def _groups(filters: Filters) -> QuerySet[FailureGroup]:
    found = FailureGroup.objects.filter(source__name__in=filters.sources, merged_into=None)
    if not filters.text:
        return found
    signatures = FailureSignature.objects.filter(
        Q(parts__message__icontains=filters.text)
        | Q(parts__code__icontains=filters.text)
        | Q(parts__error_class__icontains=filters.text),
        group=OuterRef("pk"),
    )
    return found.filter(Q(title__icontains=filters.text) | Q(slug__istartswith=filters.text) | Exists(signatures))


def summed(left: Mapping[str, object], groups: Mapping[int, Sums]) -> Iterable[Sums]:
    """Those of the groups that have strands which are left, with their sums. One query."""
    met: set[int] = set()
    rows = (
        FailureStrand.objects.filter(**left)
        .order_by()
        .values("group_id", "kind")
        .annotate(
            w1=Sum("h1"), w2=Sum("h3"), w3=Sum("h24"), w4=Sum("d3"), w5=Sum("d7"),
            all=Sum("total"), there=Sum("present"), mean=Sum("usual"), since=Min("first_ms"), until=Max("last_ms"),
        )
        .values_list("group_id", "kind", "w1", "w2", "w3", "w4", "w5", "all", "there", "mean", "since", "until")
    )  # fmt: skip
    for pk, kind, *counts, usual, first, last in _fetched(rows):
        h1, h3, h24, d3, d7, total, present = map(int, counts)  # PostgreSQL sums up to decimals
        sums = groups.get(pk)
        if sums is None:
            continue
        if pk in met:
            _add(sums, (h1, h3, h24, d3, d7), usual)
            sums.first_ms, sums.last_ms = min(sums.first_ms, first), max(sums.last_ms, last)
        else:
            met.add(pk)
            sums.counts, sums.usual, sums.first_ms, sums.last_ms = (h1, h3, h24, d3, d7), usual, first, last
        sums.total += total
        sums.present += present
        sums.of_kind[kind] = total
        sums.h1_of_kind[kind] = h1
    return [groups[pk].settle() for pk in met]


def _fetched(rows: QuerySet[FailureStrand, Any]) -> Iterator[Any]:
    """Rows as the database has them: the ORM would look at each number of some ten thousand rows."""
    try:
        sql, params = rows.query.sql_with_params()
    except EmptyResultSet:
        return
    with connections[rows.db].cursor() as cursor:
        cursor.execute(sql, params)
        yield from cursor


def _add(sums: Sums, counts: tuple[int, int, int, int, int], usual: float | None) -> None:
    a, b = sums.counts, counts
    sums.counts = (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4])
    if usual is not None:
        sums.usual = (sums.usual or 0.0) + usual


def _within(filters: Filters, found: Iterable[Sums]) -> Sequence[Sums]:
    since, until = filters.since_ms, filters.until_ms
    return [
        each for each in found if (since is None or each.last_ms >= since) and (until is None or each.last_ms <= until)
    ]
