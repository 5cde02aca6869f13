"""The nouns that every backend speaks: frozen values without behaviour beyond naming themselves.

Times are milliseconds since 1970 as the queue stored them (`..._ms`), sizes are bytes, and names
and ids are exact bytes, because a queue may hold anything. What is meant for eyes is a `Text`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from queues.names import decode_part, encode_part, visible


class State(StrEnum):
    """The state of a job, in the words that pages, `data-state` and the API use."""

    WAITING = "waiting"
    PRIORITIZED = "prioritized"
    ACTIVE = "active"
    DELAYED = "delayed"
    WAITING_CHILDREN = "waiting-children"
    COMPLETED = "completed"
    FAILED = "failed"


class Order(StrEnum):
    """Which end of a list comes first."""

    NEWEST = "newest"
    OLDEST = "oldest"


class Capability(StrEnum):
    """What a backend may be unable to do. Pages ask for these and never for a kind of backend."""

    WORKERS = "workers"
    LOGS = "logs"
    FLOWS = "flows"
    FIND_BY_ID = "find-by-id"
    EVENTS = "events"  # `queues.backend.Events`: what happens can be followed
    FAILURES = "failures"  # `queues.backend.Failures`: failed jobs can be indexed
    ACTIONS = "actions"  # `queues.backend.Actions`: queues and jobs can be changed
    REPLAYS = "replays"  # `queues.backend.Replays`: jobs can be sent again, each exactly once
    SCHEDULES = "schedules"  # `queues.backend.Schedules`: what is to run again and again can be read


class Mark(StrEnum):
    """Why a shown text is not simply what was stored."""

    CUT = "cut"  # longer than what is shown
    BYTES = "bytes"  # not UTF-8: replacement characters stand for the odd bytes
    MALFORMED = "malformed"  # not the JSON, number or shape that belongs in this field
    DEEP = "deep"  # nested deeper than the limit, shown as text
    MASKED = "masked"  # a secret is hidden


@dataclass(frozen=True, slots=True)
class Text:
    """Text out of a queue, safe to show: no lone surrogate, no control character but tab and newline.

    `size` is the true size in bytes as stored, also when `value` is cut.
    """

    value: str
    size: int
    marks: tuple[Mark, ...] = ()

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class QueueRef:
    """A queue: its source, its key prefix and its name, as exact bytes."""

    source: str
    prefix: bytes
    name: bytes

    @property
    def slug(self) -> str:
        """The queue in a URL and in the database: `name`, or `prefix:name` when the prefix is not `bull`."""
        name = encode_part(self.name)
        return name if self.prefix == b"bull" else f"{encode_part(self.prefix)}:{name}"

    @classmethod
    def from_slug(cls, source: str, slug: str) -> QueueRef:
        """The inverse of `slug`. Raises ValueError when the slug is not in its one canonical form."""
        prefix, colon, name = slug.rpartition(":")
        ref = cls(source, decode_part(prefix) if colon else b"bull", decode_part(name))
        if ref.slug != slug:
            raise ValueError(f"not a queue: {slug!r}")
        return ref

    @property
    def label(self) -> str:
        """The name for eyes, with its prefix when that is not `bull`."""
        name = visible(self.name)
        return name if self.prefix == b"bull" else f"{visible(self.prefix)}:{name}"


@dataclass(frozen=True, slots=True)
class JobRef:
    """A job: its queue and its id as exact bytes."""

    queue: QueueRef
    id: bytes

    @property
    def slug(self) -> str:
        return encode_part(self.id, colon=True)

    @property
    def label(self) -> str:
        return visible(self.id)


@dataclass(frozen=True, slots=True)
class Oldest:
    """The oldest waiting job as far as the keys tell.

    `created_ms` is the job's creation; when it entered waiting is not in the keys. `at_least` is
    true where the order of the list may hide an older one (prioritized, LIFO, two lists). `since_ms`
    is since when a job has surely been due to run, right to a minute: the creation, after its delay,
    of the oldest that has never run before; None where none such is seen. Only this says how long
    something waits: a job that was replayed today may have been created last week.
    """

    created_ms: int
    at_least: bool
    since_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """The depths of one queue at one moment, and what stands in its meta hash.

    `waiting` counts the `wait` and the `paused` list together; `parked` says how many of them sit in
    a `paused` list that this queue's own version no longer reads until it is resumed. A state whose
    key cannot be read (another program put a value of another type there) is missing from `by_state`.
    """

    by_state: Mapping[State, int]
    paused: bool
    parked: int = 0
    oldest: Oldest | None = None
    version: str = ""  # as meta holds it, for example "bullmq:6.7.0"; "" when nobody wrote it
    concurrency: int | None = None
    rate_max: int | None = None
    rate_duration_ms: int | None = None
    exists: bool = True  # false when not one key of the queue is left

    def __getitem__(self, state: State) -> int | None:
        """How many jobs are in this state; None when that cannot be read."""
        return self.by_state.get(State(state))  # ValueError for what is no state, as templates need it

    @property
    def backlog(self) -> int:
        """Jobs that a worker could take now, as far as they can be read."""
        return self.by_state.get(State.WAITING, 0) + self.by_state.get(State.PRIORITIZED, 0)


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker connection as CLIENT LIST shows it. `idle_s` is seconds since its last command."""

    name: str  # the worker's own name, or "" when it has none
    address: str
    idle_s: int
    age_s: int


