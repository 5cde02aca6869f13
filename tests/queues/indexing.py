"""What tests of the failure index share: failed jobs as BullMQ writes them, and an index whose steps a test takes."""

# mypy: allow-untyped-calls

from __future__ import annotations

import json
from collections.abc import Mapping

import redis

from queues.events import Event, EventKind
from queues.failures.desk import Desk
from queues.failures.index import SourceIndexer
from queues.failures.index.source import POLL_S
from queues.failures.index.term import Reader
from queues.failures.store.ids import id_of
from queues.models import Failure, FailureGroup, FailureStrand, IndexedQueue, Indexing
from queues.quantities import now_ms
from queues.registry import dedicated
from queues.types import QueueRef, Text

REASONS = ("connect ECONNREFUSED 10.0.0.12:5432", "card declined", "missing field total")


def key(ref: QueueRef, suffix: str | int) -> bytes:
    return b":".join((ref.prefix, ref.name, str(suffix).encode()))


def fail(
    client: redis.Redis, ref: QueueRef, *jobs: int | str, at: int | None = None, reason: str = "", **fields: str
) -> None:
    """Jobs that failed at the same moment, or one after the other a ms apart up to now."""
    now = now_ms()
    pipe = client.pipeline(transaction=False)
    for number, job in enumerate(jobs):
        score = now - len(jobs) + number if at is None else at
        said = reason or REASONS[number % len(REASONS)]
        stack = f"Error: {said}\n    at charge (/app/src/charge.js:{10 + number % 3}:5)"
        told: dict[str, str | int] = {
            "name": "charge", "data": json.dumps({"order": number}), "opts": "{}", "timestamp": score - 50,
            "failedReason": said, "stacktrace": json.dumps([stack]), "finishedOn": score, "atm": 3, **fields,
        }  # fmt: skip
        pipe.hset(key(ref, job), mapping=told)  # type: ignore[arg-type]  # dict is invariant in its keys
        pipe.zadd(key(ref, "failed"), {str(job): score})
    pipe.execute()


def retry(client: redis.Redis, ref: QueueRef, *jobs: int | str) -> None:
    for job in jobs:
        client.zrem(key(ref, "failed"), str(job))
        client.lpush(key(ref, "wait"), str(job))


def remove(client: redis.Redis, ref: QueueRef, *jobs: int | str) -> None:
    client.zrem(key(ref, "failed"), *map(str, jobs))
    client.delete(*(key(ref, job) for job in jobs))


def failed_event(ref: QueueRef, job: str, at_ms: int, reason: str = "card declined") -> Event:
    text = Text(reason, len(reason))
    return Event(ref, f"{at_ms}-0", EventKind.FAILED, job.encode(), text)


def indexer(desk: Desk | None = None, *, epoch: int | None = 1, source: str = "main") -> SourceIndexer:
    desk = desk or Desk(source)
    desk.epoch = epoch
    reader = dedicated(source)
    assert isinstance(reader, Reader)
    return SourceIndexer(source, reader, desk)


def settle(one: SourceIndexer, *, steps: int = 200) -> None:
    """Look at everything, and work until nothing is left to do."""
    for _again in range(3):  # the second of two looks has a queue compared whose numbers differ; the first may scan
        one.due_now()
        while one.step() < POLL_S:
            steps -= 1
            assert steps > 0, "there is always more to do"


def compare_all(one: SourceIndexer) -> None:
    """As if ten minutes had passed since each queue was compared."""
    for track in one.tracks.values():
        track.due_at = 0.0
    settle(one)


def on_server(client: redis.Redis, ref: QueueRef) -> Mapping[bytes, int]:
    pairs: list[tuple[bytes, float]] = client.zrange(key(ref, "failed"), 0, -1, withscores=True)  # type: ignore[assignment]
    return {job: int(score) for job, score in pairs}


def in_index(ref: QueueRef) -> Mapping[bytes, int]:
    rows = Failure.objects.filter(queue__slug=ref.slug, in_set=True)
    found = list(rows.values_list("job", "score_ms"))
    assert len(dict(found)) == len(found), "a job is in the set once"
    return {id_of(job): score for job, score in found}


def equal(client: redis.Redis, *refs: QueueRef) -> bool:
    for ref in refs:
        ours, theirs = in_index(ref), on_server(client, ref)
        assert sorted(ours.items() - theirs.items()) == [], f"not there any more: {ref.label}"
        assert sorted(theirs.items() - ours.items()) == [], f"not read: {ref.label}"
    return True


def sums_agree() -> bool:
    """Every count is the number of its failures: nothing was counted twice, nothing left out."""
    for strand in FailureStrand.objects.all():
        assert strand.total == strand.failures.count()
        assert strand.present == strand.failures.filter(present=True).count()
        assert sum(hour.count for hour in strand.hours.all()) == strand.total
    for group in FailureGroup.objects.all():
        assert group.total == sum(strand.total for strand in group.strands.all())
    return True


def progress(ref: QueueRef) -> IndexedQueue:
    return IndexedQueue.objects.get(queue__slug=ref.slug)


def state() -> Indexing:
    return Indexing.objects.get()
