"""Where jobs stand in the lists of those that wait, found by reads that hold the server for a millisecond each."""

from __future__ import annotations

from collections.abc import Collection

from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.keys import LISTS, key
from queues.backends.bullmq.replies import blobs, count
from queues.types import QueueRef, State

WINDOW = 10_000  # entries of one read


def waiting(connection: Connection, queue: QueueRef) -> int:
    """How many entries there are to look through."""
    lengths = connection.run([("LLEN", key(queue, name)) for name in LISTS[State.WAITING]], reading=True)
    return sum(count(length) for length in lengths)


def locate(connection: Connection, queue: QueueRef, ids: Collection[bytes]) -> dict[bytes, bytes]:
    """For each id that is found, its list (`w` or `p`) and how far from the tail it stands: `w1` is taken next.

    From the newest on, since pages show those first; a million entries take about a second. Jobs taken at the tail
    meanwhile make it see some twice, none not at all; those added there may hide some.
    """
    missing, found = set(ids), {}
    for name in LISTS[State.WAITING]:
        [length] = connection.run([("LLEN", key(queue, name))], reading=True)
        left = count(length)
        while left > 0 and missing:
            window = ("LRANGE", key(queue, name), -left, -max(left - WINDOW, 0) - 1)
            [reply] = connection.run([window], reading=True)
            for offset, entry in enumerate(blobs(reply)):
                if entry in missing:
                    missing.discard(entry)
                    found[entry] = b"%b%d" % (name[:1], left - offset)
            left -= WINDOW
    return found


def distance(place: bytes | None) -> tuple[bytes, int]:
    """A place as something to sort by."""
    return (place[:1], int(place[1:])) if place else (b"", 0)
