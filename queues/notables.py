"""Events that the follower has kept, as pages read them: what a feed opens with, and where it has holes."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q, QuerySet

from queues.events import Event, EventKind
from queues.history import MINUTE_MS
from queues.models import Notable, Source
from queues.names import decode_part, show_controls
from queues.quantities import now_ms
from queues.types import JobRef, Mark, QueueRef, Text

HOUR_MS = 60 * MINUTE_MS
OURS = (EventKind.GAP, EventKind.OMITTED, EventKind.SOURCE_DOWN, EventKind.SOURCE_UP)


def of(ref: QueueRef, most: int = 50) -> Sequence[Event]:
    """What is kept of a queue and of its source as a whole, newest first, at most `most`.

    Two queries. The events of the source (it went down, it answers again) carry `ref` like the others.
    """
    return _newest(ref, Q(), most)


def of_job(ref: JobRef, most: int = 20) -> Sequence[Event]:
    """The newest that is kept of a job, its failures and stalls, oldest first. One query over the rows of its queue."""
    rows = _of_queue(ref.queue).filter(job=ref.slug).order_by("-id")[:most]
    return [_event(ref.queue, row) for row in reversed(rows)]


def gaps(ref: QueueRef, within_ms: int = HOUR_MS) -> Sequence[Event]:
    """The stretches of which events were lost that reach into the last `within_ms`, oldest first. Two queries."""
    return [event for event in breaks(ref, within_ms) if event.kind is EventKind.GAP]


def breaks(ref: QueueRef, within_ms: int = HOUR_MS) -> Sequence[Event]:
    """What the follower had to say itself of a queue in the last `within_ms`: gaps, what it left out, outages.

    Oldest first, the newest hundred. Two queries.
    """
    since = now_ms() - within_ms
    # A gap is as old as its end.
    recent = Q(until_ms__gte=since) | Q(until_ms=None, at_ms__gte=since)
    return _newest(ref, recent & Q(kind__in=OURS), 100)[::-1]


def failed_since(source: str, since_ms: int, most: int) -> dict[QueueRef, list[Event]]:
    """Who failed since then by the server's clock, and where the follower left some out, by queue, oldest first.

    The newest `most` of a source at most. One query over what was kept since then.
    """
    kinds = (EventKind.FAILED, EventKind.OMITTED)
    rows = Notable.objects.filter(source__name=source, at_ms__gte=since_ms, kind__in=kinds, queue__isnull=False)
    found: dict[QueueRef, list[Event]] = {}
    for row in reversed(rows.select_related("queue").order_by("-id")[:most]):
        ref = QueueRef.from_slug(source, row.queue.slug if row.queue else "")
        found.setdefault(ref, []).append(_event(ref, row))
    return found


def _newest(ref: QueueRef, which: Q, most: int) -> Sequence[Event]:
    """Apart for the queue and its source: no database finds both at once without reading all that the source has."""
    ours = _of_queue(ref).filter(which)
    of_source = Notable.objects.filter(which, queue=None, source__in=Source.objects.filter(name=ref.source))
    rows = [*ours.order_by("-id")[:most], *of_source.order_by("-id")[:most]]
    rows.sort(key=lambda row: (row.until_ms or row.at_ms, row.pk), reverse=True)
    return [_event(ref, row) for row in rows[:most]]


def _of_queue(ref: QueueRef) -> QuerySet[Notable]:
    return Notable.objects.filter(queue__source__name=ref.source, queue__slug=ref.slug)


def _event(ref: QueueRef, row: Notable) -> Event:
    """A row as the event it was. A kind that this version does not know is shown by its word."""
    known = row.kind in set(EventKind)
    kind = EventKind(row.kind) if known else EventKind.OTHER
    exhausted = kind is EventKind.RETRIES_EXHAUSTED
    return Event(
        ref,
        row.event_id,
        kind,
        job=_job(row.job),
        text=_text(row) if known else Text(show_controls(row.kind), len(row.kind)),
        attempts=row.count if exhausted else None,
        count=None if exhausted else row.count,
        until_ms=row.until_ms,
    )


def _job(slug: str) -> bytes | None:
    try:
        return decode_part(slug, colon=True) if slug else None
    except ValueError:
        return None


def _text(row: Notable) -> Text | None:
    if not row.text and not row.size:
        return None
    cut = row.size > len(row.text.encode())
    return Text(row.text, row.size, (Mark.CUT,) if cut else ())
