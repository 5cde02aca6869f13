"""What freezing counts, as `Replay.frozen` keeps it, so that no page has to count a million rows.

expected  how many jobs there were when the plan was made; missing: nobody knows
index     of a plan of groups: queues.replay.making.behind.Behind; missing: all failures were read
looked    rows looked at so far, `read` of which the data were read; missing when that is over
kept      attempts that jobs have left, as text, and how many jobs: where attempts are kept
reset     the same where they are reset
sums      rows of [target or null, conflict, permanent, jobs, first and last created_ms, the same of failed_ms,
          letters]
groups    rows of [group, jobs], the largest 50; `more_groups` how many there are besides
examples  conflict -> keys of up to three rows
kinds     keys of rows of the commonest names of jobs of each queue: of each kind [first, last], most jobs first
keys      [path of the order by key, different values there, jobs that have one, jobs that have none]; missing: no order
          by key, or nobody has read them
first     order -> keys of the first rows that could be sent; missing where a page can look for them
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import connection

from queues.models import ReplayJob
from queues.replay.freezing.choosing import FINISHED
from queues.replay.freezing.items import Attempts
from queues.replay.freezing.ranking import could_be, is_sent, rank
from queues.replay.terms import Ordering, Terms
from queues.replay.types import CHOICES, Acts
from queues.sendings import Conflict

EXPECTED, INDEX, LOOKED, READ, KEPT, RESET = "expected", "index", "looked", "read", "kept", "reset"
SUMS, GROUPS, MORE_GROUPS, EXAMPLES, FIRST = "sums", "groups", "more_groups", "examples", "first"
KINDS, KEYS = "kinds", "keys"
MOST_KINDS = 10
MOST_GROUPS = 50
MOST_LINES = 50  # of attempts; what is beyond is added to the last
SHOWN = 3  # examples of a conflict
FIRSTS = 100
MANY = 10_000  # rows, of which a page does not look for the first

Frozen = Mapping[str, Any]

_TABLE = ReplayJob._meta.db_table
_SUMS = f"""
SELECT target_id, conflict, permanent, COUNT(*), MIN(created_ms), MAX(created_ms), MIN(failed_ms), MAX(failed_ms),
  SUM(CASE WHEN letter <> '' OR state NOT IN (%s, %s) THEN 1 ELSE 0 END), SUM(CASE WHEN acts = %s THEN 1 ELSE 0 END)
