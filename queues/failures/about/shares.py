"""How the failures of a group are spread over queues, job names, workers and attempts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.db import connection
from django.db.models import Sum

from queues.failures.about.series import Series, Span
from queues.failures.about.whole import Whole
from queues.models import Failure, FailureHour
from queues.quantities import HOUR

MOST = 50_000  # failures that are looked at for workers and attempts
SHOWN = 8  # values of one kind; the others are added up
_WINDOWS = {Span.HOUR: "h1", Span.THREE: "h3", Span.DAY: "h24", Span.WEEK: "d7"}

Value = TypeVar("Value", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Share:
    """A value and how many failures have it. `value` None is unknown; `others` is how many values it adds up."""

    value: object
    count: int
    others: int = 0


@dataclass(frozen=True, slots=True)
class Shares:
    """`counted` is how many failures queues and names are of: all. Workers and attempts are of the newest `looked`."""

    span: Span
    counted: int
    queues: Sequence[Share]  # by Lane
    names: Sequence[Share]
    looked: int
    since_ms: int  # the oldest that was looked at may be so old
    all_looked: bool
    workers: Sequence[Share]
    attempts: Sequence[Share]


def shares(about: Whole, shown: Series) -> Shares:
    """The spread over the span of a series. Three queries; looks at 50,000 failures at most."""
    counts = _by_strand(about, shown)
    lanes = {lane.pk: lane for lane in about.lanes}
    rows, since = _rows(about, shown)
    return Shares(
        shown.span,
        sum(counts.values()),
        top(Counter(_sums((lanes[strand.queue_id], counts[strand.pk]) for strand in about.strands))),
        top(Counter(_sums((strand.name, counts[strand.pk]) for strand in about.strands))),
        looked := sum(count for _, _, count in rows),
        since,
        looked < MOST and since <= shown.begin_ms,
        top(Counter(_sums((worker, count) for worker, _, count in rows))),
        top(Counter(_sums((attempts, count) for _, attempts, count in rows))),
    )


def top(counted: Counter[Value]) -> Sequence[Share]:
    """The largest values, and the others in one."""
    found = [(value, count) for value, count in counted.most_common() if count]
    made = [Share(value, count) for value, count in found[:SHOWN]]
    rest = found[SHOWN:]
    return [*made, Share("", sum(count for _, count in rest), len(rest))] if rest else made


def _sums(pairs: Iterable[tuple[Value, int]]) -> dict[Value, int]:
    found: dict[Value, int] = {}
    for value, count in pairs:
        found[value] = found.get(value, 0) + count
    return found


def _by_strand(about: Whole, shown: Series) -> dict[int, int]:
    """The failures of each strand: by its windows, which the list shows too, and else by hours."""
    window = _WINDOWS.get(shown.span)
    if window:
        return {strand.pk: getattr(strand, window) for strand in about.strands}
    rows = FailureHour.objects.filter(strand__in=about.strand_keys, hour__gte=shown.begin_ms // HOUR)
    found = {row["strand"]: row["sum"] for row in rows.values("strand").annotate(sum=Sum("count"))}
    return {strand.pk: found.get(strand.pk, 0) for strand in about.strands}


def _rows(about: Whole, shown: Series) -> tuple[Sequence[tuple[str, int | None, int]], int]:
    """Workers and attempts of the newest failures with how many, and since when. Grouped by the database."""
    since = _since(shown)
    if not about.strands:
        return [], since
    found = Failure.objects.filter(strand__in=about.strand_keys, at_ms__gte=since)
    sql, params = found.values_list("worker", "attempts")[:MOST].query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT t.worker, t.attempts, COUNT(*) FROM ({sql}) t GROUP BY 1, 2", params)  # noqa: S608
        return [(worker, attempts, count) for worker, attempts, count in cursor.fetchall()], since


def _since(shown: Series) -> int:
    """The beginning of the steps that together hold no more than may be looked at: nothing has to be sorted then."""
    held = 0
    for at in range(len(shown.counts) - 1, -1, -1):
        held += shown.counts[at]
        if held > MOST:
            return shown.begin_ms + min(at + 1, len(shown.counts) - 1) * shown.step_ms
    return shown.begin_ms
