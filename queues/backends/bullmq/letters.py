"""Jobs that lie in a queue of letters: those that wait or are parked, prioritized or delayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _

from queues.backends.bullmq import cursoring, cursors, thrown
from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.keys import MARKER, key
from queues.backends.bullmq.replies import Reply, array, blob, blobs, count, items
from queues.backends.bullmq.scripts import script
from queues.errors import BadInput, Unsupported
from queues.failed import FailedJob, IdPage, LettersMark
from queues.types import QueueRef

BATCH = 250  # queues a script
IDS = 5_000  # ids of a page
LISTS, RANKED = (b"wait", b"paused"), (b"prioritized", b"delayed")  # where letters lie
_END = 1 + len(RANKED)  # of the phases of a walk: the lists read as one, then each sorted set


def marks(connection: Connection, queues: Sequence[QueueRef]) -> Mapping[QueueRef, LettersMark]:
    """One script for every 250 queues, some 10 µs of the server for each."""
    found: dict[QueueRef, LettersMark] = {}
    for first in range(0, len(queues), BATCH):
        group = queues[first : first + BATCH]
        keys = [key(queue, suffix) for queue in group for suffix in LISTS + RANKED]
        rows = array(connection.call(*script("letters").call(keys)), len(group))
        found.update((queue, _mark(row)) for queue, row in zip(group, rows, strict=True))
    return found


def ids(connection: Connection, queue: QueueRef, *, cursor: str, most: int) -> IdPage:
    """At most 5,000 ids; one script for each of the places where letters lie.

    A place in a list is a number counted from its tail: while jobs leave it a walk may miss some and meet others
    twice. Who compares walks again then; the token of `marks` tells.
    """
    phase, number, places = _begin(cursor) if cursor else (0, 0, ())
    wanted = max(1, min(most, IDS))
    found: dict[bytes, int] = {}
    further: str | None = cursoring.pack(phase, number, *places)
    while further is not None and len(found) < wanted:
        phase, number, places = cursoring.unpack(further)
        if phase == 0:
            told, further = _listed(connection, queue, number, wanted - len(found))
        else:
            told, further = _ranked(connection, queue, phase, places, wanted - len(found))
        found.update((id_, 0) for id_ in told if not id_.startswith(MARKER))
    return IdPage(found, further)


def read(connection: Connection, queue: QueueRef, wanted: Sequence[bytes]) -> Mapping[bytes, FailedJob]:
    """Letters by their ids, with their data; those whose hash is gone are left out."""
    found = thrown.read(connection, queue, wanted, ranked=False)
    return thrown.with_data(connection, queue, {id_: job for id_, job in found.items() if not job.missing})


def _begin(cursor: str) -> tuple[int, int, Sequence[bytes]]:
    phase, number, places = cursoring.unpack(cursor)
    sound = len(places) == (2 if places else 0) and all(cursors.is_score(score) for score in places[:1])
    if phase >= _END or number >= 2**53 or not sound:
        raise BadInput(_("This is not where one of our walks has stopped."))
    return phase, number, places


def _listed(connection: Connection, queue: QueueRef, number: int, most: int) -> tuple[Sequence[bytes], str]:
    keys = [key(queue, suffix) for suffix in LISTS]
    lengths, _markers, ids = array(connection.call(*script("lpage").call(keys, "tail", number, most)), 3)
    if any(length is None for length in items(lengths)):
        raise _unreadable()
    told = blobs(ids)
    reached = number + len(told)
    more = told and reached < sum(count(length) for length in items(lengths))
    return told, cursoring.pack(0, reached) if more else cursoring.pack(1, 0)


def _ranked(
    connection: Connection, queue: QueueRef, phase: int, places: Sequence[bytes], most: int
) -> tuple[Sequence[bytes], str | None]:
    score, id_ = places or (b"", b"")
    command = script("zpage").call([key(queue, RANKED[phase - 1])], "up", most, score, id_, 1)
    part = items(array(connection.call(*command), 1)[0])
    if not part:
        raise _unreadable()
    length, other, told = array(part, 3)
    pairs = blobs(told)
    if pairs and count(length) - count(other) > len(pairs) // 2:
        return pairs[::2], cursoring.pack(phase, 0, pairs[-1], pairs[-2])
    return pairs[::2], cursoring.pack(phase + 1, 0) if phase + 1 < _END else None


def _mark(row: Reply) -> LettersMark:
    if row is None:
        return LettersMark(0, readable=False)
    number, token = array(row, 2)
    return LettersMark(count(number), (blob(token) or b"").decode("ascii", "replace"))


def _unreadable() -> Unsupported:
    return Unsupported(_("The jobs of this queue cannot be read: one of their keys has another type."))
