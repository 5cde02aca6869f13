"""What the index of failures knows of jobs that stand on a page: of failed ones, and of letters.

A job that is in no answer is one that the index has not read yet. That it belonged to no group is never said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, Sum

from queues.failures.about.whole import job_of
from queues.failures.types import Kind, Life
from queues.models import Failure, FailureGroup, FailureStrand, Letter
from queues.types import JobRef, JobRow, QueueRef

MOST = 200  # jobs that are asked for at once
RE_READ = "?"  # what is unmapped in a letter that is to be read anew


@dataclass(frozen=True, slots=True)
class Told:
    """The group that a failure is in. `kind` is by hand (`by_hand`) or by `rule`, "" where none matched."""

    slug: str
    title: str
    kind: Kind
    life: Life
    rule: str = ""
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class LetterTold:
    """The failure of which a letter tells.

    `queue` is where the job failed and `job` which one it was, None where the letter does not say. `unmapped` names
    the parts that were not found in it.
    """

    told: Told
    queue: QueueRef | None
    job: JobRef | None
    at_ms: int
    unmapped: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Alike:
    """A failure among those like it, by all of its group: `h1` failed in the last hour, `present` are there."""

    told: Told
    first_ms: int
    last_ms: int
    total: int
    h1: int
    present: int
    letters: Sequence[JobRef] = ()


_GROUP = ("slug", "title", "kind_set", "life", "merged_into__slug", "merged_into__title")
_TOLD = ("strand__kind", "strand__rule", *(f"strand__group__{name}" for name in _GROUP))


def of_failed(queue: QueueRef, rows: Sequence[JobRow]) -> Mapping[JobRef, Told]:
    """The groups of at most 200 failed jobs of a queue, each by the time at which it failed. One query."""
    scores = {row.ref.slug: (row.ref, score_of(row)) for row in rows[:MOST]}
    found: dict[JobRef, tuple[int, Told]] = {}
    for job, score, told in _failures(queue, scores):
        ref, wanted = scores[job]
        # The same job failed before: what is known of that time says nothing of this one.
        if wanted in (None, score) and (ref not in found or score > found[ref][0]):
            found[ref] = (score, told)
    return {ref: told for ref, (_score, told) in found.items()}


def of_letters(queue: QueueRef, jobs: Sequence[JobRef]) -> Mapping[JobRef, LetterTold]:
    """What at most 200 letters of a queue tell. One query."""
    asked = {job.slug: job for job in jobs[:MOST]}
    rows = Letter.objects.filter(queue__source__name=queue.source, queue__slug=queue.slug, job__in=list(asked))
    names = ("failure__queue__slug", "failure__job", "failure__at_ms", *(f"failure__{name}" for name in _TOLD))
    found = {}
    for job, unmapped, slug, origin, at_ms, *told in rows.values_list("job", "unmapped", *names):
        found[asked[job]] = _letter(queue, unmapped, (slug, origin, at_ms), _told(told))
    return found


def alike(queue: QueueRef, row: JobRow) -> Alike | None:
    """A failed job among those like it; None: the index has not read it yet. Four queries."""
    told = of_failed(queue, [row]).get(row.ref)
    group = FailureGroup.objects.filter(slug=told.slug).first() if told else None
    if told is None or group is None:
        return None
    counted = FailureStrand.objects.filter(group=group)
    h1, present = counted.aggregate(h1=Sum("h1", default=0), present=Sum("present", default=0)).values()
    letters = list(_letters_of(queue, row))
    return Alike(told, group.first_ms, group.last_ms, group.total, h1, present, letters)


def read_and_incomplete(queue: QueueRef) -> tuple[int, int]:
    """How many letters of a queue the index has read, and of how many some part was not found. One query."""
    rows = Letter.objects.filter(queue__source__name=queue.source, queue__slug=queue.slug).exclude(unmapped=RE_READ)
    counted = rows.aggregate(read=Count("pk"), lacking=Count("pk", filter=~Q(unmapped="")))
    return counted["read"], counted["lacking"]


def score_of(row: JobRow) -> int | None:
    """When a failed job failed by the failed set, in ms; None where the row does not say."""
    try:
        return int(float(row.seen))
    except (ValueError, OverflowError):
        return row.finished_ms


def _failures(queue: QueueRef, jobs: Collection[str]) -> Iterable[tuple[str, int, Told]]:
    rows = Failure.objects.filter(queue__source__name=queue.source, queue__slug=queue.slug, job__in=list(jobs))
    for job, score, *told in rows.values_list("job", "score_ms", *_TOLD):
        yield job, score, _told(told)


def _letters_of(queue: QueueRef, row: JobRow) -> Iterable[JobRef]:
    """The letters that tell of this failure."""
    failures = Failure.objects.filter(queue__source__name=queue.source, queue__slug=queue.slug, job=row.ref.slug)
    score = score_of(row)
    failures = failures if score is None else failures.filter(score_ms=score)
    rows = Letter.objects.filter(failure__in=failures).order_by("-at_ms").values_list("queue__slug", "job")
    for slug, job in rows[:10]:
        if letter := job_of(QueueRef.from_slug(queue.source, slug), job):
            yield letter


def _letter(queue: QueueRef, unmapped: str, origin: tuple[str, str, int], told: Told) -> LetterTold:
    """Where a letter does not say of which queue or job it tells, the index keeps its own in their place."""
    slug, job, at_ms = origin
    missing = [part for part in unmapped.split(",") if part and part != RE_READ]
    where = None if slug == queue.slug else QueueRef.from_slug(queue.source, slug)
    which = None if where is None or "job" in missing else job_of(where, job)
    return LetterTold(told, where, which, at_ms, missing)


def _told(row: Sequence[str | None]) -> Told:
    """A group that was merged a moment ago is called by the one that it is part of now."""
    kind, rule, slug, title, by_hand, life, into, into_title = (value or "" for value in row)
    return Told(
        slug=into or slug,
        title=into_title if into else title,
        kind=Kind.of(by_hand or kind),
        life=Life(life) if life in set(Life) else Life.OPEN,
        rule="" if by_hand else rule,
        by_hand=bool(by_hand),
    )
