"""What is known about all queues of a source: read live, or the last reading when it does not answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from queues import outages
from queues.backend import Backend
from queues.errors import QueueError, Unreachable
from queues.health import Health
from queues.models import Queue, Snapshot, Source
from queues.outages import watched
from queues.registry import configured
from queues.snapshots import Stored, dump_counts, dump_health, load_counts, load_health
from queues.sources import ask_all
from queues.types import Counts, QueueRef, Workers

SCAN_SILENT = timedelta(seconds=30)  # a scan that gave no sign for so long has been interrupted


@dataclass(frozen=True, slots=True)
class QueueReading:
    """One queue. `counts` is None when it was never read, `workers` when nobody knows their number."""

    ref: QueueRef
    counts: Counts | None
    workers: int | None
    gone_since: datetime | None = None
    pinned: bool = False
    read_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ScanState:
    """The search for queues in the key space. `finished_at` is the end of the last complete one."""

    running: bool = False
    requested: bool = False  # asked for, not begun yet
    started_at: datetime | None = None
    finished_at: datetime | None = None
    keys: int = 0
    skipped: int = 0
    error: str = ""  # why the last one did not come to its end


@dataclass(frozen=True, slots=True)
class SourceReading:
    """All queues of a source at `read_at`: now when `live`, else of the last reading that succeeded.

    `error` says why it is not live. `down_since` and `tries` are set only when the server did not answer,
    and not when it answers and refuses.
    """

    source: str
    queues: tuple[QueueReading, ...]
    live: bool
    read_at: datetime | None
    down_since: datetime | None = None
    error: str = ""
    tries: int = 0
    workers_unknown_because: str = ""
    scan: ScanState = ScanState()

    @property
    def known(self) -> int:
        """Queues in the list that are not gone."""
        return sum(1 for queue in self.queues if queue.gone_since is None)

    @property
    def queue_total(self) -> int | None:
        """How many queues it has; None (not known) until a scan has come to its end."""
        return self.known if self.scan.finished_at else None


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """What the frame of every page says about a source, from the database alone."""

    name: str
    down_since: datetime | None
    error: str  # why it does not answer; without `down_since`: why it answers and cannot be read
    tries: int
    ok_at: datetime | None  # the regular reading's last success
    read_at: datetime | None  # the last stored reading
    queue_total: int | None  # None (not known) until a scan has come to its end
    scan: ScanState


@dataclass(frozen=True, slots=True)
class _Known:
    """What the database says of a source and its queues."""

    row: Source | None
    queues: Sequence[tuple[QueueRef, datetime | None, bool]]  # with gone_since and pinned


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the server said, and when."""

    counts: Mapping[QueueRef, Counts]
    workers: Workers
    at: datetime


def read(name: str) -> SourceReading:
    """All queues of a source. Two calls for every 125 queues and one CLIENT LIST; two queries.

    Does not raise when the server does not answer or refuses: gives the last stored reading with `live` false.
    Writes only when an outage or a refusal begins or ends. NotFound for a source that is not configured.
    """
    return read_all([name])[0]


def read_all(names: Sequence[str] | None = None) -> Sequence[SourceReading]:
    """`read` of several sources, of all configured ones by default, side by side."""
    asked = [config.name for config in configured()] if names is None else list(names)
    known = {name: _known(name) for name in asked}

    def ask(reader: Backend) -> _Answer:
        refs = [ref for ref, _gone, _pinned in known[reader.source].queues]
        return _Answer(reader.counts(refs), reader.workers(), timezone.now())

    answers = ask_all(asked, ask)
    for name in asked:
        _note(name, known[name].row, answers[name])
    return [_told(name, known[name], answers[name]) for name in asked]


def store(name: str) -> SourceReading:
    """Read a source and keep the reading and its health for the time when it does not answer.

    For the background. One write of about 100 bytes a queue; nothing is overwritten during an outage.
    """
    outages.forget(name)
    reading = read(name)
    if not reading.live:
        return reading
    text = dump_counts((queue.ref.slug, queue.counts, queue.workers) for queue in reading.queues if queue.counts)
    values: dict[str, object] = {"taken_at": reading.read_at, "counts": text}
    health = _ask_health(name)
    if health is not None:
        values |= {"health": dump_health(health), "health_at": timezone.now()}
    with transaction.atomic():
        source, _ = Source.objects.update_or_create(name=name, defaults={"ok_at": reading.read_at})
        Snapshot.objects.update_or_create(source=source, defaults=values)
    return reading


def status() -> Sequence[SourceStatus]:
    """Every configured source as the database knows it, in the order of the configuration. One query."""
    asked = [config.name for config in configured()]
    here = Count("queues", filter=Q(queues__gone_since__isnull=True))
    rows = Source.objects.filter(name__in=asked).select_related("snapshot").annotate(queue_total=here)
    rows = rows.defer("snapshot__counts", "snapshot__health")
    found = {row.name: row for row in rows}
    return [_status(name, found.get(name)) for name in asked]


