"""The nouns of writing: what can be done to jobs and queues, to which of them, and what came of it.

What a backend does with them stands in `queues.backend.Actions`; who may, in the web; what is kept of it, in
`queues.audit`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from queues.types import JobRef, State

BELOW = 1_000  # jobs of one tree that can go together
BATCH = 1_000  # targets of one call; scripts take fewer when these are slow
PRIORITY_MAX = 2_097_152  # the largest that BullMQ's scores have room for
LAST_RUN_MS = 2**41  # in 2039: a later moment does not fit into the score of a delayed job


class Action(StrEnum):
    """What can be done, in the words of URLs, the audit log and the API."""

    # to jobs
    RETRY = "retry"
    PROMOTE = "promote"
    DELAY = "delay"
    PRIORITY = "priority"
    EDIT = "edit"
    REMOVE = "remove"
    REMOVE_CHILDREN = "remove-children"  # the unprocessed ones
    DUPLICATE = "duplicate"
    LOG = "log"
    FAIL = "fail"  # an active job without a lock
    REQUEUE = "requeue"  # the same, back to where jobs wait
    RESTORE = "restore"  # a removed one, as a new job
    # to a queue
    ADD = "add"
    PAUSE = "pause"
    RESUME = "resume"
    CONCURRENCY = "concurrency"
    RATE_LIMIT = "rate-limit"
    RELEASE_LIMIT = "release-limit"
    RELEASE_DEDUPLICATION = "release-deduplication"
    DRAIN = "drain"
    CLEAN = "clean"
    OBLITERATE = "obliterate"
    TRIM_EVENTS = "trim-events"


MOVES = frozenset({Action.RETRY, Action.PROMOTE, Action.REQUEUE})  # after which a job waits
# In which states an action makes sense; those that are missing here do in most.
STATES: Mapping[Action, frozenset[State]] = {
    Action.RETRY: frozenset({State.FAILED, State.COMPLETED}),
    Action.PROMOTE: frozenset({State.DELAYED}),
    Action.DELAY: frozenset({State.DELAYED}),
    Action.PRIORITY: frozenset({State.WAITING, State.PRIORITIZED, State.DELAYED}),
    Action.FAIL: frozenset({State.ACTIVE}),
    Action.REQUEUE: frozenset({State.ACTIVE}),
}


class Outcome(StrEnum):
    """What an action came to for one job (or for the queue)."""

    DONE = "done"
    ALREADY = "already"  # it was so before: nothing was changed
    GONE = "gone"  # no hash, or in no list any more
    WRONG_STATE = "wrong-state"  # in another state than the one acted on, or there again since it was looked at
    LOCKED = "locked"  # a worker holds it
    SCHEDULED = "scheduled"  # the next run of a scheduler
    CHILDREN = "children"  # children that have not ended hang on it
    CHANGED = "changed"  # somebody else changed it meanwhile
    UNSUPPORTED = "unsupported"  # this job or queue cannot; the result says why


@dataclass(frozen=True, slots=True)
class Target:
    """A job to act on, as it was seen.

    `seen` tells this stay of the job in its state from a later one, so that nothing is done twice, however often it
    is asked for: in a sorted set its score as stored, in a list the `timestamp` of the job. Empty: whichever stay.
    """

    id: bytes
    seen: bytes = b""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of acting on one job. `why` is a sentence for the user where the outcome alone does not tell."""

    id: bytes
    outcome: Outcome
    state: State | None = None  # where the job is instead, or has gone to
    lock_ms: int | None = None  # locked: for so many more ms, unless the worker renews it
    why: str = ""
    made: bytes = b""  # the id of a job that came of it
    removed: int = 0  # jobs that went with it (children)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an action that goes over a whole queue or state.

    `cursor` begins the next step; it is opaque, and None where the end is reached. A step may be repeated: what it
    did is not done again.
    """

    done: int
    kept: Mapping[Outcome, int] = field(default_factory=dict)  # jobs that were left, by the reason
    exceptions: Sequence[Result] = ()  # some of those, at most 100
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Members:
    """Some jobs of one state, for acting on them. `cursor` as in `Step`; `scanned` counts all that were looked at."""

    targets: Sequence[Target]
    scanned: int
    cursor: str | None = None


class Clock(StrEnum):
    """From when on the age of a job is counted."""

    FINISHED = "finished"  # completed and failed
    CREATED = "created"  # waiting, prioritized, waiting for children, delayed
    DUE = "due"  # delayed: how long it is overdue


CLOCKS: Mapping[State, Sequence[Clock]] = {
    State.COMPLETED: (Clock.FINISHED, Clock.CREATED),
    State.FAILED: (Clock.FINISHED, Clock.CREATED),
    State.DELAYED: (Clock.DUE, Clock.CREATED),
    State.WAITING: (Clock.CREATED,),
    State.PRIORITIZED: (Clock.CREATED,),
    State.WAITING_CHILDREN: (Clock.CREATED,),
}


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be added, as exact bytes. `opts` is a JSON object as BullMQ stores it (`fpof`, `kl` and so on)."""

    name: bytes
    data: bytes  # any JSON value
    opts: bytes = b"{}"
    id: bytes = b""  # empty: the next number


@dataclass(frozen=True, slots=True)
class Below:
    """A job that hangs below another in a flow, in whichever queue."""

    job: JobRef
    ended: bool  # what waits for it was told of its end
    locked: bool  # a worker holds it
    state: State | None = None  # of the first 40 or so; None: in no list, or not looked at


@dataclass(frozen=True, slots=True)
class Stored:
    """A copy of a job: the exact fields of its hash, and its log lines."""

    fields: Mapping[bytes, bytes]
    logs: Sequence[bytes] = ()


@dataclass(frozen=True, slots=True)
class HeldId:
    """A deduplication id that stands in the keys, as far as short looks tell.

    `state` is None where the holder was found in no list; with `unsure` some were too long to be looked through.
    `idle_ms` is for how long nobody asked for the id, None where the server does not say. `follows`: a further job
    waits for the holder to end.
    """

    id: bytes
    holder: JobRef
    state: State | None
    gone: bool
    unsure: bool
    ttl_ms: int | None  # None: until it is given back
    idle_ms: int | None
    added_ms: int | None  # when the holder was added
    follows: bool = False

    @property
    def over(self) -> bool:
        """Whether its holder has ended, is gone, or is in no list: then it may be released."""
        return self.gone or self.state in (State.COMPLETED, State.FAILED) or (self.state is None and not self.unsure)

    @property
    def stale(self) -> bool:
        """Whether nothing will ever give it back: all jobs that are added with it are dropped."""
        return self.over and self.ttl_ms is None


@dataclass(frozen=True, slots=True)
class HeldIds:
    """Deduplication ids that a look found. `looked` counts keys since the first look, of about `total` on the server.

    `cursor` begins the next look; it is None where all were looked at. `touches`: looking counts as asking for an id.
    """

    ids: Sequence[HeldId]
    looked: int
    total: int
    touches: bool
    cursor: str | None
