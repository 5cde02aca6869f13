"""What an action is about, read fresh: a job or a queue, with what a person must know before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from queues import outages
from queues.actions import Action
from queues.backend import Backend
from queues.errors import NotFound
from queues.operations.ability import Ability, ability
from queues.types import Capability, Job, JobRef, QueueInfo, QueueRef, Relative, State

BELOW = 40  # jobs of a family that are looked at before a removal

STARTS = frozenset({Action.RETRY, Action.PROMOTE, Action.REQUEUE, Action.DUPLICATE, Action.ADD, Action.RESUME})


@dataclass(frozen=True, slots=True)
class Below:
    """A job that hangs below another. `locked`: a worker holds it."""

    ref: JobRef
    state: State | None
    locked: bool


@dataclass(frozen=True, slots=True)
class Family:
    """What hangs below a job; `more`: there are others that were not looked at."""

    found: Sequence[Below] = ()
    more: bool = False

    @property
    def locked(self) -> Sequence[Below]:
        return [each for each in self.found if each.locked]


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
        job = reader.job(ref)
        family = _below(reader, job) if action is Action.REMOVE else Family()
        twin = _twin(reader, ref, job) if action is Action.RETRY else None
        return JobSubject(ref, job, _queue(reader, ref.queue, action), family, twin)


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


def _below(reader: Backend, job: Job) -> Family:
    """The children and theirs, breadth first, as many as `BELOW`."""
    found: list[Below] = []
    waiting, seen = list(_children(job)), {job.row.ref}
    more = _hidden(job)
    while waiting and len(found) < BELOW:
        ref = waiting.pop(0)
        if ref in seen:
            continue
        seen.add(ref)
        try:
            child = reader.job(ref)
        except NotFound:
            continue
        state = child.states[0] if child.states else None
        found.append(Below(ref, state, locked=state is State.ACTIVE and child.lock_ttl_ms is not None))
        waiting += _children(child)
        more = more or _hidden(child)
    return Family(found, more=more or bool(waiting))


def _children(job: Job) -> list[JobRef]:
    kin: Sequence[Relative] = (
        *job.family.pending,
        *job.family.processed,
        *job.family.ignored,
        *job.family.failed,
    )
    return [each.ref for each in kin if each.ref and not each.gone]


def _hidden(job: Job) -> bool:
    """Whether a job has more children than were read."""
    kin = job.family
    read = (len(kin.pending), len(kin.processed), len(kin.ignored), len(kin.failed))
    return read != (kin.pending_count, kin.processed_count, kin.ignored_count, kin.failed_count)
