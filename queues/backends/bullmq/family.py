"""A job's parent and children, and the state of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from queues.backends.bullmq import membership
from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.fields import Field, Hash
from queues.backends.bullmq.keys import job_key, job_of_key
from queues.backends.bullmq.replies import Command, Reply, array, blob, blobs, count, items, size
from queues.backends.bullmq.scripts import script
from queues.names import visible
from queues.text import text
from queues.types import Family, JobRef, Relative, State, Text

MOST = 100  # children of each kind that are shown
OUTCOME = 2048  # bytes read of a child's value or reason


def commands(job: JobRef) -> list[Command]:
    """What to ask about the children of a job; `read` reads the replies."""
    start = job_key(job)
    pending, processed, ignored, failed = (
        start + suffix for suffix in (b":dependencies", b":processed", b":failed", b":unsuccessful")
    )
    return [
        ("SCARD", pending),
        ("SRANDMEMBER", pending, MOST),  # a step of SSCAN may give none of a set that was large once
        script("hash").call([processed], MOST, OUTCOME),
        script("hash").call([ignored], MOST, OUTCOME),
        ("ZCARD", failed),
        ("ZRANGE", failed, 0, MOST - 1),
    ]


@dataclass(frozen=True, slots=True)
class _Kin:
    key: bytes
    ref: JobRef | None
    outcome: Text | None = None


def read(connection: Connection, job: JobRef, found: Hash, replies: Sequence[Reply]) -> Family:
    """The family from the replies to `commands`, with the states of its members: one pipeline."""
    pending_count, pending, processed, ignored, failed_count, failed = replies
    kin = {
        "parent": _parents(job, found),
        "pending": [_kin(job, child) for child in sorted(blobs(pending))],
        "processed": _with_outcomes(job, processed),
        "ignored": _with_outcomes(job, ignored),
        "failed": [_kin(job, child) for child in blobs(failed)],
    }
    relatives = _looked_up(connection, kin)
    return Family(
        parent=next(iter(relatives["parent"]), None),
        pending=relatives["pending"],
        processed=relatives["processed"],
        ignored=relatives["ignored"],
        failed=relatives["failed"],
        pending_count=size(pending_count),
        processed_count=_size(processed),
        ignored_count=_size(ignored),
        failed_count=size(failed_count),
    )


def _looked_up(connection: Connection, kin: Mapping[str, Sequence[_Kin]]) -> dict[str, list[Relative]]:
    refs = list(dict.fromkeys(one.ref for group in kin.values() for one in group if one.ref))
    known = dict(zip(refs, membership.read_many(connection, refs), strict=True))
    return {name: [_relative(one, known) for one in group] for name, group in kin.items()}


def _relative(one: _Kin, known: Mapping[JobRef, membership.Membership]) -> Relative:
    found = known[one.ref] if one.ref else None
    state: State | None = found.state if found else None
    gone = found is not None and not found.is_hash
    return Relative(one.ref, visible(one.key), None if gone else state, one.outcome, gone)


def _parents(job: JobRef, found: Hash) -> list[_Kin]:
    key = found.whole(b"parentKey")
    return [_kin(job, key)] if key else []


def _kin(job: JobRef, key: bytes, outcome: Text | None = None) -> _Kin:
    return _Kin(key, job_of_key(job.queue.source, key, near=job.queue), outcome)


def _with_outcomes(job: JobRef, reply: Reply) -> list[_Kin]:
    return [_kin(job, name, text(value.raw, size=value.size)) for name, value in rows_of(reply).items()]


def _size(reply: Reply) -> int:
    parts = items(reply)
    return count(parts[1]) if len(parts) == 3 else 0


def rows_of(reply: Reply) -> dict[bytes, Field]:
    """The fields that the script `hash` gave back."""
    rows = array(array(reply, 3)[2])
    return {
        blob(name) or b"": Field(blob(value) or b"", count(size))
        for name, size, value in zip(rows[::3], rows[1::3], rows[2::3], strict=True)
    }
