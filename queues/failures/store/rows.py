"""Reading and writing rows of failures below the ORM: there are hundreds of thousands of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.db import connection

from queues.failures.types import Found, How
from queues.models import Failure, Letter
from queues.names import show_controls

_FAILURE, _LETTER = Failure._meta.db_table, Letter._meta.db_table
_READ = (
    f"SELECT id, job, strand_id, score_ms, at_ms, in_set, present, how FROM {_FAILURE}"  # noqa: S608
    " WHERE queue_id = %s AND job IN ({})"
)
_READ_IDS = f"SELECT id, job, strand_id, score_ms, at_ms, in_set, present, how FROM {_FAILURE} WHERE id IN ({{}})"  # noqa: S608
_INSERT = (
    f"INSERT INTO {_FAILURE}"  # noqa: S608
    " (queue_id, strand_id, job, at_ms, score_ms, worker, attempts, in_set, present, how)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
_HELD = f"SELECT DISTINCT failure_id FROM {_LETTER} WHERE failure_id IN ({{}})"  # noqa: S608
_STATE = f"UPDATE {_FAILURE} SET in_set = %s, present = %s WHERE id IN ({{}})"  # noqa: S608
_PART = 1_000
_T = TypeVar("_T")


@dataclass(slots=True)
class Row:
    """A failure as it is kept. `id` 0: about to be."""

    id: int
    job: str
    strand: int
    score_ms: int
    at_ms: int
    in_set: bool
    present: bool
    how: str


def of_jobs(queue_pk: int, jobs: Sequence[str]) -> dict[str, list[Row]]:
    """All failures of these jobs. One query for 1,000 of them."""
    found: dict[str, list[Row]] = {}
    for part in parts(list(dict.fromkeys(jobs))):
        with connection.cursor() as cursor:
            cursor.execute(_READ.format(places(part)), [queue_pk, *part])
            for values in cursor.fetchall():
                row = _row(values)
                found.setdefault(row.job, []).append(row)
    return found


def by_id(ids: Iterable[int]) -> dict[int, Row]:
    """Failures by their keys."""
    found: dict[int, Row] = {}
    for part in parts(sorted(ids)):
        with connection.cursor() as cursor:
            cursor.execute(_READ_IDS.format(places(part)), part)
            found.update((values[0], _row(values)) for values in cursor.fetchall())
    return found


def insert(queue_pk: int, new: Iterable[tuple[Found, str, int]]) -> None:
    """Write failures, each with its job as kept and its strand. IntegrityError when one is there already."""
    rows = [
        (
            queue_pk,
            strand,
            job,
            found.at_ms,
            found.score_ms,
            worker(found.worker),
            found.attempts,
            found.how is How.SET,
            found.how is not How.EVENT,
            found.how.value,
        )
        for found, job, strand in new
    ]
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(_INSERT, rows)


def held(ids: Iterable[int]) -> set[int]:
    """Which of these failures a letter tells of."""
    found: set[int] = set()
    for part in parts(sorted(ids)):
        with connection.cursor() as cursor:
            cursor.execute(_HELD.format(places(part)), part)
            found.update(pk for (pk,) in cursor.fetchall())
    return found


def mark(ids: Iterable[int], *, in_set: bool, present: bool) -> None:
    """Write where these failures are."""
    for part in parts(sorted(ids)):
        with connection.cursor() as cursor:
            cursor.execute(_STATE.format(places(part)), [in_set, present, *part])


def parts(values: Sequence[_T]) -> Iterable[Sequence[_T]]:
    """At most 1,000 at a time, as statements take."""
    return (values[at : at + _PART] for at in range(0, len(values), _PART))


def worker(name: str) -> str:
    """A worker's name as it is kept."""
    return plain(name, 200) if name else ""


def plain(text: str, limit: int) -> str:
    """`text` on one line without what a database or an eye does not take, at most `limit` characters."""
    if text.isascii() and text.isprintable():
        return text[:limit]
    return show_controls(text[:limit], keep="")[:limit]


def _row(values: Sequence[object]) -> Row:
    row = Row(*values)  # type: ignore[arg-type]
    row.in_set, row.present = bool(row.in_set), bool(row.present)
    return row


def places(part: Sequence[object]) -> str:
    """Placeholders for so many values."""
    return ",".join(["%s"] * len(part))
