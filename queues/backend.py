"""The contract between the product and a queue system. A backend is one folder below `queues.backends`.

Reading is required; what a backend cannot do it leaves out of `capabilities`, it does not raise. Every
method is bounded in what it costs the server; the docstrings say how. All raise `Unreachable` when the
server does not answer, and never return an empty answer instead.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from typing import Protocol

from queues.actions import (
    Action,
    Below,
    Clock,
    HeldIds,
    Members,
    NewJob,
    Result,
    Step,
    Stored,
    Target,
)
from queues.events import Event, EventKind, Glance, Position
from queues.failed import FailedJob, FailedMark, FailedPage, IdPage, LettersMark
from queues.health import Health
from queues.schedules.types import QueueSchedules, Schedule, ScheduleRef
from queues.types import (
    Capability,
    Counts,
    Found,
    Job,
    JobPage,
    JobRef,
    LogPage,
    Order,
    QueueInfo,
    QueueRef,
    State,
    Waits,
    Workers,
)

PAGE_SIZES = (20, 50, 100, 200)
PAGE_SIZE = 50  # where nobody asked for another
BODY_CAP = 256 * 1024  # bytes of a body that a page shows
DOWNLOAD_CAP = 128 * 1024 * 1024  # bytes of one field that can be downloaded


class Backend(Protocol):
    """One source of one kind. Safe to share between threads."""

    source: str
    address: str  # host:port/db or path, without a password

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What this backend can do. Pages leave out the rest and do not call the methods for it."""

    @property
    def commands_sent(self) -> int:
        """How many commands this process has sent to the server so far."""

    def health(self) -> Health:
        """The server's state. One pipeline; an optional figure that is refused fails alone."""

    def discover(self) -> Iterator[tuple[int, Sequence[QueueRef]]]:
        """Walk the key space for queues: yields (keys seen so far, queues found in this step).

        For the background only: 1.2 million keys take about two seconds, in steps of 1,000 keys.
        """

    def counts(self, queues: Sequence[QueueRef]) -> Mapping[QueueRef, Counts]:
        """Depths of many queues, the oldest waiting job included. Two calls for every 125 queues."""

    def workers(self) -> Workers:
        """The workers of all queues, from one call."""

    def queue(self, queue: QueueRef) -> QueueInfo:
        """What the page of one queue shows besides its jobs. Three short calls. NotFound when no key is left."""

    def jobs(
        self,
        queue: QueueRef,
        states: Sequence[State],
        *,
        size: int = PAGE_SIZE,
        order: Order = Order.NEWEST,
        cursor: str = "",
        name: str = "",
    ) -> JobPage:
        """A page of jobs of one state, or of completed and failed merged by the time they finished.

        Reads small fields and lengths only: one call for the ids, one for each 100 jobs, and a short one
        for each field that is too long to be sent whole. `OLDEST` is the order in which jobs run
        where they still have to (waiting, prioritized, delayed), `NEWEST` its reverse. `name` is any part of
        a job's name in any case; with it no more than 10,000 jobs are looked at in a call, and `next` goes on there.
        BadInput for a cursor that is not one of ours; LimitExceeded for a size beyond 200.
        """

    def job(self, job: JobRef) -> Job:
        """Everything about a job, each body capped at `BODY_CAP`. NotFound when neither hash nor membership is left."""

    def logs(self, job: JobRef, *, first: int | None = None) -> LogPage:
        """A page of log lines from number `first` (from 1); the last page when it is None."""

    def body(self, job: JobRef, name: bytes) -> bytes:
        """The exact bytes of one field of the job. NotFound when there is none, LimitExceeded beyond `DOWNLOAD_CAP`."""

    def find(self, queues: Sequence[QueueRef], job_id: bytes) -> Sequence[Found]:
        """The job with this id in every queue that has one. One pipeline, no scan, at most 1,000 hits."""

    def older(self, queue: QueueRef, state: State, clock: Clock, before_ms: int) -> int | None:
        """How many jobs of a state have a clock before a moment; None where that takes reading them. One command."""

    def holder(self, queue: QueueRef, deduplication_id: bytes) -> JobRef | None:
        """The job that holds a deduplication id, also when it is gone; None when nobody does. One command."""

    def held(self, queue: QueueRef, *, cursor: str = "") -> HeldIds:
        """Deduplication ids of a queue, looked for in all keys of the server: at most 100,000 keys or half a second.

        For when somebody asks for it: in steps of 1,000 keys, and no further than some 200 ids.
        BadInput for a cursor that is not one of ours.
        """

    def waits(self, jobs: Sequence[JobRef]) -> Mapping[JobRef, Waits]:
        """What jobs that wait for children wait for, by at most 20 of the children of each: three short commands each.

        A child has ended by what its hash says, which costs no look into the queues of the children.
        """

    def close(self) -> None:
        """Close its connections; the next call opens new ones."""


