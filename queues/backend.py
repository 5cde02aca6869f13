"""The contract between the product and a queue system. A backend is one folder below `queues.backends`.

Reading is required; what a backend cannot do it leaves out of `capabilities`, it does not raise. Every
method is bounded in what it costs the server; the docstrings say how. All raise `Unreachable` when the
server does not answer, and never return an empty answer instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

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
