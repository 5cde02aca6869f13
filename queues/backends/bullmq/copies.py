"""What is read for acting: which jobs are meant, what hangs on them, and copies of those that will go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _

from queues.actions import BATCH, BELOW, Below, Members, Stored, Target
from queues.backends.bullmq import fields
from queues.backends.bullmq.cursoring import pack, unpack
from queues.backends.bullmq.fields import Hash
from queues.backends.bullmq.keys import LISTS, ZSETS, base, key
from queues.backends.bullmq.replies import array, blob, blobs, count, integer
from queues.backends.bullmq.writer import STATES, Writer
from queues.errors import BadInput, LimitExceeded
from queues.types import JobRef, QueueRef, State

_CAPS = {b"timestamp": 32, b"name": 1024}
_FINISHED = (State.COMPLETED, State.FAILED)
_SIZED = 100  # jobs whose size one script tells
_FETCHED = 1024 * 1024  # bytes that are fetched at a time


def members(
    writer: Writer, queue: QueueRef, state: State, *, cursor: str, until_ms: int, name: str, most: int
) -> Members:
    """See `queues.backend.Actions.members`. One short script, and one for each 100 jobs whose fields have to be read.

    Since when a job has been in a state is known of finished ones only; of others it is when they were made.
    """
    if not 1 <= most <= BATCH:
        raise LimitExceeded(_("At most %(limit)d jobs can be looked at at once.") % {"limit": BATCH})
    if state in ZSETS:
        return _of_set(writer, queue, state, cursor=cursor, until_ms=until_ms, name=name, most=most)
    return _of_list(writer, queue, state, cursor=cursor, until_ms=until_ms, name=name, most=most)


def stored(writer: Writer, queue: QueueRef, ids: Sequence[bytes], *, most: int) -> Mapping[bytes, Stored]:
    """See `queues.backend.Actions.stored`. Sizes by one script for each 100 jobs, then plain reads, about 1 MB each."""
    wanted, left = [], most
    for job_id, size in _sizes(writer, queue, list(dict.fromkeys(ids))):
        if size <= left:
            wanted.append((job_id, size))
            left -= size
    found: dict[bytes, Stored] = {}
    while wanted:
        part = _portion(wanted)
        wanted = wanted[len(part) :]
        found |= _copies(writer, queue, part)
    return _within(found, most)


def below(writer: Writer, job: JobRef) -> list[Below]:
    """See `queues.backend.Actions.below`. One script."""
    reply = writer.asked("below", job.queue, job.id)
    if reply is None:
        raise LimitExceeded(_("More than %(limit)d jobs hang below this one.") % {"limit": BELOW})
    return [_below(job.queue.source, array(row, 5)) for row in array(reply)]


def _below(source: str, row: Sequence[object]) -> Below:
    start, job_id, ended, locked, where = row
    prefix, _colon, name = (start if isinstance(start, bytes) else b"").removesuffix(b":").rpartition(b":")
    ref = JobRef(QueueRef(source, prefix, name), job_id if isinstance(job_id, bytes) else b"")
    state = STATES.get(where.decode("ascii", errors="replace")) if isinstance(where, bytes) else None
    return Below(ref, ended=ended == 1, locked=locked != -1, state=state)


def _of_set(
    writer: Writer, queue: QueueRef, state: State, *, cursor: str, until_ms: int, name: str, most: int
) -> Members:
    _phase, _number, behind = unpack(cursor) if cursor else (0, 0, ())
    score, job_id = behind or (b"", b"")
    highest = until_ms if state in _FINISHED else "+inf"
    reply = writer.asked("members_set", queue, ZSETS[state], score, job_id, most, highest)
    flat, ended = array(reply, 2)
    found = blobs(flat)
    pairs = list(zip(found[::2], found[1::2], strict=True))
    hashes = _hashes(writer, queue, [one for one, _score in pairs]) if name or state not in _FINISHED else []
    targets = [
        Target(one, at)
        for number, (one, at) in enumerate(pairs)
        if not hashes or _meant(hashes[number], name, None if state in _FINISHED else until_ms)
    ]
    following = pack(0, 0, pairs[-1][1], pairs[-1][0]) if pairs else cursor
    return Members(targets, len(pairs), None if ended == 1 else following)


def _of_list(
    writer: Writer, queue: QueueRef, state: State, *, cursor: str, until_ms: int, name: str, most: int
) -> Members:
    at, left, marks = unpack(cursor) if cursor else (0, 0, ())
    lists = LISTS[state]
    if at >= len(lists) or len(marks) > 1:
        raise BadInput(_("This is not where one of our walks has stopped."))
    place = (left, marks[0]) if marks else ("", b"")
    reply = writer.asked("members_list", queue, lists[at], *place, most)
    ids, now_left, next_id = array(reply, 3)
    found, following = blobs(ids), blob(next_id) or b""
    hashes = _hashes(writer, queue, found)
    targets = [
        Target(one, fields_.whole(b"timestamp") or b"")
        for one, fields_ in zip(found, hashes, strict=True)
        if _meant(fields_, name, until_ms)
    ]
    end = None if at + 1 == len(lists) else pack(at + 1, 0)
    return Members(targets, len(found), pack(at, count(now_left), following) if following else end)


def _hashes(writer: Writer, queue: QueueRef, ids: Sequence[bytes]) -> list[Hash]:
    start = base(queue)
    return fields.read(writer.connection, [start + one for one in ids], _CAPS)


def _meant(found: Hash, name: str, until_ms: int | None) -> bool:
    """Whether a job has this name and was there; what tells no age was."""
    if name:
        raw = found.get(b"name")
        if raw is None or name.casefold() not in raw.raw.decode("utf-8", errors="replace").casefold():
            return False
    made = integer(found.whole(b"timestamp"))
    return until_ms is None or made is None or made < until_ms


def _sizes(writer: Writer, queue: QueueRef, ids: Sequence[bytes]) -> list[tuple[bytes, int]]:
    sizes: list[tuple[bytes, int]] = []
    for first in range(0, len(ids), _SIZED):
        part = ids[first : first + _SIZED]
        reply = writer.asked("sizes", queue, *part)
        told = zip(part, array(reply, len(part)), strict=True)
        sizes += [(one, size) for one, size in told if isinstance(size, int)]
    return sizes


def _portion(wanted: Sequence[tuple[bytes, int]]) -> list[bytes]:
    part: list[bytes] = []
    total = 0
    for one, size in wanted[:_SIZED]:
        if part and total + size > _FETCHED:
            break
        part.append(one)
        total += size
    return part


def _copies(writer: Writer, queue: QueueRef, ids: Sequence[bytes]) -> dict[bytes, Stored]:
    keys = [key(queue, one) for one in ids]
    commands = [command for one in keys for command in (("HGETALL", one), ("LRANGE", one + b":logs", 0, -1))]
    replies = writer.connection.run(commands, reading=True)
    found: dict[bytes, Stored] = {}
    for one, table, lines in zip(ids, replies[::2], replies[1::2], strict=True):
        flat = blobs(table)
        if flat and len(flat) % 2 == 0:
            found[one] = Stored(dict(zip(flat[::2], flat[1::2], strict=True)), blobs(lines))
    return found


def _within(found: Mapping[bytes, Stored], most: int) -> dict[bytes, Stored]:
    """Those that fit; a job may have grown since its size was told."""
    kept: dict[bytes, Stored] = {}
    for one, copy in found.items():
        size = sum(len(part) for pair in copy.fields.items() for part in pair) + sum(map(len, copy.logs))
        if size <= most:
            kept[one] = copy
            most -= size
    return kept
