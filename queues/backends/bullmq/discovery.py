"""Finding queues in the key space, for the background only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.faults import cluster_text
from queues.backends.bullmq.keys import key, queue_of_meta
from queues.backends.bullmq.replies import Reply, array, blob, blobs, integer, items, size, strange
from queues.backends.bullmq.scripts import script
from queues.errors import Unsupported
from queues.types import QueueRef

STEP = 1000  # keys that one SCAN looks at


def walk(connection: Connection, prefixes: Sequence[str]) -> Iterator[tuple[int, Sequence[QueueRef]]]:
    """Walk the whole key space in steps of 1,000 keys; after each (keys seen so far, queues found in it).

    Each hit of `*:meta` is confirmed by its content or its neighbours, because a job may be called
    `meta` and other programs use the word. Unsupported on a cluster, where one node knows only a part.
    """
    total = _key_count(connection)
    wanted = {prefix.encode() for prefix in prefixes}
    seen: set[QueueRef] = set()
    cursor: bytes | int = 0
    walked = 0
    while True:
        cursor, keys = step(connection.call("SCAN", cursor, "MATCH", "*:meta", "COUNT", STEP))
        hits = {queue_of_meta(connection.source, found) for found in keys}
        fresh = [hit for hit in hits if hit and hit not in seen and (not wanted or hit.prefix in wanted)]
        found = _confirmed(connection, fresh)
        seen.update(found)
        walked = min(walked + STEP, total)
        if cursor == b"0":
            yield total, found
            return
        yield walked, found


def probe(connection: Connection) -> None:
    """Whether queues could be read if there were any: what is refused is raised. Two round trips."""
    scanned, counted = connection.run([("SCAN", 0, "COUNT", 1), script("counts").call([])])
    step(scanned)
    array(counted, 0)
    _key_count(connection)


def step(reply: Reply) -> tuple[bytes, list[bytes]]:
    """Where a SCAN goes on, and the keys that it found."""
    cursor, keys = array(reply, 2)
    if not isinstance(cursor, bytes) or not cursor.isdigit():
        raise strange()
    return cursor, blobs(array(keys))


def _key_count(connection: Connection) -> int:
    info, keys = connection.run([("INFO", "server"), ("DBSIZE",)], tolerant=True)
    # Redis calls it `redis_mode`, Valkey 9 `server_mode`.
    if b"_mode:cluster" in (blob(info) or b""):
        raise Unsupported(cluster_text(connection.address))
    return size(keys)


def _confirmed(connection: Connection, queues: Sequence[QueueRef]) -> list[QueueRef]:
    """Those that are queues: by what BullMQ writes into meta, else by its stream of events or its job counter."""
    commands = [
        command
        for queue in queues
        for command in (
            ("HMGET", key(queue, b"meta"), "version", "opts.maxLenEvents"),
            ("TYPE", key(queue, b"events")),
            ("HEXISTS", key(queue, b"meta"), "timestamp"),
            ("GETRANGE", key(queue, b"id"), 0, 24),
        )
    ]
    replies = connection.run(commands)
    return [queue for number, queue in enumerate(queues) if _is_queue(*replies[4 * number : 4 * number + 4])]


def _is_queue(meta: Reply, events: Reply, looks_like_a_job: Reply, counter: Reply) -> bool:
    version, *limits = items(meta) or [None]
    if not items(meta):
        return False  # not a hash
    if (blob(version) or b"").startswith(b"bullmq") or any(integer(limit) is not None for limit in limits):
        return True
    return events == b"stream" or (looks_like_a_job == 0 and integer(counter) is not None)
