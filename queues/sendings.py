"""Sending jobs again, each exactly once: the nouns, and what a backend with `Capability.REPLAYS` can do.

Each sending leaves a receipt on the server in the same script: a key of ours beside the queue's own, which expires.
Who is interrupted asks for the same again, and is told what had been done. See `queues.replay`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from queues.actions import NewJob, Outcome, Result, Target
from queues.types import QueueRef, State

RECEIPT_DAYS = 7  # that a receipt is kept, unless it is dropped before


class Fate(StrEnum):
    """What became of a job that was sent. NONE: it has not ended as far as is known."""

    NONE = ""
    WAITING = "waiting"
    RUNNING = "running"
    RETRYING = "retrying"  # an attempt failed, another follows
    COMPLETED = "completed"
    FAILED = "failed"  # for good
    GONE = "gone"  # removed before it ended; of a backend's answer: it is nowhere
    UNKNOWN = "unknown"  # it has ended or was removed, and the events that would tell which were lost


class Conflict(StrEnum):
    """What was found about a job when the set was looked at, or when it was to be sent. NONE: nothing."""

    NONE = ""
    LEFT = "left"  # no longer in the state it was frozen in, or there again since
    GONE = "gone"  # its hash is gone
    TWIN = "twin"  # a newer job that has not ended holds its deduplication id
    ID_KEPT = "id-kept"  # the target still has a job of this id
    PARENT_FAILED = "parent-failed"
    PARENT_GONE = "parent-gone"  # or has gone on without it
    OTHER_PLAN = "other-plan"  # another plan that has not ended is to send it
    SENT_BEFORE = "sent-before"  # a replay has sent it already
    DOUBLE = "double"  # a letter of a job that the same plan sends already
    DAMAGED = "damaged"  # a worker could not read it
    UNMAPPED = "unmapped"  # a letter that does not tell what to send, or to which queue
    UNFIT = "unfit"  # the edit does not fit its data
    NO_KEY = "no-key"  # nothing stands at the path by which order is kept
    BEFORE_IT = "before-it"  # a job of the same key, which comes before it, failed again
    REFUSED = "refused"  # another reason that the server gave; the note tells


@dataclass(frozen=True, slots=True)
class Looked:
    """A job as it is now. `note` belongs to the conflict: the state of one that has left ("" = none), the id of a
    twin, the key of a parent, the field that is damaged; for eyes.

    `failed_ms` is the score in the failed or completed set. `attempts_max` 0 means one attempt, as BullMQ writes it.
    """

    id: bytes
    conflict: Conflict = Conflict.NONE
    note: str = ""
    name: bytes = b""  # at most 200 bytes
    created_ms: int | None = None
    failed_ms: int | None = None
    attempts_made: int | None = None
    attempts_max: int | None = None


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter beside what is sent, which goes with it: in the same moment, before any worker can fail the job again
    and post another of the same id."""

    queue: QueueRef
    id: bytes


@dataclass(frozen=True, slots=True)
class InPlace:
    """A failed or completed job that is sent in place. `receipt` names this very stay of this very job."""

    target: Target
    receipt: str
    letter: Letter | None = None


@dataclass(frozen=True, slots=True)
class Original:
    """What a copy is of: nothing is sent where that is not there (any more) as it was seen.

    `state` is the set that it must be in; None for a letter, wherever it waits. `goes`: it is removed in the same
    moment in which its copy is in.
    """

    queue: QueueRef
    target: Target
    state: State | None = None
    goes: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """A new job to send. `receipt` names what it is a copy of, and is kept beside that."""

    job: NewJob
    receipt: str
    original: Original | None = None
    letter: Letter | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of sending one. `outcome` is DONE also where the same plan had sent it before (`again`).

    ALREADY: another plan has, `plan` is its token and `conflict` is SENT_BEFORE. Else GONE, WRONG_STATE (it has left)
    or UNSUPPORTED, and `conflict` and `note` say why, as in `Looked`; the note of REFUSED is a sentence. A note beside
    DONE is a sentence too: a warning. `away`: what was to go with it is gone; else that is left to be removed.
    """

    id: bytes  # as asked: of the job, or of the copy (empty where that had none)
    outcome: Outcome
    made: bytes = b""  # the id under which it waits now
    again: bool = False
    plan: str = ""
    at_ms: int | None = None  # the server's clock
    was: bytes | None = None  # what a retry took from its hash, for `take_back`; opaque
    conflict: Conflict = Conflict.NONE
    note: str = ""
    away: bool = False


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a sending has left: the token of the plan, the id under which the job waits since, when by the server."""

    plan: str
    made: bytes
    at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """How a sent job stands. `ended_ms` is its score where it has ended; `attempts` those that it has made in all."""

    fate: Fate
    ended_ms: int | None = None
    attempts: int | None = None


