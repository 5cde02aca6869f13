"""The contract between the product and a queue system. A backend is one folder below `queues.backends`.

Reading is required; what a backend cannot do it leaves out of `capabilities`, it does not raise. Every
method is bounded in what it costs the server; the docstrings say how. All raise `Unreachable` when the
server does not answer, and never return an empty answer instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from queues.events import Event, EventKind, Glance, Position
from queues.types import (
    Capability,
    Counts,
    Found,
    Health,
    Job,
    JobPage,
    JobRef,
    LogPage,
    Order,
    QueueInfo,
    QueueRef,
    State,
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

    def events(self, *, kinds: Collection[EventKind] | None = None, job: bytes = b"", most: int) -> Sequence[Event]:
        """The newest entries of these kinds and this job, at most `most`, in their order."""


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
