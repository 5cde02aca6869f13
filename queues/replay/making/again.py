"""What failed again in a replay: the rows of its ledger that another plan is made of."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q, QuerySet

from queues.models import Queue, ReplayJob
from queues.replay.types import Acts, Place
from queues.sendings import Fate
from queues.types import QueueRef

MOST_QUEUES = 20  # that are asked whether they can be written to; sending asks each again


def failed_again(replay: int, frozen_ms: int) -> QuerySet[ReplayJob]:
    """The rows of a plan whose jobs were sent and had failed again by then."""
    return ReplayJob.objects.filter(replay=replay, place=Place.SENT, fate=Fate.FAILED, ended_ms__lte=frozen_ms)


def queues_of(source: str, rows: QuerySet[ReplayJob]) -> Sequence[QueueRef]:
    """The queues in which these jobs failed again, at most 20. Two queries."""
    copied = Q(acts=Acts.COPY, target__isnull=False)
    keys = {*rows.filter(copied).values_list("target", flat=True).distinct()[:MOST_QUEUES]}
    keys |= {*rows.exclude(copied).values_list("queue", flat=True).distinct()[:MOST_QUEUES]}
    found = Queue.objects.filter(pk__in=keys).order_by("slug")
    return [QueueRef.from_slug(source, slug) for slug in found.values_list("slug", flat=True)[:MOST_QUEUES]]