class Batch(Protocol):
    """The entries that one reading brought from one stream: tallied at once, decoded only where asked for."""

    @property
    def queue(self) -> QueueRef: ...

    @property
    def number(self) -> int:
        """How many entries, those that make no sense included."""

    @property
    def last_id(self) -> str: ...

    @property
    def tallies(self) -> Mapping[int, Mapping[EventKind, int]]:
        """How many of each kind, by minute (milliseconds of the id // 60,000)."""

    @property
    def strange(self) -> int:
        """Entries that are none of BullMQ's: skipped by everything else, never an error."""

    @property
    def sample(self) -> str:
        """One of the strange ones, for the log: at most 200 characters, "" without any."""

    @property
    def size(self) -> int:
        """About how many bytes it took, to choose how much to ask for next time."""

    def upto(self, event_id: str) -> int:
        """How many of the entries are not behind this id."""

    def jobs(self, kind: EventKind) -> Sequence[bytes]:
        """The ids of the jobs in entries of one kind, in their order."""

    def left(self, state: State) -> Sequence[bytes]:
        """The ids of jobs that were removed from a state, or wait again after it, in their order."""

    def events(self, *, kinds: Collection[EventKind] | None = None, job: bytes = b"", most: int) -> Sequence[Event]:
        """The newest entries of these kinds and this job, at most `most`, in their order."""

    def about(self, jobs: Container[bytes], kinds: Collection[EventKind]) -> Sequence[Event]:
        """All entries of these kinds about these jobs, in their order; others are not decoded."""


class Events(Protocol):
    """What a backend with `Capability.EVENTS` can do besides `Backend`."""

    def positions(self, queues: Sequence[QueueRef]) -> Mapping[QueueRef, Position]:
        """Where each stream stands. One call for every 125 queues; a stream that cannot be read is left out."""

    def entries(self, after: Mapping[QueueRef, str], *, most: int) -> Sequence[Batch]:
        """What was added behind the given ids, at most `most` entries a stream, oldest first. One call, never blocking.

        Streams without anything new are left out.
        """

    def glances(self, jobs: Sequence[JobRef]) -> Mapping[JobRef, Glance]:
        """A few small fields of jobs. One call for every 100; a job that is gone is left out."""

    def server_ms(self) -> int:
        """The server's clock, in milliseconds since 1970."""


