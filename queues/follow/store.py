"""Keeping what the follower knows: cursors and what was counted from them, always in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import transaction
from django.db.models import Q

from queues.events import Event, EventKind, time_of
from queues.follow.lease import Lease
from queues.follow.streams import Stream
from queues.history import MINUTE_MS, History, dump, load
from queues.live import Standing
from queues.models import Following, Notable, Queue, Source
from queues.models import Stream as Row
from queues.notables import HOUR_MS
from queues.passing import short_wait
from queues.quantities import now_ms
from queues.types import JobRef, QueueRef

KEPT = 10_000  # notable events of one queue
FIELDS = ["last_id", "added", "read", "lost", "history"]


def queues(source: str) -> dict[QueueRef, int]:
    """The queues whose streams are followed, with their keys in the database. One query."""
    rows = Queue.objects.filter(source__name=source, gone_since__isnull=True).values_list("slug", "pk")
    return {QueueRef.from_slug(source, slug): pk for slug, pk in rows}


def load_streams(source: str, wanted: dict[QueueRef, int]) -> list[Stream]:
    """The streams of these queues that were followed before, as they were stored. Two queries."""
    covered_ms = Following.objects.filter(source__name=source).values_list("covered_ms", flat=True).first() or 0
    by_pk = {pk: ref for ref, pk in wanted.items()}
    found = []
    for row in Row.objects.filter(queue__source__name=source):
        ref = by_pk.get(row.queue_id)
        if ref is None:
            continue
        history = load(row.history) or History(covered_ms // MINUTE_MS + 1)
        # Everything up to `covered_ms` has been read and is counted.
        verified_ms = max(covered_ms, time_of(row.last_id))
        stream = Stream(ref, row.queue_id, row.last_id, row.added, history, row.read, row.lost)
        stream.verified_ms = verified_ms
        found.append(stream)
    return found


@dataclass(frozen=True, slots=True)
class Known:
    """How far all streams together were read. `whole`: what is saved with it is all that has changed."""

    covered_ms: int  # the server's clock
    streams: int
    whole: bool


def save(lease: Lease, streams: Sequence[Stream], about: Sequence[Event], standing: Standing, known: Known) -> None:
    """Write these streams, their notable events and those `about` the source, and how following stands.

    All or nothing, and only under the lease (`LeaseLost`). Waits half a second for SQLite's lock at most
    (OperationalError); IntegrityError when a queue was deleted meanwhile.
    """
    with short_wait(), transaction.atomic():
        source = Source.objects.get(name=lease.source)
        following = Following.objects.get(source=source)
        lease.keep(
            pulse=standing.pulse,
            since=_moment(standing.since_ms),
            why=standing.why,
            covered_ms=known.covered_ms if known.whole else following.covered_ms,
            events_per_s=standing.events_per_s,
            behind_ms=standing.behind_ms,
            streams=known.streams,
            strange=following.strange + sum(stream.strange for stream in streams),
        )
        rows = [_row(stream, known.covered_ms) for stream in streams]
        Row.objects.bulk_create(rows, update_conflicts=True, unique_fields=["queue"], update_fields=FIELDS)
        kept = [_notable(source, stream, event) for stream in streams for event in stream.notable]
        kept += [_notable(source, None, event) for event in about]
        Notable.objects.bulk_create(kept)
        for stream in streams:
            if stream.notable:
                _cap(stream)
    for stream in streams:
        stream.stored = None if stream.stored is None else min(stream.stored + len(stream.notable), KEPT)
        stream.changed = False
        stream.notable = []
        stream.strange = stream.unstored = 0


def _row(stream: Stream, covered_ms: int) -> Row:
    if covered_ms:
        stream.history.trim(covered_ms // MINUTE_MS)
    return Row(
        queue_id=stream.pk,
        last_id=stream.last_id,
        added=stream.added,
        read=stream.read,
        lost=stream.lost,
        history=dump(stream.history),
    )


def _notable(source: Source, stream: Stream | None, event: Event) -> Notable:
    return Notable(
        source=source,
        queue_id=stream.pk if stream else None,
        event_id=event.id,
        at_ms=event.at_ms,
        kind=event.kind,
        job=JobRef(event.queue, event.job).slug if event.job is not None else "",
        text=event.text.value if event.text else "",
        size=event.text.size if event.text else 0,
        count=event.attempts if event.count is None else event.count,
        until_ms=event.until_ms,
    )


def _cap(stream: Stream) -> None:
    """Forget the oldest of a queue that has more than 10,000, but no gap of the last hour: its page tells of those.

    There are some 700 of them at most, as counts are compared each five seconds.
    """
    ours = Notable.objects.filter(queue_id=stream.pk)
    if stream.stored is None:
        stream.stored = ours.count() - len(stream.notable)
    over = stream.stored + len(stream.notable) - KEPT
    if over > 0:
        now = now_ms()
        told = Q(kind=EventKind.GAP, until_ms__range=(now - HOUR_MS, now + HOUR_MS))
        oldest: Iterable[int] = ours.exclude(told).order_by("id").values_list("pk", flat=True)[:over]
        Notable.objects.filter(pk__in=list(oldest)).delete()


def _moment(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)
