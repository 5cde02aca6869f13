"""What the index of failures adds to pages that are about something else: a list of jobs, a job, the overview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dashboard.queries import JobsQuery
from queues import listing
from queues.attention import Eye
from queues.facts import Why
from queues.failures import of_jobs, tops
from queues.failures.of_jobs import Alike, LetterTold, Told
from queues.failures.standing import Index, Standing, standing
from queues.failures.tops import Top
from queues.types import Job, JobPage, JobRef, JobRow, QueueRef, State

SHOWN = 2  # groups that a line names
LETTERS_LIE_IN = (State.WAITING, State.PRIORITIZED, State.DELAYED)


@dataclass(frozen=True, slots=True)
class Lately:
    """The worst groups of a queue in the last hour, `more` others, and how far that can be trusted."""

    tops: Sequence[Top]
    more: int
    standing: Standing

    @property
    def since_ms(self) -> int | None:
        return self.tops[0].since_ms if self.tops else None

    @property
    def current(self) -> bool:
        """Whether the last hour is the one before now, and whole but for what fails just now."""
        return self.standing.index in (Index.CURRENT, Index.BEHIND)


@dataclass(frozen=True, slots=True)
class Beside:
    """What is known beside a list of jobs. A job that is in neither mapping is not indexed yet.

    `lately` is there beside a list of failed jobs, `letters` where the queue holds letters and shows them, and
    `counted` (letters read, and of these incomplete) wherever it holds letters.
    """

    groups: Mapping[JobRef, Told] = field(default_factory=dict)
    letters: Mapping[JobRef, LetterTold] | None = None
    counted: tuple[int, int] | None = None
    lately: Lately | None = None


def beside(ref: QueueRef, query: JobsQuery, page: JobPage | None, *, dead: bool) -> Beside:
    """Beside a page of jobs; `dead`: the queue holds dead letters. At most five queries."""
    rows = [row for row in page.rows if not row.missing] if page else []
    failed = [row for row in rows if row.state is State.FAILED]
    letters = None
    if dead and not query.together and query.state in LETTERS_LIE_IN:
        letters = of_jobs.of_letters(ref, [row.ref for row in rows])
    shows_failed = query.together or query.state is State.FAILED
    return Beside(
        of_jobs.of_failed(ref, failed) if failed else {},
        letters,
        of_jobs.read_and_incomplete(ref) if dead else None,
        _lately(ref) if shows_failed else None,
    )


def _lately(ref: QueueRef) -> Lately:
    found = tops.lately([ref]).get(ref, ())
    return Lately(found[:SHOWN], max(len(found) - SHOWN, 0), standing(ref.source))


@dataclass(frozen=True, slots=True)
class OfJob:
    """What is known of one job: as a failed one, and as a letter. `index` says why neither may be known."""

    alike: Alike | None
    letter: LetterTold | None
    index: Standing


def of_job(job: Job, *, dead: bool) -> OfJob | None:
    """None for a job that has not failed and is no letter. At most eight queries."""
    row: JobRow = job.row
    failed = State.FAILED in job.states
    if not failed and not dead:
        return None
    queue = row.ref.queue
    letter = of_jobs.of_letters(queue, [row.ref]).get(row.ref) if dead else None
    return OfJob(of_jobs.alike(queue, row) if failed else None, letter, standing(queue.source))


def worst(rows: Sequence[listing.Row], eyes: Sequence[Eye]) -> tuple[Mapping[QueueRef, Top], Mapping[QueueRef, Top]]:
    """Of shown rows and of queues that need eyes, what most letters tell of, and the worst group of what fails fast.

    At most three queries, and none where nothing fails.
    """
    holding = {row.ref for row in rows if row.verdict.holds(Why.LETTERS)}
    holding |= {eye.ref for eye in eyes if any(fact.why is Why.LETTERS for fact in eye.facts)}
    failing = {eye.ref for eye in eyes if any(fact.why is Why.FAILING for fact in eye.facts)}
    letters = tops.of_letters(holding)
    return letters, {ref: found[0] for ref, found in tops.lately(failing).items()}