class Failures(Protocol):
    """What a backend with `Capability.FAILURES` can do besides `Backend`: read failed jobs and letters for the index.

    Every script holds the server for some 10 ms at most, whatever the sizes; callers page. Sets of failed jobs are
    ordered by score, then id.
    """

    def failed_marks(self, queues: Sequence[QueueRef]) -> Mapping[QueueRef, FailedMark]:
        """Where each failed set stands. One call for every 250 queues."""

    def failed_page(self, queue: QueueRef, *, cursor: str = "", newest_first: bool = False, most: int) -> FailedPage:
        """Failed jobs behind a cursor, at most `most` (at most `failed.PAGE`), in either direction.

        Without a cursor from that direction's beginning. `cursor` of `failed_at` begins at a score.
        BadInput for a cursor that is not one of ours.
        """

    def failed_at(self, score_ms: int, job: bytes = b"") -> str:
        """The cursor right behind this score and id. No call."""

    def failed_jobs(self, queue: QueueRef, ids: Sequence[bytes], *, data: bool = False) -> Mapping[bytes, FailedJob]:
        """Those of some jobs that are in the failed set now, with their data where asked for (cut at its cap)."""

    def failed_ids(self, queue: QueueRef, *, cursor: str = "", most: int) -> IdPage:
        """Ids and scores only, lowest first, at most 5,000: some 5 ms of the server."""

    def letters_marks(self, queues: Sequence[QueueRef]) -> Mapping[QueueRef, LettersMark]:
        """Where each queue of letters stands. One call for every 250 queues."""

    def letter_ids(self, queue: QueueRef, *, cursor: str = "", most: int) -> IdPage:
        """The ids of all jobs that lie in a queue of letters: waiting, parked, prioritized, delayed. Scores are 0."""

    def letters(self, queue: QueueRef, ids: Sequence[bytes]) -> Mapping[bytes, FailedJob]:
        """Letters by their ids, with their data, wherever they lie; those that are gone are left out."""

    def payloads(self, queue: QueueRef, ids: Sequence[bytes], *, most: int) -> Mapping[bytes, bytes]:
        """The data of jobs in whatever state, each at most `failed.DATA_CAP`, until all hold `most` bytes."""


class Schedules(Protocol):
    """What a backend with `Capability.SCHEDULES` can do besides `Backend`: read what is to run again and again."""

    def schedules(self, queues: Sequence[QueueRef]) -> Mapping[QueueRef, QueueSchedules]:
        """The schedules of each queue with the jobs of their next runs, at most `schedules.types.MOST` of a queue.

        A call for every 500 queues and one for every 100 schedules, each some milliseconds of the server; more where
        data, or lists in which armed jobs wait, are long. Reads only.
        """

    def schedule(self, ref: ScheduleRef) -> Schedule | None:
        """One schedule with its template, each part capped at `BODY_CAP`; None where it is gone. Some six short calls.

        Without a template of data of its own, that of the armed job.
        """


