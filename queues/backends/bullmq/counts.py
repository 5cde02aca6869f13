"""Depths, oldest waiting job and limits of many queues at once."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, cast

from queues.backends.bullmq import discovery
from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.keys import base
from queues.backends.bullmq.replies import Reply, array, blob, integer, items, strange
from queues.backends.bullmq.scripts import script
from queues.names import visible
from queues.types import Counts, Oldest, QueueRef, State

YOUNG_MS = 60_000  # a job created later is believed to have waited ever since: most are, and a closer look costs
BATCH = 125  # queues a call: a script takes 3 to 6 ms of the server
SUFFIXES = (
    b"wait",
    b"paused",
    b"active",
    b"prioritized",
    b"delayed",
    b"waiting-children",
    b"completed",
    b"failed",
    b"meta",
)
# The order in which the script gives them.
_STATES = (
    State.WAITING,
    State.PRIORITIZED,
    State.ACTIVE,
    State.DELAYED,
    State.WAITING_CHILDREN,
    State.COMPLETED,
    State.FAILED,
)
_ENDS = 10  # where the ids at the ends of what waits begin in a row


class _Ages(NamedTuple):
    """When the jobs at the ends were created, None where unknown; since when one of them waits (`Oldest.since_ms`)."""

    created: Sequence[int | None] = ()
    since: int | None = None


def read(connection: Connection, queues: Sequence[QueueRef]) -> Mapping[QueueRef, Counts]:
    """Counts of the queues, in two calls for every 125 of them (BullMQ 4.18 to 6.7: scripts/getCounts).

    For none it asks whether the server would let us read any, so that “no queues” is never said of one that refuses.
    """
    counts: dict[QueueRef, Counts] = {}
    if not queues:
        discovery.probe(connection)
    for first in range(0, len(queues), BATCH):
        batch = queues[first : first + BATCH]
        [reply] = connection.run([script("counts").call([key for queue in batch for key in keys_of(queue)])])
        rows = [_row(row) for row in array(reply, len(batch))]
        ages = _ages(connection, batch, rows)
        for queue, row, each in zip(batch, rows, ages, strict=True):
            counts[queue] = _parse(row, each)
    return counts


def _row(reply: Reply) -> list[Reply]:
    if not isinstance(reply, list) or len(reply) not in (_ENDS, _ENDS + 5):
        raise strange()
    return reply


@lru_cache(maxsize=20_000)
def keys_of(queue: QueueRef) -> tuple[bytes, ...]:
    start = base(queue)
    return tuple(start + suffix for suffix in SUFFIXES)


def _ages(connection: Connection, batch: Sequence[QueueRef], rows: Sequence[list[Reply]]) -> list[_Ages]:
    """How old the jobs at the ends of each queue's waiting collections are."""
    ends = [cast(list[bytes | None], row[_ENDS:]) for row in rows]
    jobs = [[base(queue) + job for job in row if job is not None] for queue, row in zip(batch, ends, strict=True)]
    keys = [key for row in jobs for job in row for key in (job, job + b":processed")]
    if not keys:
        return [_Ages()] * len(rows)
    young = time.time_ns() // 1_000_000 - YOUNG_MS
    [reply] = connection.run([script("ages").call(keys, young, *(2 * len(row) for row in jobs))])
    told = array(reply, 2)
    created = cast(list[int | None], array(told[0], len(keys) // 2))
    since = cast(list[int | None], array(told[1], len(rows)))
    stamps = iter(created)
    return [
        _Ages([None if job is None else next(stamps) for job in row], whole)
        for row, whole in zip(ends, since, strict=True)
    ]


def _parse(row: list[Reply], ages: _Ages) -> Counts:
    # The script gives whole numbers or nothing here; this runs a thousand times for an overview.
    depths = cast(list[int | None], row[1:8])
    by_state = {state: depth for state, depth in zip(_STATES, depths, strict=True) if depth is not None}
    parked = cast(int, row[8])
    oldest = _oldest(ages, by_state, parked) if ages.created else None
    if row[9] is None:
        return Counts(by_state, paused=False, parked=parked, oldest=oldest, exists=row[0] == 1)
    paused, version_field, *limits = items(row[9])
    version = _version(blob(version_field) or b"")
    concurrency, rate_max, rate_duration = (None if limit is None else integer(limit) for limit in limits)
    return Counts(
        by_state,
        paused=paused is not None,
        parked=parked if parked and (paused is None or major(version) == 6) else 0,
        oldest=oldest,
        version=version,
        concurrency=concurrency,
        rate_max=rate_max,
        rate_duration_ms=rate_duration,
    )


@lru_cache(maxsize=1000)
def _version(raw: bytes) -> str:
    return visible(raw)


@lru_cache(maxsize=1000)
def major(version: str) -> int | None:
    """The major of a `meta.version` such as "bullmq:6.7.0"; None for another product's or none."""
    product, _, number = version.partition(":")
    first = number.partition(".")[0]
    return int(first) if product == "bullmq" and first.isdecimal() and len(first) < 4 else None


def _oldest(ages: _Ages, by_state: Mapping[State, int], parked: int) -> Oldest | None:
    """The oldest of the jobs at the ends. Their order hides older ones where it is not that of creation."""
    known = [stamp for stamp in ages.created if stamp is not None]
    if not known:
        return None
    wait_tail, wait_head, parked_tail, parked_head = ages.created[:4]
    both = 0 < parked < by_state.get(State.WAITING, 0)
    lifo = _older(wait_head, wait_tail) or _older(parked_head, parked_tail)
    return Oldest(min(known), both or lifo or bool(by_state.get(State.PRIORITIZED)), ages.since)


def _older(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one < other
