"""What replays know of one job, whether it is still there or not: as what they sent, and as what they sent it from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from queues.models import Queue, ReplayJob
from queues.replay.ledger_rows import COLUMNS, Kept, Names, Row
from queues.replay.naming import job_text
from queues.replay.types import Place
from queues.types import JobRef

MOST = 5  # replays of one job that are told, the newest first


@dataclass(frozen=True, slots=True)
class Sent:
    """A replay that sent a job, or sent another one for it."""

    replay: int
    row: Row


def of_job(job: JobRef) -> Sequence[Sent]:
    """The newest replays that sent this job or that it was made by, at most five.

    By two indexes; three queries where there are some, one where there is none. A copy that kept its id in another
    queue is told with its original alone.
    """
    # By a subquery, so that each half begins an index with a plain value.
    queue = Queue.objects.filter(source__name=job.queue.source, slug=job.queue.slug).values("pk")[:1]
    slug = job_text(job.id)
    sent = ReplayJob.objects.filter(place=Place.SENT)
    found = _told(sent.filter(queue=queue, job=slug))
    made = _told(sent.filter(~Q(made=""), target=queue, made=slug))
    rows = list(found.union(made).order_by("-replay_id")[:MOST])
    names = Names("")
    kept = names.rows([Kept._make(row[1:]) for row in rows])
    return [Sent(row[0], told) for row, told in zip(rows, kept, strict=True)]


def _told(rows: QuerySet[ReplayJob]) -> QuerySet[ReplayJob, tuple[int, ...]]:
    return rows.values_list("replay_id", *COLUMNS)