class Replays(Protocol):
    """What a backend with `Capability.REPLAYS` can do besides `Actions`; the same object has both.

    Everything that `Actions` says holds here: one queue a call, at most `actions.BATCH` at once, one answer each in
    their order, scripts of some 10 ms, nothing sent twice by itself (`Unsure` with the results so far, after which
    the same may be asked again: receipts tell). `plan` is the token of the plan. `drop` are receipts of this queue that
    nobody needs any more.
    """

    def look(self, queue: QueueRef, targets: Sequence[Target], *, state: State) -> Sequence[Looked]:
        """Jobs that are to be sent in place, or letters that are to be copied (then only LEFT and GONE).

        For `State.FAILED` and `State.COMPLETED` by the sorted set; for others (letters) wherever they wait, `seen`
        being their timestamp or their score where they are. Reads only.
        """

    def look_copies(self, queue: QueueRef, copies: Sequence[NewJob]) -> Sequence[Looked]:
        """What is in the way of such new jobs in a queue: ID_KEPT, TWIN, REFUSED. Data is not looked at. Reads only."""

    def send(
        self,
        queue: QueueRef,
        jobs: Sequence[InPlace],
        *,
        state: State,
        plan: str,
        reset: bool,
        twins: bool,
        orphans: bool,
        until_ms: int | None = None,
        drop: Sequence[str] = (),
    ) -> Sequence[Sent]:
        """Back to where they wait, by their priority, as `Actions.retry`.

        What it does not come to until a moment by the server's clock is not sent, and not in the answer.

        `twins` and `orphans`: in spite of TWIN, or of a parent that has failed or is gone; else these are refused with
        their conflict.
        """

    def send_copies(
        self,
        queue: QueueRef,
        copies: Sequence[Copy],
        *,
        plan: str,
        new_ids: bool,
        twins: bool = False,
        until_ms: int | None = None,
        drop: Sequence[str] = (),
    ) -> Sequence[Sent]:
        """New jobs, as `Actions.add`, in this order, until a moment as with `send`.

        `new_ids`: an id that is taken gives way to the next number.
        TWIN only where the holder of a deduplication id has not ended, and without `twins`, as with `send`.
        """

    def receipts(self, queue: QueueRef, receipts: Sequence[str]) -> Sequence[Receipt | None]:
        """What receipts say; None where there is none. Reads only.

        Those of copies are of the queue of the original, where one was named.
        """

    def drop_receipts(self, queue: QueueRef, receipts: Sequence[str]) -> None:
        """Forget receipts, once their outcomes are written down and nothing could send the same again."""

    def standings(self, queue: QueueRef, ids: Sequence[bytes]) -> Sequence[Standing]:
        """How jobs stand, by sets, lists and hash; in lists that are long by what the hash says. Reads only."""

    def take_back(self, queue: QueueRef, jobs: Sequence[tuple[Target, bytes]]) -> Sequence[Result]:
        """Jobs that `send` sent and no worker has begun, to where they were, with what it took (`Sent.was`).

        Their score is the one of before, and their receipts are forgotten. Listeners are told of a failed (completed)
        job, as it is one again. WRONG_STATE where a worker has begun, or somebody moved it; ALREADY where it is back.
        """
