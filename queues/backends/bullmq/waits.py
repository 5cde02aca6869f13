"""Whether jobs that wait for their children wait in vain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.keys import job_key
from queues.backends.bullmq.replies import Command, Reply, blobs, count, items
from queues.types import JobRef, Waits

SAMPLE = 20  # children of one job that are looked at
TOGETHER = 1_000  # commands in one pipeline
_FIELDS = ("timestamp", "name", "finishedOn")  # the last is there exactly while a job has ended


def read(connection: Connection, jobs: Sequence[JobRef]) -> Mapping[JobRef, Waits]:
    """By some of the children that each still waits for: one that completed is none of those any more."""
    keys = [job_key(job) + b":dependencies" for job in jobs]
    replies = connection.run([each for key in keys for each in (("SCARD", key), ("SRANDMEMBER", key, SAMPLE))])
    pending = {job: blobs(found) for job, found in zip(jobs, replies[1::2], strict=True)}
    ended = dict(_looked(connection, list(dict.fromkeys(key for each in pending.values() for key in each))))
    return {
        job: Waits(count(number), len(pending[job]), sum(ended[key] for key in pending[job]))
        for job, number in zip(jobs, replies[::2], strict=True)
    }


def _looked(connection: Connection, children: Sequence[bytes]) -> Iterator[tuple[bytes, bool]]:
    for start in range(0, len(children), TOGETHER):
        part = children[start : start + TOGETHER]
        commands: list[Command] = [("HMGET", key, *_FIELDS) for key in part]
        for key, reply in zip(part, connection.run(commands), strict=True):
            yield key, _over(reply)


def _over(reply: Reply) -> bool:
    """Ended, or gone. What is no hash, nobody knows."""
    found = items(reply)
    return bool(found) and (found[-1] is not None or not any(part is not None for part in found))
