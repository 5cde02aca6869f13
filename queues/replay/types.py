"""The nouns of a replay, as the database keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from queues.sendings import Conflict, Fate


class Phase(StrEnum):
    """Where a plan stands."""

    FREEZING = "freezing"  # its set is being collected and looked at
    DRAFT = "draft"  # the set is frozen; nothing is sent until somebody starts it
    WAITING = "waiting"  # a second person has to approve it
    ARMED = "armed"  # starts by itself at `starts_at`; can be taken back until then
    CANARY = "canary"  # the canary is sent, and awaited
    DECIDING = "deciding"  # the canary's time is over: a person says whether to go on
    RUNNING = "running"  # the rest is sent
    ENDING = "ending"  # all is sent; what was sent is awaited
    PAUSED = "paused"  # by a person
    STOPPED = "stopped"  # by itself; `why` says why; can go on
    CANCELLING = "cancelling"  # nothing more is sent; what was not sent is put back, bit by bit; then CANCELLED
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"  # its set could not be frozen


EARLY = frozenset({Phase.FREEZING, Phase.DRAFT, Phase.WAITING, Phase.ARMED})  # nothing has been sent
SENDS = frozenset({Phase.CANARY, Phase.RUNNING})
ACTIVE = frozenset({Phase.ARMED, Phase.CANARY, Phase.RUNNING, Phase.ENDING})  # goes on by itself
HALTED = frozenset({Phase.DECIDING, Phase.PAUSED, Phase.STOPPED})  # a person has to say so
ENDED = frozenset({Phase.DONE, Phase.CANCELLED, Phase.FAILED})
# The runner takes these up: halted ones too, since what was sent goes on and is watched.
TENDED = frozenset({Phase.FREEZING, Phase.CANCELLING, *ACTIVE, *HALTED})


TAKING_BACK = "taking-back"  # `Replay.step` while a plan is cancelled and what waits is taken back


class Place(StrEnum):
    """Where a job of a plan stands in it."""

    LEFT_OUT = "left-out"  # by a conflict, or its class; never sent
    HELD = "held"  # waits for the end of the job before it that has the same key
    READY = "ready"  # can be sent
    SENT = "sent"
    REFUSED = "refused"  # when it was to be sent, the server said no; `conflict` and `note` say why
    BACK = "back"  # cancelled: it was not sent, or was taken back before a worker began it


ENDS = frozenset({Fate.COMPLETED, Fate.FAILED, Fate.GONE, Fate.UNKNOWN})


class Acts(StrEnum):
    """What sending one job means."""

    RETRY = "retry"  # in place: from its failed set to where it waits
    COPY = "copy"  # a new job in its target; the original is dealt with as the terms say


class Choice(StrEnum):
    """What the plan does about a conflict."""

    SKIP = "skip"
    SEND = "send"  # all the same; ID_KEPT: under a new id


# What can be chosen; the first is what is done unless somebody chooses. What is missing here is always left out.
CHOICES: Mapping[Conflict, tuple[Choice, ...]] = {
    Conflict.TWIN: (Choice.SKIP, Choice.SEND),
    Conflict.ID_KEPT: (Choice.SKIP, Choice.SEND),
    Conflict.PARENT_FAILED: (Choice.SKIP, Choice.SEND),
    Conflict.PARENT_GONE: (Choice.SEND, Choice.SKIP),
    Conflict.SENT_BEFORE: (Choice.SKIP, Choice.SEND),
    Conflict.NO_KEY: (Choice.SKIP, Choice.SEND),
}


class From(StrEnum):
    """What a plan was made from."""

    JOB = "job"
    SELECTION = "selection"
    GROUP = "group"  # of failures, with `queues.failures.occurrences.Which` in `made_from`
    STATE = "state"  # of a queue, all or those whose name holds something
    LETTERS = "letters"  # a dead-letter queue, all or those whose name holds something
    AGAIN = "again"  # what failed again in another replay


class Told(StrEnum):
    """The lines of a plan's feed (`ReplayLine.kind`); words for them are the web's."""

    FROZEN = "frozen"  # number
    CHANGED = "changed"  # terms were changed; who
    ASKED = "asked"  # waits for approval; who
    APPROVED = "approved"  # who
    REFUSED = "refused"  # approval was refused; who
    ARMED = "armed"  # who, number, starts_ms
    TAKEN_BACK = "taken-back"  # who
    STARTED = "started"  # number
    CANARY_SENT = "canary-sent"  # number
    CANARY_PASSED = "canary-passed"  # ended, failed, limit
    CANARY_LATE = "canary-late"  # ended, number, failed
    CLIMBED = "climbed"  # pace
    PACE = "pace"  # who, pace_from, pace_to
    HELD = "held"  # why: over a limit, or outside of the hours; goes on by itself
    FREE = "free"  # goes on after that
    PAUSED = "paused"  # who, or why
    WENT_ON = "went-on"  # who
    STOPPED = "stopped"  # why, and the figures that belong to it
    LOST = "lost"  # its worker was lost and another went on
    DOWN = "down"  # the source does not answer
    UP = "up"
    BLIND = "blind"  # events were lost: number
    ALL_SENT = "all-sent"  # number
    CANCELLED = "cancelled"  # who, number
    DONE = "done"  # completed, failed, other


class Stop(StrEnum):
    """Why a plan stopped by itself (`Replay.why`), or holds for now (`Replay.holding`)."""

    NONE = ""
    CANARY = "canary"  # too many of it failed again
    FAILING = "failing"  # too many of the last ones failed again
    PAUSED = "target-paused"
    NO_WORKER = "no-worker"
    UNWELL = "unwell"  # the server takes no writes, has no memory left, or is loading
    AWAY = "away"  # the source has not answered for long
    LOST = "lost"  # its worker was lost, and the terms want a person to look first
    BLOCKED = "blocked"  # what is left waits behind jobs that failed again
    DEPTH = "depth"  # holding: the target's backlog is above the limit
    AGE = "age"  # holding: its oldest waiting job is too old
    HOURS = "hours"  # holding: outside of the working hours
