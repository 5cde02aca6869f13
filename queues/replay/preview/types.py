"""The nouns of a preview. None is always unknown; `..._ms` are milliseconds since 1970."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from queues.models import FailureGroup, ReplayJob
from queues.replay.types import Choice
from queues.sendings import Conflict
from queues.types import JobRef, QueueRef


@dataclass(frozen=True, slots=True)
class Sight:
    """A job of the set. `note` belongs to its conflict; both are for eyes, not escaped."""

    row: ReplayJob
    job: JobRef | None  # None: its id is too long to be kept, or it is no id
    note: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A conflict that was found, and what the plan does about it. One possible choice: nothing can be chosen."""

    conflict: Conflict
    number: int
    choice: Choice
    possible: Sequence[Choice]
    examples: Sequence[Sight]  # at most 3


@dataclass(frozen=True, slots=True)
class Effect:
    """What the plan's fastest pace means for what runs in a queue besides it.

    `finished_per_min`: completed and failed lately. `limit_per_min` is the queue's rate limit, `left_per_min` what is
    left of it. `longer_s`: how much longer a live job would wait at most.
    """

    finished_per_min: float | None = None
    limit_per_min: float | None = None
    left_per_min: float | None = None
    longer_s: float | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A queue that jobs go to, as it was last read (`read_at`; None: it never was, then nothing is known of it).

    `workers` None: not known. `too_old`: BullMQ 4 works on it, and cannot be sent the copies.
    """

    queue: QueueRef
    jobs: int  # that go there after choices
    copies: int = 0  # of these, as new jobs
    workers: int | None = None
    paused: bool | None = None
    rate_max: int | None = None
    rate_duration_ms: int | None = None
    backlog: int | None = None
    oldest_ms: int | None = None  # since when the oldest waiting job has been due
    version: str = ""
    too_old: bool = False
    read_at: datetime | None = None
    effect: Effect = Effect()
    over_min: int = 0  # minutes of which `effect.finished_per_min` is the mean


@dataclass(frozen=True, slots=True)
class Share:
    """A group of failures, and how many jobs of the set failed by it. `group` None: of no group that is known."""

    group: FailureGroup | None
    number: int


@dataclass(frozen=True, slots=True)
class Class:
    """How many of those that could be sent are of the permanent class."""

    permanent: int
    of: int


@dataclass(frozen=True, slots=True)
class Further:
    """So many jobs get so many attempts more before they fail for good."""

    attempts: int
    jobs: int


@dataclass(frozen=True, slots=True)
class Keys:
    """What stands at the path of an order by key: so many different values in `jobs` jobs, and nothing in `without`.

    `sampled`: of some jobs only, as they are now; else of all that could be sent, as they were read.
    """

    values: int
    jobs: int
    without: int
    sampled: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    """A plan as it would be carried out by some terms."""

    number: int  # of jobs in the set
    to_send: int  # after choices
    left_out: int
    oldest_ms: int | None  # when the first of them was added
    newest_ms: int | None
    first_failed_ms: int | None
    last_failed_ms: int | None
    sample: Sequence[Sight]  # the first to go, at most 5
    varied: Sequence[Sight]  # of an edited plan: some of each name and queue, at most 10
    keys: Keys | None  # None: there is no order by key, or nobody has read for it
    targets: Sequence[Target]  # at most 50, those with most jobs first
    more_targets: int
    conflicts: Sequence[Found]
    permanent: Class
    groups: Sequence[Share]  # at most 10, the largest first
    more_groups: int
    kept: Sequence[Further]  # where attempts are kept, at most 10 lines; what is not known is left out
    reset: Sequence[Further]  # where they are reset
    duration_s: float | None  # None: it cannot be told (unthrottled)
    later: int | None
    looked_at: datetime | None
    looked_ago_s: float | None
    letters: int  # of those to send, that are letters or have one beside them
    overtaken: int | None = 0  # values of the key: an earlier job is left out, a later one sent; None: not counted
    copies: int = 0  # of those to send, that go as new jobs by the way that freezing found
