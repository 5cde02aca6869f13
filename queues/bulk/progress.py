"""How far an action is, for a page that shows it while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Sum

from queues.actions import Outcome
from queues.audit.found import counts
from queues.bulk.phases import Phase
from queues.models import AuditEntry, Bulk, BulkBatch

SHORTEST_S = 0.5  # of running, before a pace is told


@dataclass(frozen=True, slots=True)
class Progress:
    """Where an action stands. None is unknown.

    While `COLLECTING`, `handled` counts the jobs that were found and `total` is how many were expected; afterwards
    those that have an outcome, and what was collected (or, of a sweep, expected: it may turn out to be more or fewer).
    """

    phase: Phase
    handled: int
    total: int | None
    rate: float | None  # jobs a second, since it acts or since its source answers again
    remaining_s: float | None
    outcomes: Mapping[Outcome, int]
    stop_asked_by: str = ""  # it stops after its step
    waits_because: str = ""  # the source is away: since when, and that it goes on


def progress(entry: AuditEntry) -> Progress | None:
    """Where an action stands; None for one that does not run in the background. One query unless `bulk` is there."""
    bulk = Bulk.objects.filter(entry=entry).first()
    if bulk is None:
        return None
    phase = Phase(bulk.phase)
    rate, left = _rate(bulk), remaining(bulk)
    known = rate and left is not None and phase in (Phase.ACTING, Phase.SWEEPING) and not bulk.down_since
    return Progress(
        phase,
        bulk.collected if phase is Phase.COLLECTING else bulk.handled,
        _total(bulk),
        rate,
        left / rate if known and rate and left is not None else None,
        counts(entry),
        stop_asked_by=bulk.stop_asked_by,
        waits_because=entry.note if bulk.down_since and phase is not Phase.ENDED else "",
    )


def remaining(bulk: Bulk) -> int | None:
    """How many jobs have no outcome yet; None where nobody knows. Before acting: all that were expected."""
    total = _total(bulk)
    return None if total is None else max(0, total - bulk.handled)


def doubtful(bulk: Bulk) -> int:
    """How many jobs at most were sent when their worker was lost: nobody knows what was done to them. One query.

    At most two batches are: one that is being acted on, while what came of the one before is written down.
    """
    if bulk.phase != Phase.ACTING:
        return 0
    at = int(bulk.cursor)
    sent = BulkBatch.objects.filter(bulk=bulk, number__in=(at, at + 1), begun=True, ended=False)
    return int(sent.aggregate(sum=Sum("size"))["sum"] or 0)


def _total(bulk: Bulk) -> int | None:
    return bulk.expected if bulk.sweep or bulk.phase == Phase.COLLECTING else bulk.collected


def _rate(bulk: Bulk) -> float | None:
    """Both moments are of the holders' clocks: whoever asks may have another one."""
    if bulk.rated_at is None or bulk.beat_at is None:
        return None
    took = (bulk.beat_at - bulk.rated_at).total_seconds()
    return max(0, bulk.handled - bulk.rated_handled) / took if took >= SHORTEST_S else None