class Actions(Protocol):
    """What a backend with `Capability.ACTIONS` can do to queues and jobs. `queues.operations` alone calls it.

    Every method is atomic for each job, checks the state it acts on, tells workers and listeners what BullMQ would
    tell them, and may be repeated: what is done is not done again. Those that take targets take at most
    `actions.BATCH` of them, of one queue, and give one result for each, in their order; a script holds the server for
    about 20 ms at most. Nothing is ever sent twice by itself: when an answer is lost they raise `Unsure`.
    ReadOnly where the server takes no writes from us.
    """

    @property
    def commands_sent(self) -> int:
        """How many commands this process has sent for acting so far."""

    def unable(self, queue: QueueRef) -> Mapping[Action, str]:
        """What cannot be done to this queue or its jobs, each with a sentence why. One short call."""

    def read_only(self, queue: QueueRef) -> str:
        """Why our user may not write to this queue; "" when it may. One call that changes nothing."""

    def members(
        self, queue: QueueRef, state: State, *, cursor: str = "", until_ms: int, name: str = "", most: int
    ) -> Members:
        """Jobs that have been in a state since before `until_ms` (the server's clock), by id and what was seen of them.

        With `name`, those whose name holds it, in any case. Looks at no more than `most` jobs, at most `BATCH`.
        """

    def stored(self, queue: QueueRef, ids: Sequence[bytes], *, most: int) -> Mapping[bytes, Stored]:
        """Exact copies of jobs, as long as all together hold no more than `most` bytes; others are left out."""

    def retry(
        self, queue: QueueRef, targets: Sequence[Target], *, state: State, reset: bool, twins: bool = False
    ) -> Sequence[Result]:
        """Failed or completed jobs back to where they wait, by their priority; `reset` forgets their attempts.

        Without `twins`, a job whose deduplication id is held by another that has not ended is `UNSUPPORTED`; `made`
        then tells the holder's id. What becomes of a parent that no longer waits stands in `why`.
        """

    def promote(self, queue: QueueRef, targets: Sequence[Target]) -> Sequence[Result]:
        """Delayed jobs to where they wait, by their priority. A scheduler's next run stays."""

    def delay(self, queue: QueueRef, targets: Sequence[Target], *, run_at_ms: int) -> Sequence[Result]:
        """Delayed jobs to another moment. A scheduler's next run stays."""

    def priority(self, queue: QueueRef, targets: Sequence[Target], *, priority: int) -> Sequence[Result]:
        """Another priority (0 = none, 1 the most urgent, at most 2,097,152) for jobs that wait or are delayed."""

    def edit(self, job: JobRef, data: bytes, *, was: bytes) -> Result:
        """Other data; `was` is what is there now, to the byte, or else the outcome is `CHANGED`."""

    def remove(
        self, queue: QueueRef, targets: Sequence[Target], *, state: State | None, children: bool
    ) -> Sequence[Result]:
        """Jobs that no worker holds, from `state` (None: any), with all their keys.

        With `children` all that hangs below them in this and other queues goes too, or nothing where a worker holds
        one of those; without it, a job that waits for children stays. A parent that waited for a removed one goes on.
        """

    def below(self, job: JobRef) -> Sequence[Below]:
        """All that would go with the job, if removed with what hangs below it; LimitExceeded beyond `actions.BELOW`."""

    def remove_children(self, job: JobRef) -> Result:
        """The children of a job that have not been worked on; `removed` tells how many. The job then goes on."""

    def add(self, queue: QueueRef, job: NewJob, *, token: str) -> Result:
        """A new job, delayed, prioritized or waiting as its options say. A second call with this token adds nothing."""

    def log(self, job: JobRef, line: str, *, token: str) -> Result:
        """One more line in the job's log. A second call with this token adds nothing."""

    def fail(self, queue: QueueRef, targets: Sequence[Target], *, reason: str) -> Sequence[Result]:
        """Active jobs whose lock is gone, to failed, as if their last attempt had failed for this reason."""

    def requeue(self, queue: QueueRef, targets: Sequence[Target]) -> Sequence[Result]:
        """Active jobs whose lock is gone, back to where they wait."""

    def release_deduplication(self, queue: QueueRef, deduplication_id: bytes) -> Result:
        """Forget which job holds a deduplication id, where that job is gone or has ended."""

    def pause(self, queue: QueueRef) -> Step:
        """A step of letting no worker take a job, in the manner of the version that works on this queue.

        Repeat it until its `cursor` is None: only a long list that was left parked needs more than one.
        """

    def resume(self, queue: QueueRef) -> Step:
        """A step of letting workers take jobs again: both lists are merged in order, then the queue is open.

        Repeat it until its `cursor` is None. Jobs that are parked on an open queue are brought back by it, too.
        """

    def concurrency(self, queue: QueueRef, most: int | None) -> Result:
        """How many jobs of the queue may be active at once; None = no limit."""

    def rate_limit(self, queue: QueueRef, most: int | None, duration_ms: int = 0) -> Result:
        """How many jobs may start in a span of time; None = no limit."""

    def release_limit(self, queue: QueueRef) -> Result:
        """End the wait of a queue that has reached its rate limit."""

    def drain(self, queue: QueueRef, *, delayed: bool, until_ms: int, cursor: str = "") -> Step:
        """A step of removing all jobs that wait, or are delayed too, and were there before `until_ms`."""

    def clean(self, queue: QueueRef, state: State, *, clock: Clock, before_ms: int, cursor: str = "") -> Step:
        """A step of removing the jobs of a state whose clock stands before a moment. Schedulers' next runs stay."""

    def obliterate(self, queue: QueueRef, *, force: bool, cursor: str = "") -> Step:
        """A step of removing a paused queue with all it holds. Without `force`, WrongState while jobs are active."""

    def trim_events(self, queue: QueueRef, *, keep: int) -> Step:
        """Drop the oldest events until about `keep` are left."""

    def close(self) -> None:
        """Close its connections; the next call opens new ones."""
