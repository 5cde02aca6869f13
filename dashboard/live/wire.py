"""News as messages of the channel layer: lists of numbers and texts, without what has its default.

For 1,000 rows with a full hour of history writing takes some 15 ms, reading some 40 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from queues.events import Event, EventKind, Glance
from queues.history import KINDS, History
from queues.live import (
    FailuresNews,
    JobNews,
    News,
    OverviewNews,
    Pulse,
    QueueNews,
    ReplaysNews,
    RowNews,
    Seen,
    SourceNews,
    Standing,
)
from queues.types import Counts, JobRef, Mark, Oldest, Progress, QueueRef, State, Text

RELEASE = 1  # grows when older processes could not read what newer ones write
_STATES = tuple(State)

Packed = list[Any]


def encode(news: News) -> Packed:
    """News as what msgpack writes: lists, numbers, texts, bytes, None."""
    return [RELEASE, type(news).__name__, *_WRITERS[type(news)](news)]


def decode(packed: Sequence[Any]) -> News:
    """The inverse of `encode`. Raises ValueError for what is not one of ours, or of another release."""
    try:
        release, kind, *rest = packed
        if release != RELEASE:
            raise ValueError("of another release")
        return _READERS[kind](*rest)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError("not news") from error


def _source(news: SourceNews) -> Packed:
    return [news.source, _standing(news.standing)]


def _read_source(source: str, standing: Packed) -> SourceNews:
    return SourceNews(source, _read_standing(standing))


def _replays(news: ReplaysNews) -> Packed:
    return [news.source, _standing(news.standing)]


def _read_replays(source: str, standing: Packed) -> ReplaysNews:
    return ReplaysNews(source, _read_standing(standing))


def _overview(news: OverviewNews) -> Packed:
    return [news.source, _standing(news.standing), [_row(row) for row in news.rows], news.whole]


def _read_overview(source: str, standing: Packed, rows: Sequence[Packed], whole: bool) -> OverviewNews:
    return OverviewNews(source, _read_standing(standing), [_read_row(source, *row) for row in rows], whole)


def _queue(news: QueueNews) -> Packed:
    return [
        *_ref(news.ref),
        _standing(news.standing),
        None if news.row is None else _row(news.row),
        [_seen(seen) for seen in news.events],
        news.total,
        {state.value: number for state, number in news.entered.items()},
        news.upto,
        [_event(event) for event in news.progress],
    ]


def _read_queue(  # noqa: PLR0917
    source: str,
    prefix: bytes,
    name: bytes,
    standing: Packed,
    row: Packed | None,
    events: Sequence[Packed],
    total: int,
    entered: Mapping[str, int],
    upto: str,
    progress: Sequence[Packed],
) -> QueueNews:
    ref = QueueRef(source, prefix, name)
    return QueueNews(
        ref,
        _read_standing(standing),
        None if row is None else _read_row(source, *row),
        [_read_seen(ref, seen) for seen in events],
        total,
        {State(state): number for state, number in entered.items()},
        upto,
        [_read_event(ref, event) for event in progress],
    )


def _job(news: JobNews) -> Packed:
    return [*_ref(news.ref.queue), news.ref.id, _standing(news.standing), [_event(event) for event in news.events]]


def _read_job(  # noqa: PLR0917
    source: str, prefix: bytes, name: bytes, job: bytes, standing: Packed, events: Sequence[Packed]
) -> JobNews:
    ref = QueueRef(source, prefix, name)
    return JobNews(JobRef(ref, job), _read_standing(standing), [_read_event(ref, event) for event in events])


def _failures(news: FailuresNews) -> Packed:
    return [news.source, _standing(news.standing), list(news.groups), news.fresh, news.open, news.whole]


def _read_failures(  # noqa: PLR0917
    source: str, standing: Packed, groups: Sequence[str], fresh: int, opened: int | None, whole: bool
) -> FailuresNews:
    return FailuresNews(source, _read_standing(standing), tuple(groups), fresh, opened, whole)


def _ref(ref: QueueRef) -> Packed:
    return [ref.source, ref.prefix, ref.name]


def _standing(standing: Standing) -> Packed:
    return [
        standing.pulse.value,
        standing.at_ms,
        standing.since_ms,
        standing.why,
        standing.events_per_s,
        standing.behind_ms,
    ]


def _read_standing(packed: Packed) -> Standing:
    pulse, *rest = packed
    return Standing(Pulse(pulse), *rest)


def _row(row: RowNews) -> Packed:
    ref, counts = row.ref, row.counts
    return [
        ref.prefix,
        ref.name,
        row.read_ms,
        row.changed_ms,
        [counts.by_state.get(state) for state in _STATES],  # None: this state could not be read
        _rest(counts),
        row.workers,
        None if row.history is None else _history(row.history),
        row.upto,
    ]


def _read_row(  # noqa: PLR0917
    source: str,
    prefix: bytes,
    name: bytes,
    read_ms: int,
    changed_ms: int,
    numbers: Sequence[int | None],
    rest: Mapping[str, Any],
    workers: int | None,
    history: Packed | None,
    upto: int,
) -> RowNews:
    counts = _read_counts(numbers, **rest)
    past = None if history is None else _read_history(*history)
    return RowNews(QueueRef(source, prefix, name), read_ms, changed_ms, counts, workers, past, upto)


def _rest(counts: Counts) -> dict[str, object]:
    """Everything but the numbers, as far as it is not what most queues have."""
    rest: dict[str, object] = {"paused": True} if counts.paused else {}
    if counts.parked:
        rest["parked"] = counts.parked
    if counts.oldest:
        rest["oldest"] = [counts.oldest.created_ms, counts.oldest.at_least, counts.oldest.since_ms]
    if counts.version:
        rest["version"] = counts.version
    if counts.concurrency is not None:
        rest["concurrency"] = counts.concurrency
    if counts.rate_max is not None:
        rest["rate_max"] = counts.rate_max
    if counts.rate_duration_ms is not None:
        rest["rate_duration_ms"] = counts.rate_duration_ms
    if not counts.exists:
        rest["exists"] = False
    return rest


def _read_counts(
    numbers: Sequence[int | None], *, paused: bool = False, oldest: Packed | None = None, **rest: Any
) -> Counts:
    by_state = {state: number for state, number in zip(_STATES, numbers, strict=True) if number is not None}
    return Counts(by_state, paused, oldest=Oldest(*oldest) if oldest else None, **rest)


def _history(history: History) -> Packed:
    first = history.known_from
    minutes = [minute - first for minute in history.counts]
    # One flat list: a list for each of 60,000 minutes would keep the collector busy for longer than all the rest.
    return [first, minutes, list(chain.from_iterable(history.counts.values())), list(history.lost)]


def _read_history(first: int, minutes: Sequence[int], flat: Sequence[int], lost: Sequence[int]) -> History:
    width = len(KINDS)
    rows = (list(flat[start : start + width]) for start in range(0, len(flat), width))
    counts = {first + minute: row for minute, row in zip(minutes, rows, strict=True)}
    return History(first, counts, set(lost))


def _text(text: Text | None) -> Packed | None:
    return None if text is None else [text.value, text.size, [mark.value for mark in text.marks]]


def _read_text(packed: Packed | None) -> Text | None:
    return None if packed is None else Text(packed[0], packed[1], tuple(map(Mark, packed[2])))


def _event(event: Event) -> Packed:
    progress = event.progress
    return [
        event.id,
        event.kind.value,
        event.job,
        _text(event.text),
        None if progress is None else [progress.percent, _text(progress.text), progress.bare],
        event.previous,
        event.run_at_ms,
        event.attempts,
        event.count,
        event.until_ms,
    ]


def _read_event(ref: QueueRef, packed: Packed) -> Event:
    event_id, kind, job, text, progress, *rest = packed
    return Event(ref, event_id, EventKind(kind), job, _read_text(text), _read_progress(progress), *rest)


def _read_progress(packed: Packed | None) -> Progress | None:
    text = _read_text(packed[1]) if packed else None
    return Progress(packed[0], text, packed[2]) if packed and text else None


def _seen(seen: Seen) -> Packed:
    glance = seen.glance
    if glance is None:
        return [_event(seen.event), None]
    numbers = [
        glance.attempts_made,
        glance.attempts_started,
        glance.attempts_max,
        glance.processed_ms,
        glance.finished_ms,
    ]
    return [_event(seen.event), [_text(glance.name), *numbers]]


def _read_seen(ref: QueueRef, packed: Packed) -> Seen:
    event, glance = packed
    return Seen(_read_event(ref, event), None if glance is None else Glance(_read_text(glance[0]), *glance[1:]))


_WRITERS: Mapping[type, Callable[[Any], Packed]] = {
    SourceNews: _source,
    OverviewNews: _overview,
    QueueNews: _queue,
    JobNews: _job,
    FailuresNews: _failures,
    ReplaysNews: _replays,
}
_READERS: Mapping[str, Callable[..., News]] = {
    "SourceNews": _read_source,
    "OverviewNews": _read_overview,
    "QueueNews": _read_queue,
    "JobNews": _read_job,
    "FailuresNews": _read_failures,
    "ReplaysNews": _read_replays,
}