@dataclass(frozen=True, slots=True)
class Workers:
    """All workers of a source by queue, or why they are not known."""

    by_queue: Mapping[tuple[bytes, bytes], Sequence[Worker]] = field(default_factory=dict)
    unknown_because: str = ""  # "" = known; else text for the user, e.g. "not permitted (CLIENT LIST)"

    @property
    def known(self) -> bool:
        return not self.unknown_because

    def of(self, queue: QueueRef) -> Sequence[Worker] | None:
        """The workers of a queue; None when nobody knows."""
        return self.by_queue.get((queue.prefix, queue.name), ()) if self.known else None


class Layout(StrEnum):
    """How a queue lays out its keys, judged from what it wrote and what its keys show."""

    V4 = "4.x"
    V5 = "5.x"
    V6 = "6.x"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """What the page of one queue knows besides its counts."""

    counts: Counts
    layout: Layout
    version: str
    versions_note: str = ""  # set when keys and version disagree: a mixed fleet
    limited_for_ms: int | None = None  # rate limited for so many ms more; None = not limited
    events_length: int = 0
    first_event_ms: int | None = None
    last_event_ms: int | None = None
    last_event_id: str = "0-0"  # this while the stream is empty; older than any list of jobs that is read later
    last_job_id: int | None = None
    schedulers: int = 0
    next_delayed_ms: int | None = None
    due_now: int = 0  # delayed jobs whose time is past
    notes: tuple[str, ...] = ()  # sentences to show, e.g. on jobs parked in a paused list


@dataclass(frozen=True, slots=True)
class Progress:
    """What a job last reported: a percentage where it is a number from 0 to 100, and the text as stored."""

    percent: float | None
    text: Text
    bare: bool = False  # the text is the percentage itself


