"""The chart of a plan: how many jobs were sent, completed and failed again in each five seconds."""

from __future__ import annotations

from django.db.models import F

from queues.models import Replay, ReplaySpan

SPAN_MS = 5_000


def add(replay: Replay, span: int, **counts: int) -> None:
    """Add to a span. Within a transaction of the lease, which lets nobody else do so. One or two queries."""
    found = ReplaySpan.objects.filter(replay=replay, span=span)
    if not found.update(**{name: F(name) + number for name, number in counts.items()}):
        ReplaySpan.objects.create(replay=replay, span=span, **counts)
