"""Finding queues in the key space: in the background, bounded, resumable by simply running again."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from queues.backend import Backend
from queues.errors import BadInput, QueueError
from queues.models import Queue, Source
from queues.names import show_controls
from queues.outages import watched
from queues.readings import SCAN_SILENT, ScanState, scan_state
from queues.registry import SourceConfig, backend, configured
from queues.types import QueueRef

GONE_KEPT = timedelta(days=7)  # a queue without keys stays in the list for so long, a pinned one for ever
SLUG_MAX = 2000  # characters, as in the column
FLUSH_ROWS = 500
FLUSH_S = 1.0
SHORTEST_PAUSE_S = 30.0
LONGEST_S = 540.0  # a scan that takes longer is stopped: some 300 million keys
MOST_AT_ONCE = 2  # scans of all sources: half of a worker's threads, so that reading goes on beside the longest
PAUSE_FACTOR = 20  # between scans we rest for twenty times what the last one took: at most 5 % of the time

_LONG_AGO = datetime.min.replace(tzinfo=UTC)

logger = logging.getLogger(__name__)


class _Endless(Exception):
    """This scan has taken as long as one may."""


class _Superseded(Exception):
    """Another scan of the same source has taken over, since this one was silent for too long."""


@dataclass
class _Walk:
    """A scan under way. `started` is also its claim: the row of the source holds it while it is ours."""

    source: Source
    started: datetime
    keys: int = 0
    skipped: int = 0
    seen: set[str] = field(default_factory=set)
    fresh: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    flushed: float = field(default_factory=time.monotonic)


def scan(name: str) -> bool:
    """Walk the key space of a source and keep every queue that is found. For the background only.

    SCAN in steps of 1,000 keys; about two seconds for 1.2 million. Queues are in the database within
    a second of being found. False when another one is running, and nothing was done. What fails is
    kept as a text on the source; a queue is called gone only by a scan that came to its end, and
    after a look at its keys.
    NotFound for a source that is not configured.
    """
    backend(name)
    walk = _claim(name)
    if walk is None:
        return False
    error = _("It was interrupted.")
    try:
        with watched(name) as reader:
            _walk(walk, reader)
            _settle(walk, reader)
        error = ""
    except QueueError as failure:
        error = show_controls(str(failure))
    except _Endless:
        text = _("It was stopped after %(minutes)d minutes; queues beyond that can be pinned.")
        error = text % {"minutes": LONGEST_S // 60}
    except _Superseded:
        logger.warning("A scan of %s was silent for too long; another one has taken over.", name)
    finally:
        _end(walk, error)
    return True


def due() -> Sequence[str]:
    """The sources of which a scan should start now, first those that were asked for, then who waited longest.

    Never so many that more than two scans run at once: the others come when one of these has ended. One query.
    """
    names = [config.name for config in configured()]
    rows = {row.name: row for row in Source.objects.filter(name__in=names)}
    states = {name: scan_state(rows.get(name)) for name in names}
    running = sum(1 for state in states.values() if state.running)
    wanted = [name for name, state in states.items() if _due(rows.get(name), state)]
    wanted.sort(key=lambda name: (not states[name].requested, states[name].started_at or _LONG_AGO))
    return wanted[: max(0, MOST_AT_ONCE - running)]


def wish(name: str) -> None:
    """Keep the wish for a scan now; `due` tells it. NotFound for a source that is not configured."""
    backend(name)
    Source.objects.update_or_create(name=name, defaults={"scan_requested_at": timezone.now()})


def pin(name: str, slug: str) -> None:
    """Keep a queue in the list even when no scan can find it. BadInput for a slug that names no queue."""
    backend(name)
    ref = parse(name, slug)
    source, _created = Source.objects.get_or_create(name=name)
    Queue.objects.update_or_create(source=source, slug=ref.slug, defaults={"pinned": True})


def unpin(name: str, slug: str) -> None:
    """No longer keep a queue. One that no scan ever saw goes at once, one without keys after seven days."""
    row = Queue.objects.filter(source__name=name, slug=slug)
    row.filter(seen_at__isnull=True).delete()
    row.update(pinned=False)


def parse(name: str, slug: str) -> QueueRef:
    """The queue that a slug names. BadInput when it is empty, too long, or not in its one canonical form."""
    if len(slug) > SLUG_MAX:
        raise BadInput(_("The name of this queue is too long to be kept."))
    try:
        ref = QueueRef.from_slug(name, slug)
    except ValueError as error:
        raise BadInput(_("This is not the name of a queue.")) from error
    if not ref.name:
        raise BadInput(_("A queue has a name."))
    return ref


def _due(row: Source | None, state: ScanState) -> bool:
    """Whether a scan was asked for, never began, or the last one is long enough ago."""
    if state.running or row is None or row.scan_started_at is None or state.requested:
        return not state.running
    pause = timedelta(seconds=max(SHORTEST_PAUSE_S, PAUSE_FACTOR * row.scan_seconds))
    return timezone.now() - row.scan_started_at >= pause


def _claim(name: str) -> _Walk | None:
    """Take the source for one scan; None while another one shows signs of life."""
    source, _created = Source.objects.get_or_create(name=name)
    now = timezone.now()
    free = Q(scan_beat_at__isnull=True) | Q(scan_beat_at__lt=now - SCAN_SILENT)
    taken = Source.objects.filter(free, pk=source.pk).update(
        scan_started_at=now, scan_beat_at=now, scan_keys=0, scan_skipped=0, scan_error=""
    )
    return _Walk(source, now) if taken else None


def _walk(walk: _Walk, reader: Backend) -> None:
    for keys, found in reader.discover():
        walk.keys = keys
        for slug in (ref.slug for ref in found):
            if slug in walk.seen:
                continue
            walk.seen.add(slug)
            if len(slug) > SLUG_MAX:
                walk.skipped += 1
            else:
                walk.fresh.append(slug)
        if len(walk.fresh) >= FLUSH_ROWS or time.monotonic() - walk.flushed >= FLUSH_S:
            _flush(walk)
        if time.monotonic() - walk.began > LONGEST_S:
            raise _Endless
    _flush(walk)


def _flush(walk: _Walk) -> None:
    """Write what was found since the last time, and how far we are. One short transaction."""
    now = timezone.now()
    rows = [Queue(source=walk.source, slug=slug, seen_at=now) for slug in walk.fresh]
    with transaction.atomic():
        _beat(walk, now)
        Queue.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["source", "slug"], update_fields=["seen_at", "gone_since"]
        )
    walk.fresh.clear()
    walk.flushed = time.monotonic()


def _beat(walk: _Walk, now: datetime) -> None:
    ours = Source.objects.filter(pk=walk.source.pk, scan_started_at=walk.started)
    if not ours.update(scan_beat_at=now, scan_keys=walk.keys, scan_skipped=walk.skipped):
        raise _Superseded


def _settle(walk: _Walk, reader: Backend) -> None:
    """After a complete walk: look at the keys of every queue that it did not see, and believe those."""
    config = next(config for config in configured() if config.name == walk.source.name)
    unseen = walk.source.queues.filter(Q(seen_at__lt=walk.started) | Q(seen_at__isnull=True))
    refs = [QueueRef.from_slug(config.name, slug) for slug in unseen.values_list("slug", flat=True)]
    # SCAN may miss a key that is moved while it runs, and a pinned queue may have no meta to be found by.
    counts = reader.counts(refs) if refs else {}
    here = [ref.slug for ref in refs if ref in counts and counts[ref].exists]
    gone = [ref.slug for ref in refs if ref in counts and not counts[ref].exists]
    unwatched = [ref.slug for ref in refs if not _within(config, ref)]
    now = timezone.now()
    with transaction.atomic():
        _beat(walk, now)
        for rows in _rows(walk.source, here):
            rows.update(seen_at=now, gone_since=None)
        for rows in _rows(walk.source, gone):
            rows.filter(gone_since__isnull=True).update(gone_since=now)
        for rows in _rows(walk.source, unwatched):
            rows.filter(pinned=False).delete()
        walk.source.queues.filter(pinned=False, gone_since__lt=now - GONE_KEPT).delete()


def _end(walk: _Walk, error: str) -> None:
    """Give the source free again. Writes nothing when another scan has taken over."""
    now = timezone.now()
    # One that broke off has cost as much a second as one that came to its end, and is followed by the same rest.
    values: dict[str, object] = {
        "scan_beat_at": None, "scan_error": error, "scan_seconds": (now - walk.started).total_seconds()
    }  # fmt: skip
    if not error:
        values["scan_finished_at"] = now
    Source.objects.filter(pk=walk.source.pk, scan_started_at=walk.started).update(**values)


def _within(config: SourceConfig, ref: QueueRef) -> bool:
    """Whether the configuration still asks for queues with this prefix."""
    return not config.prefixes or ref.prefix in {prefix.encode() for prefix in config.prefixes}


def _rows(source: Source, slugs: Sequence[str]) -> Iterator[QuerySet[Queue]]:
    """The rows of these queues, in parts that fit into one statement."""
    for start in range(0, len(slugs), FLUSH_ROWS):
        yield Queue.objects.filter(source=source, slug__in=slugs[start : start + FLUSH_ROWS])
