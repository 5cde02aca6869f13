"""Which jobs hold deduplication ids."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from redis.exceptions import ResponseError

from queues.actions import HeldId, HeldIds
from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.discovery import STEP, step
from queues.backends.bullmq.faults import refused
from queues.backends.bullmq.keys import META, job_key, key
from queues.backends.bullmq.membership import Membership, read_many
from queues.backends.bullmq.replies import Command, Reply, blob, integer, moment, size
from queues.errors import BadInput
from queues.types import JobRef, QueueRef

MOST_KEYS = 100_000  # looked at in one call
MOST_S = 0.5
MOST_IDS = 200  # found in one call; the last step may bring some more
LONGEST_ID = 2_000  # bytes read of a holder's id
_MISSING = -2  # says PTTL of a key that is gone
_IDLE_STEP = 1_000  # ms in the seconds that OBJECT IDLETIME counts
_CURSOR = re.compile(r"([0-9]{1,20})\.([0-9]{1,15})")
# The string keys of a queue, as `release_deduplication.lua` knows them too.
_NEIGHBOURS = re.compile(rb"\A(?:id|pc|limiter|stalled-check|mirante:.*|de:.*)\Z|:lock\Z", re.DOTALL)
_GLOB = re.compile(rb"([\\*?\[\]^-])")


def holder(connection: Connection, queue: QueueRef, deduplication_id: bytes) -> JobRef | None:
    """The job that stands in `de:<id>` (BullMQ: includes/deduplicateJob), whether or not it is still there."""
    [found] = connection.run([("GET", key(queue, b"de:" + deduplication_id))])
    held = blob(found)
    return JobRef(queue, held) if held else None


def held(connection: Connection, queue: QueueRef, cursor: str) -> HeldIds:
    """The ids that BullMQ keeps no list of: found by a walk over all keys, bounded in keys, ids and time."""
    start = key(queue, b"de:")
    at, looked = _read(cursor)
    total = size(connection.run([("DBSIZE",)], tolerant=True)[0])
    found: dict[bytes, None] = {}
    until, limit = time.monotonic() + MOST_S, looked + MOST_KEYS
    while True:
        at, keys = step(connection.call("SCAN", at, "MATCH", _GLOB.sub(rb"\\\1", start) + b"*", "COUNT", STEP))
        looked += STEP
        found.update(dict.fromkeys(keys))
        if at == b"0" or looked >= limit or len(found) >= MOST_IDS or time.monotonic() > until:
            break
    names = _without_a_neighbours(connection, start, [each[len(start) :] for each in found])
    ids, touches = _ids(connection, queue, names)
    ended = at == b"0"
    return HeldIds(ids, total if ended else min(looked, total), total, touches, None if ended else _write(at, looked))


def _without_a_neighbours(connection: Connection, start: bytes, names: Sequence[bytes]) -> Sequence[bytes]:
    """A queue called `de` under the prefix `<prefix>:<queue>` keeps its counters and locks where our ids are."""
    if not any(map(_NEIGHBOURS.search, names)) or connection.call("TYPE", start + META) != b"hash":
        return names
    return [name for name in names if not _NEIGHBOURS.search(name)]


def _read(cursor: str) -> tuple[bytes, int]:
    if not cursor:
        return b"0", 0
    told = _CURSOR.fullmatch(cursor)
    if told is None or int(told[1]) >= 2**64:
        raise BadInput(_("This is no place to go on from. Begin again."))
    return told[1].encode(), int(told[2])


def _write(at: bytes, looked: int) -> str:
    return f"{at.decode('ascii')}.{looked}"


@dataclass(frozen=True, slots=True)
class _Key:
    id: bytes
    holder: JobRef
    ttl: Reply
    idle: Reply
    follows: bool


def _ids(connection: Connection, queue: QueueRef, names: Sequence[bytes]) -> tuple[list[HeldId], bool]:
    """What stands behind the keys, and whether this reading counts for the server as a touch."""
    keys, touches = _keys(connection, queue, names)
    places = read_many(connection, [each.holder for each in keys])
    times = connection.run([("HGET", job_key(each.holder), "timestamp") for each in keys])
    told = zip(keys, places, times, strict=True)
    return [_held(each, place, added) for each, place, added in told], touches


def _keys(connection: Connection, queue: QueueRef, names: Sequence[bytes]) -> tuple[list[_Key], bool]:
    if not names:
        return [], False
    # Reading would make an id look as if it had just been asked for. Servers before 7.2 know no way around that.
    commands: list[Command] = [("CLIENT", "NO-TOUCH", "ON")]
    for name in names:
        each = key(queue, b"de:" + name)
        commands += [("OBJECT", "IDLETIME", each), ("PTTL", each), ("GETRANGE", each, 0, LONGEST_ID)]
        commands.append(("EXISTS", key(queue, b"dn:" + name)))
    commands.append(("CLIENT", "NO-TOUCH", "OFF"))
    quiet, *replies, _off = connection.run(commands, tolerant=True)
    found = []
    for name, idle, ttl, value, follows in zip(names, *(replies[at::4] for at in range(4)), strict=True):
        if isinstance(value, ResponseError) and "WRONGTYPE" not in str(value):
            raise refused(value, ("GETRANGE",), source=connection.source, address=connection.address)
        held = blob(value)
        if held is not None and ttl != _MISSING:
            found.append(_Key(name, JobRef(queue, held), ttl, idle, follows == 1))
    return found, quiet != b"OK"


def _held(found: _Key, place: Membership, added: Reply) -> HeldId:
    left, idle = integer(found.ttl), integer(found.idle)
    return HeldId(
        found.id,
        found.holder,
        state=place.state if place.is_hash else None,
        gone=not place.is_hash,
        unsure=bool(place.unsure),
        ttl_ms=left if left is not None and left >= 0 else None,
        idle_ms=None if idle is None else idle * _IDLE_STEP,
        added_ms=moment(added),
        follows=found.follows,
    )
