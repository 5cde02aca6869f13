"""The rows of a plan of what failed again in another one: each job as it is in its failed set now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from queues.actions import BATCH, Target
from queues.models import Failure
from queues.replay.freezing.book import Book
from queues.replay.freezing.items import New
from queues.replay.hands import Hands
from queues.replay.making.again import failed_again
from queues.replay.naming import goes_to, is_exact, job_id
from queues.replay.types import Acts
from queues.types import State


@dataclass(frozen=True, slots=True)
class Known:
    """The newest failure of a job that is there still, as the index knows it. `pk` is its key."""

    pk: int
    score_ms: int


@dataclass(frozen=True, slots=True)
class Again:
    """A page of them: jobs by the queues that they failed again in, with what the index knows of each."""

    jobs: Mapping[int, Sequence[str]]
    known: Mapping[tuple[int, str], Known]
    last: int | None  # key of its last row; None: there is none


def page(replay: int, frozen_ms: int, behind: int) -> Again:
    """At most 1,000 rows behind a key. A query, and one for each queue."""
    rows = failed_again(replay, frozen_ms).filter(pk__gt=behind).order_by("pk")
    found = list(rows.values_list("pk", "acts", "queue_id", "target_id", "job", "made")[:BATCH])
    jobs: defaultdict[int, list[str]] = defaultdict(list)
    for _pk, acts, queue, target, job, made in found:
        jobs[goes_to(acts, queue, target)].append(made or job)
    known = {}
    for queue, among in jobs.items():
        there = Failure.objects.filter(queue=queue, job__in=among, present=True).order_by("score_ms")
        for job, pk, score_ms in there.values_list("job", "pk", "score_ms"):
            known[queue, job] = Known(pk, score_ms)
    return Again(jobs, known, found[-1][0] if found else None)


def rows(run: Hands, book: Book, found: Again, letters: Mapping[int, tuple[int, str]]) -> Sequence[New]:
    """A row for each: the failed job with a letter beside it; else the letter. A call for each queue.

    One that is neither there nor a letter is a row all the same, for looking at it says what became of it. When it
    failed is asked of the server: only that tells this stay in the failed set from the one that was replayed.
    """
    made = []
    for queue, jobs in found.jobs.items():
        scores = _scores(run, book, queue, [job for job in jobs if is_exact(job)])
        for job in jobs:
            known, score_ms = found.known.get((queue, job)), scores.get(job)
            letter_queue, letter = letters.get(known.pk, (None, "")) if known else (None, "")
            if score_ms is None and letter_queue is not None:
                made.append(New(letter_queue, letter, "", State.WAITING.value, Acts.COPY.value, None))
                continue
            beside = known is not None and known.score_ms == score_ms
            told = (letter_queue, letter) if beside else (None, "")
            seen = "" if score_ms is None else str(score_ms)
            made.append(New(queue, job, seen, State.FAILED.value, Acts.RETRY.value, queue, *told))
    return made


def _scores(run: Hands, book: Book, queue: int, jobs: Sequence[str]) -> Mapping[str, int | None]:
    """When those failed that are in the failed set of a queue."""
    if not jobs:
        return {}
    targets = [Target(job_id(job), b"") for job in jobs]
    looked = run.actions.look(book.by_pk(queue).ref, targets, state=State.FAILED)
    return dict(zip(jobs, (each.failed_ms for each in looked), strict=True))
