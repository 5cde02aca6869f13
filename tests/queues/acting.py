"""Actions in memory, for losses and races that a real server cannot be made to show on demand, and how to run them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace

from queues import operations
from queues.actions import Action, Members, Outcome, Result, Step, Stored, Target
from queues.audit import Actor, Asked
from queues.bulk import running
from queues.bulk.running import Later
from queues.errors import Unreachable, Unsure
from queues.models import AuditEntry, Bulk
from queues.registry import SourceConfig
from queues.types import QueueRef, State
from tests.queues.fakes import FakeBackend, counts

SHOP = QueueRef("main", b"bull", b"shop")
OLGA = Asked(Actor("olga", "operator", "10.0.0.1"))


class FakeActions:
    """Failed jobs, by id and score, that are retried. `asked` is every batch that came; faults are set by tests."""

    commands_sent = 0

    def __init__(self) -> None:
        self.failed: dict[bytes, bytes] = {}
        self.retried: list[bytes] = []
        self.asked: list[Sequence[Target]] = []
        self.down = False
        self.loses_answer_after: int | None = None  # results that still arrive, once
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[], None] = lambda: None
        self.pages = 0
        self.steps: list[Step] = []
        self.swept: list[str] = []  # cursors

    def fail(self, number: int, score: bytes = b"1000") -> None:
        self.failed |= {b"%d" % each: score for each in range(number)}

    def _reach(self) -> None:
        self.before()
        if self.down:
            raise Unreachable("127.0.0.1:1/0 refuses connections.", source="main")

    def unable(self, queue: QueueRef) -> Mapping[Action, str]:
        return {}

    def read_only(self, queue: QueueRef) -> str:
        return ""

    def stored(self, queue: QueueRef, ids: Sequence[bytes], *, most: int) -> Mapping[bytes, Stored]:
        return {}

    def members(
        self, queue: QueueRef, state: State, *, cursor: str = "", until_ms: int, name: str = "", most: int
    ) -> Members:
        self._reach()
        self.pages += 1
        at, ids = int(cursor or 0), sorted(self.failed, key=int)
        page = [Target(job, self.failed[job]) for job in ids[at : at + most] if int(self.failed[job]) < until_ms]
        return Members(page, len(page), str(at + most) if at + most < len(ids) else None)

    def retry(
        self, queue: QueueRef, targets: Sequence[Target], *, state: State, reset: bool, twins: bool = False
    ) -> Sequence[Result]:
        self._reach()
        self.asked.append(targets)
        results = [self._retried(target) for target in targets]
        self.after()
        if self.loses_answer_after is not None:
            told, self.loses_answer_after = results[: self.loses_answer_after], None
            raise Unsure("The answer was lost.", source="main", results=told)
        return results

    def _retried(self, target: Target) -> Result:
        score = self.failed.get(target.id)
        if score is None:
            return Result(target.id, Outcome.ALREADY, State.WAITING)
        if score != target.seen:
            return Result(target.id, Outcome.WRONG_STATE, State.FAILED)
        del self.failed[target.id]
        self.retried.append(target.id)
        return Result(target.id, Outcome.DONE)

    def drain(self, queue: QueueRef, *, delayed: bool, until_ms: int, cursor: str = "") -> Step:
        self._reach()
        self.swept.append(cursor)
        step = self.steps[int(cursor or 0)]
        if self.loses_answer_after is not None:
            self.loses_answer_after = None
            raise Unsure("The answer was lost.", source="main")
        self.after()
        return step

    def close(self) -> None: ...


class FakeQueues(FakeBackend):
    """With the server's clock."""

    def server_ms(self) -> int:
        self._call()
        return 5_000


def as_kind(made: FakeActions) -> SimpleNamespace:
    """A module to stand at `queues.backends.memory`."""

    def connect(config: SourceConfig, *, connections: int = 16) -> FakeQueues:
        backend = FakeQueues(config.name)
        backend.add("shop", counts(waiting=5, failed=len(made.failed)))
        return backend

    return SimpleNamespace(connect=connect, actions=lambda config: made)


def bulk_of(entry: AuditEntry) -> Bulk:
    return Bulk.objects.get(entry=entry)


def a_slice(entry: AuditEntry, *, seconds: float = 60.0) -> Later | None:
    """One slice, of any length."""
    bulk = bulk_of(entry)
    return running.run(bulk.pk, bulk.epoch, slice_s=seconds)


def to_its_end(entry: AuditEntry) -> AuditEntry:
    """Slice after slice until it has ended."""
    while a_slice(entry):
        pass
    entry.refresh_from_db()
    return entry


def retry_all(expected: int | None = None, until_ms: int = 5_000) -> AuditEntry:
    """Retrying all failed jobs, begun."""
    return operations.start_bulk(
        OLGA, SHOP, Action.RETRY, None, state=State.FAILED, expected=expected, until_ms=until_ms, parameters={}
    )


def retry(*ids: bytes) -> AuditEntry:
    """Retrying these jobs, begun."""
    targets = [Target(job, b"1000") for job in ids]
    return operations.start_bulk(OLGA, SHOP, Action.RETRY, targets, state=State.FAILED, parameters={"reset": False})


def outcome(entry: AuditEntry) -> tuple[str, dict[str, int]]:
    """How an action ended, and with which outcomes."""
    return entry.status, entry.outcomes
