"""What a transaction adds to the counts of strands and groups, and writing it: a few statements for 1,000 failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import connection

from queues.failures import windows
from queues.failures.store.rows import parts, places
from queues.failures.windows import MINUTES
from queues.models import FailureGroup, FailureHour, FailureStrand
from queues.quantities import HOUR, MINUTE

KEPT_HOURS = 48  # for which minutes are kept
_LARGEST = 2**32 - 1
_STRAND, _HOUR = FailureStrand._meta.db_table, FailureHour._meta.db_table
_GROUP = FailureGroup._meta.db_table
_COUNTS = tuple(windows.WINDOWS)
_ADD = (
    f"UPDATE {_STRAND} SET total = total + %s, present = present + %s,"  # noqa: S608
    " first_ms = CASE WHEN first_ms > %s THEN %s ELSE first_ms END,"
    " last_ms = CASE WHEN last_ms < %s THEN %s ELSE last_ms END,"
    f" {', '.join(f'{name} = {name} + %s' for name in _COUNTS)} WHERE id = %s"
)
_ADD_GROUP = (
    f"UPDATE {_GROUP} SET total = total + %s,"  # noqa: S608
    " first_ms = CASE WHEN first_ms > %s THEN %s ELSE first_ms END,"
    " last_ms = CASE WHEN last_ms < %s THEN %s ELSE last_ms END WHERE id = %s"
)
_HOURS = f"SELECT strand_id, hour, count, minutes FROM {_HOUR} WHERE (strand_id, hour) IN (VALUES {{}})"  # noqa: S608
_KEEP = (
    f"INSERT INTO {_HOUR} (strand_id, hour, count, minutes) VALUES (%s, %s, %s, %s)"  # noqa: S608
    " ON CONFLICT (strand_id, hour) DO UPDATE SET count = excluded.count, minutes = excluded.minutes"
)
_PRESENT = f"UPDATE {_STRAND} SET present = present + %s WHERE id = %s"  # noqa: S608
_GROUPS = f"SELECT id, group_id FROM {_STRAND} WHERE id IN ({{}})"  # noqa: S608


@dataclass(slots=True)
class Tally:
    """Failures by their strand: `at_ms` of those that came, and of those that went to another; who is present."""

    came: dict[int, list[int]] = field(default_factory=dict)
    went: dict[int, list[int]] = field(default_factory=dict)
    present: dict[int, int] = field(default_factory=dict)

    def add(self, strand: int, at_ms: int) -> None:
        self.came.setdefault(strand, []).append(at_ms)

    def take(self, strand: int, at_ms: int) -> None:
        self.went.setdefault(strand, []).append(at_ms)

    def presence(self, strand: int, by: int) -> None:
        self.present[strand] = self.present.get(strand, 0) + by

    @property
    def strands(self) -> set[int]:
        return {*self.came, *self.went, *(strand for strand, by in self.present.items() if by)}


@dataclass(slots=True)
class Moved:
    """What came to a group: how many more, and when they failed."""

    more: int = 0
    came: list[int] = field(default_factory=list)


def write(tally: Tally, windows_ms: int) -> dict[int, Moved]:
    """Add all that to strands, hours and groups. Gives what came to each group, by its key."""
    begins = [windows.since(name, windows_ms) for name in _COUNTS]
    counted = sorted({*tally.came, *tally.went})
    with connection.cursor() as cursor:
        if counted:
            cursor.executemany(_ADD, [_strand(tally, strand, begins) for strand in counted])
        shown = [(by, strand) for strand, by in sorted(tally.present.items()) if by and strand not in set(counted)]
        if shown:
            cursor.executemany(_PRESENT, shown)
    _hours(tally, windows_ms)
    moved = _moved(tally)
    rows = [(each.more, *_ends(each.came), group) for group, each in sorted(moved.items()) if each.more or each.came]
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(_ADD_GROUP, rows)
    return moved


def _strand(tally: Tally, strand: int, begins: Sequence[int]) -> Sequence[int]:
    came, went = tally.came.get(strand, []), tally.went.get(strand, [])
    counts = [_since(came, begin) - _since(went, begin) for begin in begins]
    return (len(came) - len(went), tally.present.get(strand, 0), *_ends(came), *counts, strand)


def _since(times: Sequence[int], begin: int) -> int:
    return sum(1 for at in times if at >= begin)


def _ends(times: Sequence[int]) -> Sequence[int]:
    """First and last, each twice as the statements take them; those that change nothing where none came."""
    if not times:
        return (2**62, 2**62, -(2**62), -(2**62))
    first, last = min(times), max(times)
    return (first, first, last, last)


def _hours(tally: Tally, windows_ms: int) -> None:
    """Add to the hours, and to their minutes while those are kept."""
    change: dict[tuple[int, int], Counter[int]] = {}
    for sign, side in ((1, tally.came), (-1, tally.went)):
        for strand, times in side.items():
            for minute, count in Counter(at // MINUTE for at in times).items():
                change.setdefault((strand, minute // 60), Counter())[minute % 60] += sign * count
    there = _there(list(change))
    young = windows_ms // HOUR - KEPT_HOURS
    rows = []
    for (strand, hour), minutes in change.items():
        count, known = there.get((strand, hour), (0, None if hour < young else bytes(MINUTES.size)))
        count = max(0, count + sum(minutes.values()))
        rows.append((strand, hour, count, None if known is None else _packed(known, minutes)))
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(_KEEP, rows)


def _there(wanted: Sequence[tuple[int, int]]) -> Mapping[tuple[int, int], tuple[int, bytes | None]]:
    found: dict[tuple[int, int], tuple[int, bytes | None]] = {}
    for part in parts(wanted):
        pairs = ",".join([f"({strand:d},{hour:d})" for strand, hour in part])
        with connection.cursor() as cursor:
            cursor.execute(_HOURS.format(pairs))
            for strand, hour, count, minutes in cursor.fetchall():
                found[strand, hour] = (count, None if minutes is None else bytes(minutes))
    return found


def _packed(known: bytes, change: Mapping[int, int]) -> bytes:
    counts = list(MINUTES.unpack(known))
    for minute, by in change.items():
        counts[minute] = min(_LARGEST, max(0, counts[minute] + by))
    return MINUTES.pack(*counts)


def _moved(tally: Tally) -> dict[int, Moved]:
    group_of = groups_of(tally.strands)
    moved: dict[int, Moved] = {}
    for strand, group in group_of.items():
        each = moved.setdefault(group, Moved())
        came = tally.came.get(strand, [])
        each.came += came
        each.more += len(came) - len(tally.went.get(strand, ()))
    return moved


def groups_of(strands: Iterable[int]) -> dict[int, int]:
    """The groups of strands, by keys."""
    found: dict[int, int] = {}
    for part in parts(sorted(strands)):
        with connection.cursor() as cursor:
            cursor.execute(_GROUPS.format(places(part)), part)
            found.update(cursor.fetchall())
    return found
