"""Depths, oldest waiting job and limits of many queues at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.keys import base
from queues.backends.bullmq.replies import Reply, blob, blobs, count, integer, items, moment
from queues.backends.bullmq.scripts import script
from queues.names import visible
from queues.types import Counts, Oldest, QueueRef, State

BATCH = 250  # queues a call: the script stays below 10 ms
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
_NO_META: list[Reply] = [None] * 5
_OTHERS = (State.ACTIVE, State.PRIORITIZED, State.DELAYED, State.WAITING_CHILDREN, State.COMPLETED, State.FAILED)


def read(connection: Connection, queues: Sequence[QueueRef]) -> Mapping[QueueRef, Counts]:
    """Counts of the queues, in two calls for every 250 of them (BullMQ 4.18 to 6.7: scripts/getCounts)."""
    counts: dict[QueueRef, Counts] = {}
    for batch in batches(queues, BATCH):
        [reply] = connection.run([script("counts").call([key for queue in batch for key in keys_of(queue)])])
        rows = items(reply)
        ages = _ages(connection, batch, rows)
        for queue, row, stamps in zip(batch, rows, ages, strict=True):
            counts[queue] = parse(items(row), stamps)
    return counts


def batches(queues: Sequence[QueueRef], size: int) -> Iterator[Sequence[QueueRef]]:
    for first in range(0, len(queues), size):
        yield queues[first : first + size]


@lru_cache(maxsize=20_000)
def keys_of(queue: QueueRef) -> tuple[bytes, ...]:
    start = base(queue)
    return tuple(start + suffix for suffix in SUFFIXES)


def _ages(connection: Connection, batch: Sequence[QueueRef], rows: list[Reply]) -> list[list[int | None]]:
    """For each queue when the jobs at the ends of its waiting collections were created, None where unknown."""
    ends = [items(items(row)[3]) for row in rows]
    wanted = [base(queue) + job for queue, row in zip(batch, ends, strict=True) for job in blobs(row)]
    stamps = iter(items(connection.run([script("timestamps").call(wanted)])[0]) if wanted else [])
    return [[moment(next(stamps)) if isinstance(job, bytes) else None for job in row] for row in ends]


def parse(row: list[Reply], stamps: Sequence[int | None]) -> Counts:
    exists, depths, markers, _, meta = row
    wait, paused_list, *others = items(depths)
    wait_markers, paused_markers, active_markers = map(count, items(markers))
    by_state = {state: depth for state, depth in zip(_OTHERS, others, strict=True) if isinstance(depth, int)}
    if active_markers and State.ACTIVE in by_state:
        by_state[State.ACTIVE] -= active_markers
    in_wait, parked_list = max(count(wait) - wait_markers, 0), max(count(paused_list) - paused_markers, 0)
    if wait is not None and paused_list is not None:
        by_state[State.WAITING] = in_wait + parked_list
    paused, version, concurrency, rate_max, duration = items(meta) or _NO_META
    told = visible(blob(version) or b"")
    return Counts(
        by_state=by_state,
        paused=paused is not None,
        parked=parked_list if parked_list and (paused is None or major(told) == 6) else 0,
        oldest=_oldest(stamps, by_state, both=bool(parked_list and in_wait)),
        version=told,
        concurrency=integer(concurrency),
        rate_max=integer(rate_max),
        rate_duration_ms=integer(duration),
        exists=bool(exists),
    )


def major(version: str) -> int | None:
    """The major of a `meta.version` such as "bullmq:6.7.0"; None for another product's or none."""
    product, _, number = version.partition(":")
    first = number.partition(".")[0]
    return int(first) if product == "bullmq" and first.isdecimal() and len(first) < 4 else None


def _oldest(stamps: Sequence[int | None], by_state: Mapping[State, int], *, both: bool) -> Oldest | None:
    """The oldest of the jobs at the ends. Their order hides older ones where it is not that of creation."""
    known = [stamp for stamp in stamps if stamp is not None]
    if not known:
        return None
    wait_tail, wait_head, paused_tail, paused_head = stamps[:4]
    lifo = _older(wait_head, wait_tail) or _older(paused_head, paused_tail)
    return Oldest(min(known), at_least=both or lifo or bool(by_state.get(State.PRIORITIZED)))


def _older(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one < other
