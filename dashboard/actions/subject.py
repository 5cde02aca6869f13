"""What an action is about, read fresh: a job or a queue, with what a person must know before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from queues import outages
from queues.actions import BELOW, Action
from queues.backend import Backend
from queues.errors import NotFound
from queues.operations.ability import Ability, ability, below
from queues.types import Capability, Job, JobRef, QueueInfo, QueueRef, Relative, State

NAMED = 40  # jobs of a family that are named before a removal, besides those that workers hold

STARTS = frozenset({Action.RETRY, Action.PROMOTE, Action.REQUEUE, Action.DUPLICATE, Action.ADD, Action.RESUME})


@dataclass(frozen=True, slots=True)
class Below:
    """A job that hangs below another. `locked`: a worker holds it."""

    ref: JobRef
    state: State | None
    locked: bool


@dataclass(frozen=True, slots=True)
class Family:
    """What hangs below a job: how many jobs, also by queue, and all that workers hold.

    `named` are those and some of the others. With `more`, which is more than can go together, nobody counted: `count`
    is the least, and `named` are children of the job itself.
    """

    count: int = 0
    queues: Mapping[QueueRef, int] = field(default_factory=dict)
    locked: Sequence[Below] = ()
    named: Sequence[Below] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class QueueSubject:
    """A queue as it is now. `workers` is None where nobody knows."""

    ref: QueueRef
    info: QueueInfo
    can: Ability
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class JobSubject:
    """A job as it is now, and its queue. `twin` is another job that holds its deduplication id and has not ended."""

    ref: JobRef
    job: Job
    queue: QueueSubject
    family: Family = Family()
    twin: Below | None = None

    @property
    def state(self) -> State | None:
        return self.job.states[0] if self.job.states else None


def of_queue(ref: QueueRef, action: Action) -> QueueSubject:
    """A queue for a question about it. NotFound, Unreachable."""
    with outages.watched(ref.source) as reader:
        return _queue(reader, ref, action)


def of_job(ref: JobRef, action: Action) -> JobSubject:
    """A job for a question about it. NotFound, Unreachable."""
    with outages.watched(ref.queue.source) as reader:
        job, queue = reader.job(ref), _queue(reader, ref.queue, action)
        family = _family(job) if action is Action.REMOVE and not queue.can.why_not(action) else Family()
        twin = _twin(reader, ref, job) if action is Action.RETRY else None
        return JobSubject(ref, job, queue, family, twin)


def _queue(reader: Backend, ref: QueueRef, action: Action) -> QueueSubject:
    info = reader.queue(ref)
    held = None
    if action in STARTS and Capability.WORKERS in reader.capabilities:
        held = reader.workers().of(ref)
    return QueueSubject(ref, info, ability(ref), None if held is None else len(held))


def _twin(reader: Backend, ref: JobRef, job: Job) -> Below | None:
    if not job.deduplication_id:
        return None
    holder = reader.holder(ref.queue, job.deduplication_id)
    if holder is None or holder == ref:
        return None
    try:
        other = reader.job(holder)
    except NotFound:
        return None
    state = other.states[0] if other.states else None
    ended = state in (State.COMPLETED, State.FAILED) or state is None
    return None if ended else Below(holder, state, locked=other.lock_ttl_ms is not None)


def _family(job: Job) -> Family:
    """One script, where the job has any children."""
    kin = job.family
    if not (kin.pending_count or kin.processed_count or kin.ignored_count or kin.failed_count):
        return Family()
    found = below(job.row.ref)
    if found is None:
        return Family(BELOW, named=_children(job)[:NAMED], more=True)
    all_ = [Below(each.job, each.state, locked=each.locked) for each in found]
    locked = [each for each in all_ if each.locked]
    others = [each for each in all_ if not each.locked]
    queues = Counter(each.ref.queue for each in all_)
    return Family(len(all_), queues, locked, [*locked, *others[:NAMED]])


def _children(job: Job) -> list[Below]:
    kin: Sequence[Relative] = (
        *job.family.pending,
        *job.family.processed,
        *job.family.ignored,
        *job.family.failed,
    )
    return [Below(each.ref, each.state, locked=False) for each in kin if each.ref and not each.gone]
