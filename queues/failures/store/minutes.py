"""The windows of strands as time goes on, written: what became too old leaves them, and what is usual is known anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import Min

from queues.failures import windows
from queues.failures.store.rows import parts, places
from queues.models import FailureHour, FailureStrand, IndexedQueue, Queue
from queues.quantities import HOUR

LONGEST_STEP_MS = 20 * HOUR  # beyond, minutes that would leave may be forgotten: all is counted anew
_STRAND, _HOUR, _QUEUE = FailureStrand._meta.db_table, FailureHour._meta.db_table, Queue._meta.db_table
_NAMES = tuple(windows.WINDOWS)
_OURS = (
    f"FROM {_HOUR} h JOIN {_STRAND} s ON s.id = h.strand_id JOIN {_QUEUE} q ON q.id = s.queue_id WHERE q.source_id = %s"
)
_IN_HOURS = f"SELECT h.strand_id, h.hour, h.count, h.minutes {_OURS} AND h.hour IN ({{}})"
_COUNTS = "SELECT strand_id, hour, count FROM {} WHERE hour IN ({}) AND strand_id IN ({})"
_LEAVE = (
    f"UPDATE {_STRAND} SET"  # noqa: S608
    f" {', '.join(f'{name} = CASE WHEN {name} > %s THEN {name} - %s ELSE 0 END' for name in _NAMES)} WHERE id = %s"
)
_SET = f"UPDATE {_STRAND} SET {', '.join(f'{name} = %s' for name in _NAMES)} WHERE id = %s"  # noqa: S608
_USUAL = f"UPDATE {_STRAND} SET usual = %s WHERE id = %s"  # noqa: S608


@dataclass(frozen=True, slots=True)
class _Hour:
    strand: int
    hour: int
    count: int
    minutes: Sequence[int] | None


def move(source_pk: int, before_ms: int, windows_ms: int) -> set[int]:
    """Make the windows those of `windows_ms`; the strands that have others now."""
    if 0 <= windows_ms - before_ms <= LONGEST_STEP_MS:
        changed = _leave(source_pk, before_ms, windows_ms)
    else:
        changed = recount(source_pk, windows_ms)
    return changed | usual(source_pk, windows_ms)


def _leave(source_pk: int, before_ms: int, windows_ms: int) -> set[int]:
    left = windows.leaving(before_ms, windows_ms)
    asked = {hour for begin, end in left.values() for hour in windows.hours(begin, end)}
    gone: dict[int, list[int]] = defaultdict(lambda: [0] * len(_NAMES))
    for row in _read(source_pk, asked):
        for at, (begin, end) in enumerate(left.values()):
            if number := windows.within(row.hour, row.count, row.minutes, begin, end):
                gone[row.strand][at] += number
    rows = [
        (*(value for number in numbers for value in (number, number)), strand)
        for strand, numbers in sorted(gone.items())
    ]
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(_LEAVE, rows)
    return set(gone)


def recount(source_pk: int, windows_ms: int) -> set[int]:
    """Count all windows anew from the hours; the strands that had others."""
    begins = [windows.since(name, windows_ms) for name in _NAMES]
    counted: dict[int, list[int]] = defaultdict(lambda: [0] * len(_NAMES))
    for strand, *sums in _sums(source_pk, [-(-begin // HOUR) for begin in begins]):
        counted[strand] = [int(number or 0) for number in sums]
    for row in _read(source_pk, {begin // HOUR for begin in begins if begin % HOUR}):
        ends = (row.hour + 1) * HOUR
        for at, begin in enumerate(begins):
            if begin // HOUR == row.hour and begin % HOUR:
                counted[row.strand][at] += windows.within(row.hour, row.count, row.minutes, begin, ends)
    rows = []
    ours = FailureStrand.objects.filter(queue__source_id=source_pk).values_list("pk", *_NAMES)
    for strand, *before in ours.iterator(chunk_size=5_000):
        numbers = counted.get(strand, [0] * len(_NAMES))
        if numbers != before:
            rows.append((*numbers, strand))
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(_SET, rows)
    return {strand for *_numbers, strand in rows}


def usual(source_pk: int, windows_ms: int) -> set[int]:
    """Say what is usual at this time of the day, for strands that failed within the hour; those it changed for."""
    ours = FailureStrand.objects.filter(queue__source_id=source_pk, h1__gt=0)
    strands = list(ours.values_list("pk", "queue_id", "usual"))
    if not strands:
        return set()
    known = _known(source_pk)
    counts: dict[int, dict[int, int]] = defaultdict(dict)
    hours = windows.usual_hours(windows_ms)
    for part in parts([pk for pk, _queue, _usual in strands]):
        with connection.cursor() as cursor:
            cursor.execute(_COUNTS.format(_HOUR, places(hours), places(part)), [*hours, *part])
            for strand, hour, count in cursor.fetchall():
                counts[strand][hour] = count
    rows = []
    for strand, queue, before in strands:
        now = windows.usual(counts.get(strand, {}), windows_ms, known.get(queue, windows_ms))
        if now != before:
            rows.append((now, strand))
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(_USUAL, rows)
    return {strand for _usual, strand in rows}


def _known(source_pk: int) -> Mapping[int, int]:
    """Since when failures of each queue are known: since it is indexed, or longer, as its set told older ones."""
    firsts = FailureStrand.objects.filter(queue__source_id=source_pk).values_list("queue_id").annotate(Min("first_ms"))
    found: dict[int, int] = dict(firsts)
    since = IndexedQueue.objects.filter(queue__source_id=source_pk, since_ms__isnull=False)
    for queue, ms in since.values_list("queue_id", "since_ms"):
        if ms is not None:
            found[queue] = min(ms, found.get(queue, ms))
    return found


def _read(source_pk: int, hours: Iterable[int]) -> Iterable[_Hour]:
    for part in parts(sorted(hours)):
        with connection.cursor() as cursor:
            cursor.execute(_IN_HOURS.format(places(part)), [source_pk, *part])
            for strand, hour, count, minutes in cursor.fetchall():
                yield _Hour(strand, hour, count, None if minutes is None else windows.MINUTES.unpack(bytes(minutes)))


def _sums(source_pk: int, firsts: Sequence[int]) -> Iterable[Sequence[int]]:
    """How many each strand has in the hours from each of these on."""
    cases = ", ".join(f"SUM(CASE WHEN h.hour >= {first:d} THEN h.count ELSE 0 END)" for first in firsts)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT h.strand_id, {cases} {_OURS} AND h.hour >= %s GROUP BY h.strand_id", [source_pk, min(firsts)]
        )
        yield from cursor.fetchall()
