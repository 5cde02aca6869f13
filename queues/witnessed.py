"""What the follower has kept of one job, and how far its queue's events were read: what a job's page opens with."""

from __future__ import annotations

from collections.abc import Sequence

from queues.events import Event, EventKind
from queues.models import Notable, Stream
from queues.types import JobRef, Mark, QueueRef, Text

OF_JOB = frozenset({EventKind.FAILED, EventKind.STALLED, EventKind.RETRIES_EXHAUSTED})


def of_job(ref: JobRef, most: int = 20) -> Sequence[Event]:
    """The newest failures and stalls that are kept of a job, oldest first. One query over the rows of its queue."""
    ours = Notable.objects.filter(queue__source__name=ref.queue.source, queue__slug=ref.queue.slug, job=ref.slug)
    rows = ours.filter(kind__in=[str(kind) for kind in OF_JOB]).order_by("-id")[:most]
    return [_event(ref, row) for row in reversed(rows)]


def last_id(ref: QueueRef) -> str:
    """The id of the last event of a queue that was read; "" while nobody follows it. One query."""
    found = Stream.objects.filter(queue__source__name=ref.source, queue__slug=ref.slug)
    return found.values_list("last_id", flat=True).first() or ""


def _event(ref: JobRef, row: Notable) -> Event:
    kind = EventKind(row.kind)
    text = None
    if row.text or row.size:
        text = Text(row.text, row.size, (Mark.CUT,) if row.size > len(row.text.encode()) else ())
    attempts = row.count if kind is EventKind.RETRIES_EXHAUSTED else None
    return Event(ref.queue, row.event_id, kind, job=ref.id, text=text, attempts=attempts)
