"""How BullMQ names its keys: `<prefix>:<queue>:<suffix>`, and the way back from a key to a queue or a job."""

from __future__ import annotations

from functools import lru_cache

from queues.types import JobRef, QueueRef, State

# Sorted sets whose members are job ids, with the suffix of each state (BullMQ 4 to 6, classes/queue-keys).
ZSETS = {
    State.PRIORITIZED: b"prioritized",
    State.DELAYED: b"delayed",
    State.WAITING_CHILDREN: b"waiting-children",
    State.COMPLETED: b"completed",
    State.FAILED: b"failed",
}
# Lists whose members are job ids, newest list first: jobs are pushed to the head and taken from the tail.
LISTS = {State.WAITING: (b"wait", b"paused"), State.ACTIVE: (b"active",)}

META = b"meta"
MARKER = b"0:"  # what 4.x leaves in lists to wake its workers begins with this; no job id does


def base(queue: QueueRef) -> bytes:
    """What every key of the queue begins with, the last colon included."""
    return b"%b:%b:" % (queue.prefix, queue.name)


def key(queue: QueueRef, suffix: bytes) -> bytes:
    return base(queue) + suffix


@lru_cache(maxsize=20_000)
def events_key(queue: QueueRef) -> bytes:
    """The stream of what happens in the queue; asked for several times a second."""
    return key(queue, b"events")


def job_key(job: JobRef) -> bytes:
    return base(job.queue) + job.id


def queue_of_meta(source: str, found: bytes) -> QueueRef | None:
    """The queue whose `meta` key this would be. Names hold no colon, prefixes may: the last two colons decide."""
    head, _, suffix = found.rpartition(b":")
    prefix, colon, name = head.rpartition(b":")
    if suffix != META or not colon or not prefix or not name:
        return None
    return QueueRef(source, prefix, name)


def job_of_key(source: str, found: bytes, *, near: QueueRef) -> JobRef | None:
    """The job whose hash this key names, judged from the queue in whose flow it stands.

    An id may hold colons (exactly two of them, or as `repeat:<scheduler>:<ms>`), and so may a prefix.
    Flows rarely cross prefixes, so the prefix of `near` is tried first.
    """
    own = near.prefix + b":"
    if found.startswith(own):
        name, colon, job_id = found[len(own) :].partition(b":")
        if colon and name and _may_be_id(job_id):
            return JobRef(QueueRef(source, near.prefix, name), job_id)
    head, colon, job_id = found.rpartition(b":")
    prefix, second, name = head.rpartition(b":")
    if not (colon and second and prefix and name and job_id):
        return None
    return JobRef(QueueRef(source, prefix, name), job_id)


def _may_be_id(job_id: bytes) -> bool:
    return bool(job_id) and (job_id.count(b":") in (0, 2) or job_id.startswith(b"repeat:"))
