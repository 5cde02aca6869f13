"""What the follower had handed over when a term ended, and nobody had written: told again to the term that begins.

Only what the set does not show depends on it: failures whose jobs were removed as they failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from queues import notables
from queues.backend import Events
from queues.events import Event, EventKind, time_of
from queues.failures.desk import EVENTS
from queues.failures.index import looking
from queues.failures.index.term import Term
from queues.failures.index.tracks import Track
from queues.models import Indexing
from queues.quantities import now_ms
from queues.types import Capability

MARGIN_MS = 15_000  # how far it is behind is said each four seconds, by a clock that is not the server's
FEWEST, MOST = 16, 2_000  # entries of one reading of a stream
REPLY_BYTES = 4 * 1024 * 1024  # that a reading may bring, as far as one can know


def unwritten_ms(source: str) -> int | None:
    """From when on failures may have been handed over and not written.

    One query, right after a term has begun: how far it is behind then tells how far the one before was.
    """
    row = Indexing.objects.filter(source__name=source).values_list("beat_at", "behind_ms").first()
    if row is None or row[0] is None:
        return None
    return max(0, int(row[0].timestamp() * 1000) - row[1] - MARGIN_MS)


def again(term: Term, tracks: Iterable[Track], since_ms: int) -> None:
    """Hand over what failed since then, as far as the follower has kept it: whoever knows it already changes nothing.

    One query. Where more failed than the follower keeps one by one, the stream is read again; what is no longer in it
    is a stretch in which failures may be missing.
    """
    told = notables.failed_since(term.source, since_ms, EVENTS)
    for track in tracks:
        if kept := told.get(track.ref):
            events = [event for event in kept if event.kind is EventKind.FAILED]
            if len(events) < len(kept) and Capability.EVENTS in term.reader.capabilities:
                events = _merged(events, _from_stream(term, track, since_ms))
            track.events = _merged(events, track.events)


def _merged(first: Sequence[Event], second: Sequence[Event]) -> list[Event]:
    """Each entry once, oldest first."""
    return sorted({event.id: event for event in (*first, *second)}.values(), key=lambda event: event.at_ms)


def _from_stream(term: Term, track: Track, since_ms: int) -> list[Event]:
    """The failures that the stream tells of, at most 20,000."""
    reader = cast(Events, term.reader)  # its capabilities say so
    position = reader.positions([track.ref]).get(track.ref)
    if position is None or not position.first_id:
        looking.gap(term, track, since_ms, now_ms())
        return []
    if position.added != position.length and (first_ms := time_of(position.first_id)) > since_ms:
        looking.gap(term, track, since_ms, first_ms)
    found: list[Event] = []
    last_id, most = f"{since_ms}-0", FEWEST
    while len(found) < EVENTS and (batches := reader.entries({track.ref: last_id}, most=most)):
        batch = batches[0]
        found += batch.events(kinds={EventKind.FAILED}, most=batch.number)
        last_id = batch.last_id
        most = max(1, min(MOST, REPLY_BYTES * max(1, batch.number) // max(1, batch.size)))
    return found
