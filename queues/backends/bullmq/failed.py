"""Failed jobs for the index: where the sets stand, pages of them, and single ones.

A page is two steps: ids and scores from one script (`zpage`), then what their jobs say (`thrown`), each job once more
compared with its score: one that was retried between the two has left, and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _

from queues.backends.bullmq import cursors, thrown
from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.cursors import Anchor, Cursor
from queues.backends.bullmq.keys import key
from queues.backends.bullmq.replies import Reply, array, blob, blobs, count, items
from queues.backends.bullmq.scripts import script
from queues.errors import Unsupported
from queues.failed import PAGE, FailedJob, FailedMark, FailedPage, IdPage
from queues.quantities import LARGEST
from queues.types import QueueRef

BATCH = 250  # queues a script
IDS = 5_000  # ids of a page without their jobs
ID_BYTES = 1_500  # of the newest job's id in a mark


def marks(connection: Connection, queues: Sequence[QueueRef]) -> Mapping[QueueRef, FailedMark]:
    """One script for every 250 queues, about 1 µs of the server for each."""
    found: dict[QueueRef, FailedMark] = {}
    for first in range(0, len(queues), BATCH):
        group = queues[first : first + BATCH]
        keys = [key(queue, b"failed") for queue in group]
        reply = connection.call(*script("marks").call(keys, ID_BYTES))
        rows = zip(group, array(reply, len(group)), strict=True)
        found.update((queue, _mark(row)) for queue, row in rows)
    return found


def page(connection: Connection, queue: QueueRef, *, cursor: str, newest_first: bool, most: int) -> FailedPage:
    """One script for the ids, and one for every 100 jobs; further ones where they hold more than 1 MB together.

    A page of large jobs is shorter: it may end before `most`, and goes on behind its cursor.
    """
    scores, further = _walk(connection, queue, cursor, "down" if newest_first else "up", max(1, min(most, PAGE)))
    found, number = thrown.beginning(connection, queue, list(scores))
    told = list(scores.items())[:number]
    if number < len(scores):
        further = cursors.encode(Cursor(Anchor(told[-1][1], told[-1][0], 1)))
    jobs = [job for id_, score in told if (job := found.get(id_)) and job.score_ms == thrown.score_ms(score)]
    return FailedPage(jobs, further)


def at(score_ms: int, job: bytes) -> str:
    """The cursor right behind this score and id; the least and largest numbers stand for all that is beyond them."""
    bounded = b"inf" if score_ms >= LARGEST else b"-inf" if score_ms <= thrown.SMALLEST else b"%d" % score_ms
    return cursors.encode(Cursor(Anchor(bounded, job, 1)))


def ids(connection: Connection, queue: QueueRef, *, cursor: str, most: int) -> IdPage:
    """One script, at most 5,000 ids."""
    scores, further = _walk(connection, queue, cursor, "up", max(1, min(most, IDS)))
    return IdPage({id_: thrown.score_ms(score) for id_, score in scores.items()}, further)


def jobs(connection: Connection, queue: QueueRef, wanted: Sequence[bytes], *, data: bool) -> Mapping[bytes, FailedJob]:
    """One script for every 100 jobs, and one more for the data where it is asked for."""
    found = thrown.read(connection, queue, wanted, ranked=True)
    return thrown.with_data(connection, queue, found) if data else found


def _walk(
    connection: Connection, queue: QueueRef, cursor: str, direction: str, most: int
) -> tuple[dict[bytes, bytes], str | None]:
    """Ids with their scores behind a cursor in order, and where to go on."""
    place = cursors.decode(cursor, ranked=True).at if cursor else None
    anchor = place if isinstance(place, Anchor) else Anchor(b"", b"", 1)
    command = script("zpage").call([key(queue, b"failed")], direction, most, anchor.score, anchor.id, 1)
    part = items(array(connection.call(*command), 1)[0])
    if not part:
        raise Unsupported(_("The failed jobs of this queue cannot be read: their key has another type."))
    length, other, told = array(part, 3)
    pairs = blobs(told)
    members, scores = pairs[::2], pairs[1::2]
    if direction == "down":
        members, scores = members[::-1], scores[::-1]
    more = members and count(length) - count(other) > len(members)
    further = cursors.encode(Cursor(Anchor(scores[-1], members[-1], 1))) if more else None
    return dict(zip(members, scores, strict=True)), further


def _mark(row: Reply) -> FailedMark:
    if row is None:
        return FailedMark(0, readable=False)
    number, *rest = array(row)
    if not rest:
        return FailedMark(count(number))
    low, high, newest = (blob(part) or b"" for part in rest)
    return FailedMark(count(number), thrown.score_ms(low), thrown.score_ms(high), newest)
