"""What the columns of a row name: jobs and stays as in URLs, back to exact bytes, and the queue that it goes to."""

from __future__ import annotations

from queues.actions import Target
from queues.failures.store.ids import kept, linked
from queues.models import ReplayJob
from queues.names import decode_part, encode_part
from queues.replay.types import Acts

NAME = 200  # characters of a job's name, for eyes
SEEN = 50  # characters of what was seen of a job: a score, or the time in its hash


def job_text(job: bytes) -> str:
    """A job's id as `ReplayJob.job` and `made` hold it: its slug; of one that is too long for an index, a digest."""
    return kept(job)


def is_exact(job: str) -> bool:
    """Whether the id is known in full. A job of which it is not is never sent: nobody could name it."""
    return linked(job)


def job_id(job: str) -> bytes:
    """The inverse of `job_text`, for ids that are exact."""
    return decode_part(job, colon=True)


def seen_text(seen: bytes) -> str:
    """`actions.Target.seen` as `ReplayJob.seen` holds it: plain digits stay as they are."""
    return encode_part(seen, colon=True) if seen else ""


def target_of(row: ReplayJob) -> Target:
    """What is acted on. ValueError for a row whose id is not exact."""
    if not is_exact(row.job):
        raise ValueError(row.job)
    return Target(job_id(row.job), decode_part(row.seen, colon=True) if row.seen else b"")


def score_ms(seen: str) -> int | None:
    """The score in ms that was seen of a failed or completed job; None where nothing was, or it is no number."""
    try:
        return int(float(decode_part(seen, colon=True))) if seen else None
    except (ValueError, OverflowError):
        return None


def goes_to(acts: str, queue: int, target: int | None) -> int:
    """The queue, by its key, that a row is sent to: a copy to its target, if it has one."""
    return target if acts == Acts.COPY and target is not None else queue
