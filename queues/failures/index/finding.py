"""From jobs and events, as a backend tells them, to failures that can be written."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from queues.events import Event
from queues.failed import FailedJob
from queues.failures.index.alike import Alike
from queues.failures.signature import of
from queues.failures.types import Found, How, Thrown
from queues.names import visible
from queues.quantities import LARGEST

WORKER = 200  # characters of a worker's name


def thrown(job: FailedJob) -> Thrown:
    """What a job says of its failure, in text."""
    told = _begun_by_stack(job) if job.reason_size and not job.reason else job.reason
    reason = None if told is None else told.decode("utf-8", "replace")
    return Thrown(reason, job.stack.decode("utf-8", "replace"), visible(job.name), job.reason_size)


def _begun_by_stack(job: FailedJob) -> bytes:
    """A reason that is too long to be touched: the stack begins with it, behind the class."""
    return job.stack.partition(b": ")[2]


_alike = threading.local()  # each source is indexed by a thread of its own


def found(jobs: Iterable[FailedJob], now_ms: int) -> list[Found]:
    """The failures of jobs that are in a failed set."""
    alike: Alike = _alike.__dict__.setdefault("alike", Alike())
    made = []
    for job in jobs:
        score = max(-LARGEST, min(job.score_ms or 0, LARGEST))
        said = thrown(job)
        worker = visible(job.worker)[:WORKER] if job.worker else ""
        at_ms = max(0, min(score, now_ms))
        made.append(Found(job.id, at_ms, score, said, alike.of(said), How.SET, worker, job.attempts))
    return made


def told(event: Event, now_ms: int) -> Found:
    """The failure that an event tells of, whose job is no longer there. Its signature is by the reason alone."""
    assert event.job is not None
    text = event.text
    said = Thrown(None if text is None else text.value, reason_size=text.size if text else 0)
    return Found(event.job, max(0, min(event.at_ms, now_ms)), event.at_ms, said, of(said), How.EVENT)
