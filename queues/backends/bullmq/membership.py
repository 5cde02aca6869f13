"""In which state a job is, judged from the collections that hold its id and never from its fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.keys import ZSETS, base, job_key
from queues.backends.bullmq.replies import Command, Reply, array, blob
from queues.backends.bullmq.scripts import script
from queues.types import JobRef, State

# Entries looked at from each end of a list. LPOS over 50,000 takes about a millisecond.
BOUND = 50_000
BOUND_OF_MANY = 5_000
FEW = 10

_LISTS = (State.ACTIVE, State.WAITING, State.WAITING)
_SUFFIXES = (*ZSETS.values(), b"active", b"wait", b"paused")


@dataclass(frozen=True, slots=True)
class Membership:
    """Where a job's id stands. `unsure` = lists too long to look through; `kind` = what its key is."""

    kind: bytes
    states: tuple[State, ...]
    unsure: tuple[State, ...]
    score: bytes | None = None  # in the set of its state; None where that is a list

    @property
    def is_hash(self) -> bool:
        return self.kind == b"hash"

    @property
    def state(self) -> State | None:
        return self.states[0] if self.states else None


def command(job: JobRef, *, bound: int) -> Command:
    """The call that tells the membership of one job. BullMQ 4 to 6: scripts/getStateV2, but bounded."""
    start = base(job.queue)
    keys = [*(start + suffix for suffix in _SUFFIXES), job_key(job)]
    return script("states").call(keys, job.id, bound)


def parse(reply: Reply) -> Membership:
    kind, *told = array(reply, 3)
    scores, lists = array(told[0], len(ZSETS)), array(told[1], len(_LISTS))
    in_sets = {state: blob(score) for state, score in zip(ZSETS, scores, strict=True) if score is not None}
    in_lists = {state for state, answer in zip(_LISTS, lists, strict=True) if answer == 1}
    unsure = {state for state, answer in zip(_LISTS, lists, strict=True) if answer == -1}
    states = tuple(state for state in State if state in in_sets or state in in_lists)
    return Membership(
        kind=blob(kind) or b"",
        states=states,
        unsure=tuple(state for state in State if state in unsure - in_lists),
        score=in_sets.get(states[0]) if states else None,
    )


def read_many(connection: Connection, jobs: Sequence[JobRef]) -> list[Membership]:
    """The membership of many jobs in one pipeline. Of a long list it looks at 5,000 entries from each end only."""
    bound = BOUND if len(jobs) <= FEW else BOUND_OF_MANY
    return [parse(reply) for reply in connection.run([command(job, bound=bound) for job in jobs])]


def judged(found: Membership, *, locked: bool) -> tuple[State | None, bool]:
    """The state to show, and whether it is only inferred because lists are too long to look through."""
    if found.state or not found.unsure:
        return found.state, False
    return (State.ACTIVE if locked or State.WAITING not in found.unsure else State.WAITING), True
