"""The event streams of queues: where they stand, what is new in them, and what the jobs in them are called."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from redis.exceptions import ResponseError

from queues.backend import Batch
from queues.backends.bullmq import fields, rows
from queues.backends.bullmq.batches import batch
from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.faults import refused
from queues.backends.bullmq.keys import events_key, job_key
from queues.backends.bullmq.replies import Command, Reply, array, blob, count, integer, strange
from queues.backends.bullmq.scripts import script
from queues.events import Glance, Position
from queues.types import JobRef, QueueRef, State

BATCH = 125  # streams a script
ENTRIES_COPIED = 1024 * 1024  # bytes of entries that a script may copy
ADDED_MOST = 2**53
AGAIN_S = 60.0  # how long a key of another type is left alone
_GLANCED = (b"name", b"atm", b"attemptsMade", b"ats", b"opts", b"processedOn", b"finishedOn")
_CAPS: Mapping[bytes, int] = {name: rows.CAPS[name] for name in _GLANCED}


class Streams:
    """Reads the streams of one server; remembers which of the keys are none.

    For one reader at a time: two at once read right, but may look at types twice.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._odd: Collection[bytes] = frozenset()
        self._again = 0.0

    def entries(self, after: Mapping[QueueRef, str], most: int) -> Sequence[Batch]:
        """One XREAD of all streams, never blocking: 2 µs of the server for each that has something new, 0.2 for others.

        One key of another type would fail it for all. Then a pipeline of TYPE finds which, and those are left
        out for a minute. Entries travel whole: a reason of 1 MB is 1 MB of this process until the batch is dropped.
        """
        if self._odd and time.monotonic() >= self._again:
            self._odd = frozenset()
        wanted = {events_key(queue): (queue, found) for queue, found in after.items()}
        for last in (False, False, True):
            if self._odd:
                wanted = {key: pair for key, pair in wanted.items() if key not in self._odd}
            if not wanted:
                return []
            ids = [found for _queue, found in wanted.values()]
            command: Command = ("XREAD", "COUNT", max(most, 1), "STREAMS", *wanted, *ids)
            [reply] = self._connection.run([command])
            if not isinstance(reply, ResponseError):
                return _batches(wanted, reply)
            if last:
                raise refused(reply, command, source=self._connection.source, address=self._connection.address)
            self._leave_out(list(wanted))
        raise AssertionError("unreachable")

    def _leave_out(self, keys: Sequence[bytes]) -> None:
        types = self._connection.run([("TYPE", key) for key in keys])
        odd = {key for key, kind in zip(keys, types, strict=True) if kind not in (b"stream", b"none")}
        self._odd = frozenset((*self._odd, *odd))
        self._again = time.monotonic() + AGAIN_S


def positions(connection: Connection, queues: Sequence[QueueRef]) -> Mapping[QueueRef, Position]:
    """Where each stream stands, in one call for every 125.

    XINFO STREAM (Redis 5) copies the first and the last entry within the server: 6 to 8 µs a stream of plain
    entries, 3 ms (Valkey) to 13 ms (Redis 7) where both are of 1 MB. So a call ends after 1 MB of them, and
    another goes on. `entries-added` exists since Redis 7.
    """
    found: dict[QueueRef, Position] = {}
    done = 0
    while group := queues[done : done + BATCH]:
        reply = connection.call(*script("positions").call([events_key(queue) for queue in group], ENTRIES_COPIED))
        if not 0 < len(told := array(reply)) <= len(group):
            raise strange()
        for queue, row in zip(group, told, strict=False):
            if row is not None:
                found[queue] = _position(row)
        done += len(told)
    return found


def glances(connection: Connection, jobs: Sequence[JobRef]) -> Mapping[JobRef, Glance]:
    """Small fields of jobs, in one call for every 100, and a short one for each name or options of over 1 or 4 KB."""
    hashes = fields.read(connection, [job_key(job) for job in jobs], _CAPS) if jobs else []
    return {job: _glance(job, each) for job, each in zip(jobs, hashes, strict=True) if not (each.missing or each.other)}


def server_ms(connection: Connection) -> int:
    """The server's clock, by TIME."""
    seconds, micros = (integer(part) for part in array(connection.call("TIME"), 2))
    if seconds is None or micros is None:
        raise strange()
    return seconds * 1000 + micros // 1000


def _batches(wanted: Mapping[bytes, tuple[QueueRef, str]], reply: Reply) -> Sequence[Batch]:
    if reply is None:
        return []
    pairs = [array(pair, 2) for pair in array(reply)]
    try:
        return [batch(wanted[blob(key) or b""][0], entries) for key, entries in pairs]
    except KeyError:
        raise strange() from None


def _position(row: Reply) -> Position:
    if row == 0:
        return Position("0-0", 0, added=0, exists=False)
    length, last, added, first = array(row, 4)
    return Position(_id(last) or "0-0", count(length), added=_added(added), first_id=_id(first))


def _added(reply: Reply) -> int | None:
    """XSETID sets it to anything: what nobody can have counted says as little as none."""
    added = integer(reply)
    return added if added is not None and 0 <= added <= ADDED_MOST else None


def _id(reply: Reply) -> str:
    return (blob(reply) or b"").decode("ascii", "replace")


def _glance(ref: JobRef, found: fields.Hash) -> Glance:
    """Read as a row is, so that a feed and a list say the same."""
    row = rows.row(ref, State.ACTIVE, found)
    return Glance(
        name=row.name,
        attempts_made=row.attempts_made,
        attempts_started=row.attempts_started,
        attempts_max=row.attempts_max,
        processed_ms=row.processed_ms,
        finished_ms=row.finished_ms,
    )
