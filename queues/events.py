"""What happened in a queue, as its event stream tells it: the nouns that reading, following and showing share.

The words are those of BullMQ's `QueueEvents`; those of our own, at the end of `EventKind`, say what a stream cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from queues.quantities import LAST_MS
from queues.types import Progress, QueueRef, State, Text


class EventKind(StrEnum):
    """What an entry tells."""

    ADDED = "added"
    WAITING = "waiting"
    ACTIVE = "active"
    PROGRESS = "progress"
    STALLED = "stalled"
    DELAYED = "delayed"
    COMPLETED = "completed"
    FAILED = "failed"
    RETRIES_EXHAUSTED = "retries-exhausted"
    WAITING_CHILDREN = "waiting-children"
    DUPLICATED = "duplicated"
    DEDUPLICATED = "deduplicated"
    DEBOUNCED = "debounced"
    REMOVED = "removed"
    DRAINED = "drained"
    PAUSED = "paused"
    RESUMED = "resumed"
    CLEANED = "cleaned"
    OTHER = "other"  # a word that we do not know: counted, and shown as it is
    GAP = "gap"  # ours: events were lost before we could read them
    OMITTED = "omitted"  # ours: too many at once to keep each of them
    SOURCE_DOWN = "source-down"  # ours: the server stopped answering
    SOURCE_UP = "source-up"  # ours: it answers again


# The reason of a job that was failed because its workers died or hung too often (BullMQ 4 to 6).
STALLED_TOO_OFTEN = "job stalled more than allowable limit"

# What is kept in the database, so that a page opens with history.
NOTABLE = frozenset(
    {
        EventKind.FAILED,
        EventKind.STALLED,
        EventKind.RETRIES_EXHAUSTED,
        EventKind.PAUSED,
        EventKind.RESUMED,
        EventKind.CLEANED,
    }
)

# The state that a job is in from such an event on.
ENTERS: Mapping[EventKind, State] = {
    EventKind.WAITING: State.WAITING,
    EventKind.ACTIVE: State.ACTIVE,
    EventKind.DELAYED: State.DELAYED,
    EventKind.WAITING_CHILDREN: State.WAITING_CHILDREN,
    EventKind.COMPLETED: State.COMPLETED,
    EventKind.FAILED: State.FAILED,
}


def order(event_id: str) -> tuple[int, int]:
    """The place of an event's id in its stream: the server's clock in ms, the sequence. ValueError for what is none."""
    ms, _dash, sequence = event_id.partition("-")
    return int(ms), int(sequence or 0)


def time_of(event_id: str) -> int:
    """The server's clock in an event's id, in milliseconds since 1970. ValueError for what is none.

    Anybody may write an id beyond all calendars, which no database and no page could hold: it stands at their end.
    """
    return min(int(event_id.partition("-")[0]), LAST_MS)


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a queue's stream, made fit to show. `id` is "<ms of the server's clock>-<sequence>".

    `text` is what the entry says: the reason of `failed`, the progress as stored, the name of `added`, the
    unknown word of `other`; at most 500 characters, with its true size.
    """

    queue: QueueRef
    id: str
    kind: EventKind
    job: bytes | None = None
    text: Text | None = None
    progress: Progress | None = None
    previous: str = ""  # the state it came from, where the entry says
    run_at_ms: int | None = None  # delayed: the moment it becomes due
    attempts: int | None = None  # retries-exhausted: attempts made
    count: int | None = None  # cleaned: jobs; gap and omitted: events, None = nobody knows how many
    until_ms: int | None = None  # gap: its end; `at_ms` is its beginning

    @property
    def at_ms(self) -> int:
        """When it happened, by the server's clock."""
        return time_of(self.id)

    @property
    def by_stall(self) -> bool:
        """Whether the job failed because it stalled too often: no event of kind STALLED need come before that."""
        return self.kind is EventKind.FAILED and self.text is not None and self.text.value == STALLED_TOO_OFTEN


@dataclass(frozen=True, slots=True)
class Position:
    """Where a stream stands. `added` counts every entry that was ever added; None where the server does not tell."""

    last_id: str  # "0-0" while nothing was ever added
    length: int
    added: int | None = None
    first_id: str = ""  # "" when it is empty
    exists: bool = True


@dataclass(frozen=True, slots=True)
class Glance:
    """The few fields of a job that an entry of its stream leaves out. None = the job does not say, or is gone."""

    name: Text | None = None
    attempts_made: int | None = None
    attempts_started: int | None = None
    attempts_max: int | None = None
    processed_ms: int | None = None
    finished_ms: int | None = None
