"""The BullMQ backend: each method of the contract, handed to the module that knows how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from queues.actions import Clock, HeldIds
from queues.backend import PAGE_SIZE, Batch
from queues.backends.bullmq import (
    about,
    ages,
    clients,
    counts,
    deduplication,
    discovery,
    events,
    failed,
    health,
    jobs,
    letters,
    lists,
    logs,
    schedulers,
    thrown,
    waits,
)
from queues.backends.bullmq.connection import CONNECTIONS, Connection
from queues.events import Glance, Position
from queues.failed import FailedJob, FailedMark, FailedPage, IdPage, LettersMark
from queues.health import Health
from queues.registry import SourceConfig
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


class BullMQ:
    """BullMQ 4.x to 6.x on one Redis-compatible server. See `queues.backend` for each method."""

    capabilities = frozenset(Capability)

    def __init__(self, config: SourceConfig, *, connections: int = CONNECTIONS) -> None:
        self.source = config.name
        self.connection = Connection(config, connections=connections)
        self._streams = events.Streams(self.connection)
        self.address = self.connection.address
        self._prefixes = config.prefixes

    @property
    def commands_sent(self) -> int:
        return self.connection.commands_sent

    def health(self) -> Health:
        return health.read(self.connection)

    def discover(self) -> Iterator[tuple[int, Sequence[QueueRef]]]:
        return discovery.walk(self.connection, self._prefixes)

    def counts(self, queues: Sequence[QueueRef]) -> Mapping[QueueRef, Counts]:
        return counts.read(self.connection, queues)

    def workers(self) -> Workers:
        return clients.read(self.connection)

    def queue(self, queue: QueueRef) -> QueueInfo:
        return about.read(self.connection, queue)

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
        return lists.page(self.connection, queue, states, size=size, order=order, cursor=cursor, name=name)

    def job(self, job: JobRef) -> Job:
        return jobs.read(self.connection, job)

    def logs(self, job: JobRef, *, first: int | None = None) -> LogPage:
        return logs.page(self.connection, job, first)

    def body(self, job: JobRef, name: bytes) -> bytes:
        return jobs.body(self.connection, job, name)

    def find(self, queues: Sequence[QueueRef], job_id: bytes) -> Sequence[Found]:
        return jobs.find(self.connection, queues, job_id)

    def older(self, queue: QueueRef, state: State, clock: Clock, before_ms: int) -> int | None:
        return ages.older(self.connection, queue, state, clock, before_ms)

    def holder(self, queue: QueueRef, deduplication_id: bytes) -> JobRef | None:
        return deduplication.holder(self.connection, queue, deduplication_id)

    def held(self, queue: QueueRef, *, cursor: str = "") -> HeldIds:
        return deduplication.held(self.connection, queue, cursor)

    def waits(self, jobs: Sequence[JobRef]) -> Mapping[JobRef, Waits]:
        return waits.read(self.connection, jobs)

    def positions(self, queues: Sequence[QueueRef]) -> Mapping[QueueRef, Position]:
        return events.positions(self.connection, queues)

    def entries(self, after: Mapping[QueueRef, str], *, most: int) -> Sequence[Batch]:
        return self._streams.entries(after, most)

    def glances(self, jobs: Sequence[JobRef]) -> Mapping[JobRef, Glance]:
        return events.glances(self.connection, jobs)

    def server_ms(self) -> int:
        return events.server_ms(self.connection)

    def failed_marks(self, queues: Sequence[QueueRef]) -> Mapping[QueueRef, FailedMark]:
        return failed.marks(self.connection, queues)

    def failed_page(self, queue: QueueRef, *, cursor: str = "", newest_first: bool = False, most: int) -> FailedPage:
        return failed.page(self.connection, queue, cursor=cursor, newest_first=newest_first, most=most)

    def failed_at(self, score_ms: int, job: bytes = b"") -> str:
        return failed.at(score_ms, job)

    def failed_jobs(self, queue: QueueRef, ids: Sequence[bytes], *, data: bool = False) -> Mapping[bytes, FailedJob]:
        return failed.jobs(self.connection, queue, ids, data=data)

    def failed_ids(self, queue: QueueRef, *, cursor: str = "", most: int) -> IdPage:
        return failed.ids(self.connection, queue, cursor=cursor, most=most)

    def letters_marks(self, queues: Sequence[QueueRef]) -> Mapping[QueueRef, LettersMark]:
        return letters.marks(self.connection, queues)

    def letter_ids(self, queue: QueueRef, *, cursor: str = "", most: int) -> IdPage:
        return letters.ids(self.connection, queue, cursor=cursor, most=most)

    def letters(self, queue: QueueRef, ids: Sequence[bytes]) -> Mapping[bytes, FailedJob]:
        return letters.read(self.connection, queue, ids)

    def payloads(self, queue: QueueRef, ids: Sequence[bytes], *, most: int) -> Mapping[bytes, bytes]:
        return {job: found.raw for job, found in thrown.data(self.connection, queue, ids, most=most).items()}

    def schedules(self, queues: Sequence[QueueRef]) -> Mapping[QueueRef, QueueSchedules]:
        return schedulers.read(self.connection, queues)

    def schedule(self, ref: ScheduleRef) -> Schedule | None:
        return schedulers.one(self.connection, ref)

    def close(self) -> None:
        self.connection.close()
