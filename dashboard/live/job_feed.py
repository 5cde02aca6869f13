"""What happened to one job, in words: the entries of its page's feed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.utils.safestring import SafeString

from dashboard import feed
from queues.events import Event, EventKind, Glance
from queues.live import Seen
from queues.types import Job

SHOWN = 50  # entries of one batch
QUIET = frozenset({EventKind.PROGRESS})  # the progress has a place of its own on the page


def happened(events: Sequence[Event], job: Job | None) -> SafeString:
    """The entries of a job's events, which come oldest first, newest on top, as far as they are shown."""
    told = entries_of(events)
    started = job.row.attempts_started if job else None
    seen: list[Seen] = []
    for event in reversed(told):
        seen.append(Seen(replace(event, job=None), _glance(job, started)))  # its page needs no link to itself
        if event.kind is EventKind.ACTIVE and started:
            started -= 1
    return feed.entries(seen[:SHOWN][::-1])


def entries_of(events: Sequence[Event]) -> Sequence[Event]:
    """Those events that the feed shows."""
    return [event for event in events if event.kind not in QUIET]


def _glance(job: Job | None, started: int | None) -> Glance | None:
    if job is None:
        return None
    row = job.row
    return Glance(
        attempts_made=row.attempts_made,
        attempts_started=started or None,
        processed_ms=row.processed_ms,
        finished_ms=row.finished_ms,
    )