class Delay(StrEnum):
    """Why a job is delayed."""

    SCHEDULE = "schedule"  # the next run of a schedule
    BACKOFF = "backoff"  # a retry
    STEP = "step"  # it moved itself while it ran
    SCHEDULED = "scheduled"  # it was added so


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job in a list: small fields and lengths only. None means the job does not say."""

    ref: JobRef
    state: State
    missing: bool = False  # the id stands in the list, its hash is gone
    name: Text | None = None
    timestamp_ms: int | None = None
    processed_ms: int | None = None
    finished_ms: int | None = None
    run_at_ms: int | None = None  # delayed jobs: from the score
    attempts_made: int | None = None
    attempts_started: int | None = None
    attempts_max: int | None = None
    priority: int | None = None
    progress: Progress | None = None
    reason: Text | None = None  # failedReason, at most 500 characters
    size: int = 0  # bytes of data
    worker: Text | None = None
    kind: Delay | None = None  # delayed jobs
    damaged: tuple[str, ...] = ()  # names of the fields that are not what they should be
    seen: bytes = b""  # tells this stay in the state from a later one, see `queues.actions.Target`


@dataclass(frozen=True, slots=True)
class JobPage:
    """A page of a list. `next` and `previous` are opaque cursors, "" where there is nothing more."""

    rows: Sequence[JobRow]
    total: int
    next: str = ""
    previous: str = ""
    scanned: int = 0  # with a name filter: how many jobs were looked at
    exhausted: bool = True  # with a name filter: false when the bound was reached before the end
    stable: bool = True  # false for lists, whose positions move while jobs come and go
    read_ms: int = 0  # our clock when the page was read


@dataclass(frozen=True, slots=True)
class Relative:
    """A parent or child in a flow. `ref` is None when the key cannot be read as one of a queue."""

    ref: JobRef | None
    key: str  # the full key, for eyes
    state: State | None = None
    outcome: Text | None = None  # a processed child's value, or an ignored failure's reason
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Waits:
    """For how many children a job waits, and of the `looked` at how many have ended or are gone."""

    children: int
    looked: int
    ended: int

    @property
    def in_vain(self) -> bool:
        """Whether nothing that was looked at will ever let the job go on by itself."""
        return 0 < self.looked == self.ended


@dataclass(frozen=True, slots=True)
class Family:
    """Links between a job, its parent and its children. Children are capped at 100 a kind; counts are true."""

    parent: Relative | None = None
    pending: Sequence[Relative] = ()
    processed: Sequence[Relative] = ()
    ignored: Sequence[Relative] = ()
    failed: Sequence[Relative] = ()
    pending_count: int = 0
    processed_count: int = 0
    ignored_count: int = 0
    failed_count: int = 0


@dataclass(frozen=True, slots=True)
class Body:
    """A stored body, capped: `raw` holds at most the cap's bytes, `size` is the true size. None = not stored."""

    raw: bytes
    size: int

    @property
    def cut(self) -> bool:
        return len(self.raw) < self.size


@dataclass(frozen=True, slots=True)
class Job:
    """Everything about one job. Bodies are raw and capped; `queues.payload` makes them fit to show."""

    row: JobRow
    states: tuple[State, ...]  # by membership; empty = in no list; several = damaged or moving
    state_inferred: bool = False  # its lists are too long to look through: judged from what else is known
    data: Body | None = None
    opts: Body | None = None
    returnvalue: Body | None = None  # None also where the job returned nothing
    progress: Body | None = None
    reason: Body | None = None
    stacks: Sequence[Body] = ()  # newest first, at most 50
    stack_count: int = 0
    stacks_raw: Body | None = None  # set when stacktrace is no JSON array of strings, or was cut
    options: Mapping[str, object] = field(default_factory=dict)  # opts parsed, {} when it cannot be
    ended_by_stall: bool = False  # it was failed because its workers died or hung too often
    stalled_count: int | None = None
    deferred_failure: Text | None = None
    scheduler_id: bytes | None = None
    next_run: bool = False  # its schedule goes on from it: it may be neither moved nor removed
    deduplication_id: bytes | None = None
    lock_ttl_ms: int | None = None  # active jobs: None = no lock
    logs_count: int = 0
    family: Family = field(default_factory=Family)
    fields: Sequence[tuple[Text, Body]] = ()  # the raw hash, values capped at 2 KB each
    key: str = ""  # the hash's key, for eyes


LOG_PAGE = 100  # lines


@dataclass(frozen=True, slots=True)
class LogPage:
    """Log lines `first` (from 1) onwards, at most `LOG_PAGE`, oldest first within the page."""

    lines: Sequence[Text]
    first: int
    total: int

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @property
    def before(self) -> int:
        """Where the page before begins."""
        return max(1, self.first - LOG_PAGE)

    @property
    def after(self) -> int:
        """Where the page behind begins."""
        return self.last + 1


@dataclass(frozen=True, slots=True)
class Found:
    """A job found by its id."""

    ref: JobRef
    name: Text
    state: State | None