def health(name: str) -> tuple[Health, datetime] | None:
    """The last health that could be read, and when; None when there never was one. One query."""
    row = Snapshot.objects.filter(source__name=name).values_list("health", "health_at").first()
    if row is None or row[1] is None:
        return None
    loaded = load_health(row[0])
    return (loaded, row[1]) if loaded else None


def names(name: str) -> frozenset[QueueRef]:
    """All queues of a source that are in the list. One query."""
    return frozenset(ref for ref, _gone, _pinned in _known(name).queues)


def called(name: str, typed: str) -> QueueRef | None:
    """The queue of a source that somebody typed, by its label or slug; None where the list has none. One query."""
    return next((ref for ref in names(name) if typed in (ref.label, ref.slug)), None)


def of(ref: QueueRef) -> QueueReading | None:
    """One queue as it was last stored; None when it is not in the list. Two queries."""
    row = Queue.objects.filter(source__name=ref.source, slug=ref.slug).values_list("gone_since", "pinned").first()
    if row is None:
        return None
    stored, taken_at = _stored(ref.source)
    counts, workers = stored.get(ref.slug, (None, None))
    return QueueReading(ref, counts, workers, row[0], row[1], taken_at if counts else None)


def last(name: str) -> tuple[Stored, datetime | None]:
    """Counts and workers of all queues of a source by their slugs, as they were last stored, and when. One query."""
    return _stored(name)


def _known(name: str) -> _Known:
    row = Source.objects.filter(name=name).first()
    if row is None:
        return _Known(None, ())
    found = row.queues.order_by("slug").values_list("slug", "gone_since", "pinned")
    return _Known(row, [(_ref(name, slug), gone_since, pinned) for slug, gone_since, pinned in found])


@lru_cache(maxsize=20_000)
def _ref(name: str, slug: str) -> QueueRef:
    """Reading a slug costs more than anything else that is done for a queue on every page."""
    return QueueRef.from_slug(name, slug)


def _ask_health(name: str) -> Health | None:
    """None when it cannot be read: an outage is noted by now, anything else leaves the last health with its time."""
    try:
        with watched(name) as reader:
            return reader.health()
    except QueueError:
        return None


def _note(name: str, row: Source | None, answer: _Answer | QueueError) -> None:
    """Keep for the pages that do not ask whether the source could be read. Outages are kept by now."""
    refused_before = row.error if row and row.down_since is None else ""
    if isinstance(answer, _Answer):
        if refused_before:
            outages.note_readable(name)
    elif not isinstance(answer, Unreachable) and str(answer) != refused_before:
        outages.note_refusal(name, str(answer))


def _told(name: str, known: _Known, answer: _Answer | QueueError) -> SourceReading:
    scan = scan_state(known.row)
    if isinstance(answer, _Answer):
        because = answer.workers.unknown_because
        return SourceReading(
            name, tuple(_live(known, answer)), True, answer.at, scan=scan, workers_unknown_because=because
        )
    down_since, tries = None, 0
    if isinstance(answer, Unreachable):
        down_since, tries = answer.since, max(known.row.tries if known.row else 0, 1)
    stored, taken_at = _stored(name)
    queues = tuple(_last(known, stored, taken_at))
    return SourceReading(name, queues, False, taken_at, down_since, str(answer), tries, scan=scan)


def _live(known: _Known, answer: _Answer) -> Iterator[QueueReading]:
    for ref, gone_since, pinned in known.queues:
        counts, workers = answer.counts.get(ref), answer.workers.of(ref)
        manned = None if workers is None else len(workers)
        back = counts is not None and counts.exists
        yield QueueReading(ref, counts, manned, None if back else gone_since, pinned, answer.at)


def _last(known: _Known, stored: Stored, taken_at: datetime | None) -> Iterator[QueueReading]:
    for ref, gone_since, pinned in known.queues:
        counts, workers = stored.get(ref.slug, (None, None))
        yield QueueReading(ref, counts, workers, gone_since, pinned, taken_at if counts else None)


def _stored(name: str) -> tuple[Stored, datetime | None]:
    row = Snapshot.objects.filter(source__name=name).values_list("counts", "taken_at").first()
    return (load_counts(row[0]), row[1]) if row else ({}, None)


def scan_state(row: Source | None) -> ScanState:
    """The scan as the row of its source tells it; a silent one counts as interrupted."""
    if row is None:
        return ScanState()
    running = row.scan_beat_at is not None and row.scan_beat_at > timezone.now() - SCAN_SILENT
    asked, started = row.scan_requested_at, row.scan_started_at
    requested = asked is not None and (started is None or started < asked)
    return ScanState(running, requested, started, row.scan_finished_at, row.scan_keys, row.scan_skipped, row.scan_error)


def _status(name: str, row: Source | None) -> SourceStatus:
    if row is None:
        return SourceStatus(name, None, "", 0, None, None, None, ScanState())
    snapshot: Snapshot | None = getattr(row, "snapshot", None)
    return SourceStatus(
        name=name,
        down_since=row.down_since,
        error=row.error,
        tries=row.tries,
        ok_at=row.ok_at,
        read_at=snapshot.taken_at if snapshot else None,
        queue_total=getattr(row, "queue_total", None) if row.scan_finished_at else None,
        scan=scan_state(row),
    )