FROM {_TABLE} WHERE replay_id = %s GROUP BY target_id, conflict, permanent
"""  # noqa: S608
_GROUPS = f"SELECT group_id, COUNT(*) FROM {_TABLE} WHERE replay_id = %s GROUP BY group_id"  # noqa: S608
_EXAMPLES = f"""
SELECT conflict, id FROM (
  SELECT conflict, id, ROW_NUMBER() OVER (PARTITION BY conflict ORDER BY id) AS number
  FROM {_TABLE} WHERE replay_id = %s AND conflict <> ''
) AS numbered WHERE number <= %s ORDER BY conflict, id
"""  # noqa: S608
_COULD = [Conflict.NONE.value, *(conflict.value for conflict in CHOICES)]
_COULD_BE = f"conflict IN ({', '.join(['%s'] * len(_COULD))})"
_KINDS = f"""
SELECT MIN(id), MAX(id) FROM {_TABLE} WHERE replay_id = %s AND {_COULD_BE}
GROUP BY queue_id, name ORDER BY COUNT(*) DESC, MIN(id) LIMIT {MOST_KINDS}
"""  # noqa: S608
_KEYS = f"""
SELECT COUNT(DISTINCT key), COUNT(key), COUNT(*) - COUNT(key) FROM {_TABLE} WHERE replay_id = %s AND {_COULD_BE}
"""  # noqa: S608


class Sum(NamedTuple):
    """Rows that are alike in target, conflict and class."""

    target: int | None
    conflict: Conflict
    permanent: bool
    jobs: int
    created_from: int | None
    created_to: int | None
    failed_from: int | None
    failed_to: int | None
    letters: int  # that are one, or have one beside them
    copies: int  # that are sent as new jobs

    @classmethod
    def of(cls, row: Sequence[Any]) -> Sum:
        target, conflict, permanent, jobs, *times, letters, copies = row
        first, last, failed_first, failed_last = times
        kind = (target, Conflict(conflict), bool(permanent), jobs)
        return cls(*kind, first, last, failed_first, failed_last, int(letters or 0), int(copies or 0))


@dataclass(frozen=True, slots=True)
class Counts:
    """Jobs. `permanent` are those that could be sent and whose failures are of the permanent class."""

    to_send: int = 0
    left_out: int = 0
    permanent: int = 0


def begun(frozen: Frozen, *, reading: bool = False) -> dict[str, Any]:
    """The same before looking begins, or before reading."""
    if reading:
        return {**frozen, READ: 0}
    kept = {name: value for name, value in frozen.items() if name not in (KEPT, RESET, READ)}
    return {**kept, LOOKED: 0}


def looked(frozen: Frozen, told: Attempts, number: int) -> dict[str, Any]:
    """The same after a batch was looked at."""
    return {
        **frozen,
        LOOKED: frozen.get(LOOKED, 0) + number,
        KEPT: _added(frozen.get(KEPT, {}), told.kept),
        RESET: _added(frozen.get(RESET, {}), told.reset),
    }


def read(frozen: Frozen, number: int) -> dict[str, Any]:
    """The same after the data of a batch were read."""
    return {**frozen, READ: frozen.get(READ, 0) + number}


def counting(replay: int, frozen: Frozen, key: str = "") -> Iterator[dict[str, Any]]:
    """All of it when a plan is frozen, more with each walk over its rows: half a second each for 1,000,000.

    `key` is the path of the order by key that was read.
    """
    known = {name: value for name, value in frozen.items() if name not in (LOOKED, READ, FIRST, KEYS)}
    known[SUMS] = [list(Sum.of(row)) for row in _asked(_SUMS, [*FINISHED, Acts.COPY.value, replay])]
    yield known
    groups = sorted(_asked(_GROUPS, [replay]), key=lambda row: (-row[1], row[0] or 0))
    known |= {GROUPS: [list(row) for row in groups[:MOST_GROUPS]], MORE_GROUPS: max(0, len(groups) - MOST_GROUPS)}
    yield known
    examples: dict[str, list[int]] = {}
    for conflict, pk in _asked(_EXAMPLES, [replay, SHOWN]):
        examples.setdefault(conflict, []).append(pk)
    known[EXAMPLES] = examples
    yield known
    known[KINDS] = [list(row) for row in _asked(_KINDS, [replay, *_COULD])]
    yield known
    if key:
        known[KEYS] = [key, *_asked(_KEYS, [replay, *_COULD])[0]]
        yield known
    if sum(each.jobs for each in sums(known)) >= MANY:
        known[FIRST] = {}
        for order in (Ordering.ORIGINAL, Ordering.FAILURE, Ordering.NEWEST):
            known[FIRST][order.value] = _first(replay, order)
            yield known


def counted(replay: int, frozen: Frozen, key: str = "") -> dict[str, Any]:
    """The same at once."""
    *_parts, whole = counting(replay, frozen, key)
    return whole


def _first(replay: int, order: Ordering) -> list[int]:
    rows = ReplayJob.objects.filter(replay=replay, conflict__in=_COULD).order_by(rank(order), "pk")
    return list(rows.values_list("pk", flat=True)[:FIRSTS])


def _asked(statement: str, values: Sequence[str | int]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def sums(frozen: Frozen) -> Sequence[Sum]:
    """The rows of a plan, counted by what they have in common; none before it was frozen."""
    return [Sum.of(row) for row in frozen.get(SUMS, ())]


def ways(frozen: Frozen, terms: Terms) -> tuple[int, int, int]:
    """Of those to send: how many they are, how many go as new jobs, and how many are letters or have one beside them.

    By what freezing counted, when letters of jobs that are still failed were known to be retried in place.
    """
    sent = [each for each in sums(frozen) if is_sent(each.conflict, each.permanent, terms)]
    return sum(each.jobs for each in sent), sum(each.copies for each in sent), sum(each.letters for each in sent)


def estimated(sums: Sequence[Sum], terms: Terms) -> Counts:
    """How many are sent and left out, by what freezing counted."""
    to_send = sum(each.jobs for each in sums if is_sent(each.conflict, each.permanent, terms))
    permanent = sum(each.jobs for each in sums if each.permanent and could_be(each.conflict, terms))
    return Counts(to_send, sum(each.jobs for each in sums) - to_send, permanent)


def _added(known: Mapping[str, int], more: Mapping[int, int]) -> dict[str, int]:
    found = dict(known)
    for attempts, jobs in more.items():
        name = str(attempts)
        if name not in found and len(found) >= MOST_LINES:
            name = next(reversed(found))
        found[name] = found.get(name, 0) + jobs
    return found
