"""A queue system in memory, for races and failures that a real server cannot be made to show on demand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from queues.actions import Action, Clock, HeldIds, NewJob, Outcome, Result, Step, Stored, Target
from queues.errors import NotFound, Unreachable
from queues.health import Health
from queues.registry import SourceConfig
from queues.types import (
    Capability,
    Counts,
    Found,
    Job,
    JobPage,
    JobRef,
    LogPage,
    Oldest,
    Order,
    QueueInfo,
    QueueRef,
    State,
    Waits,
    Worker,
    Workers,
)
from tests.queues.fake_failures import FakeFailures

EMPTY: Mapping[State, int] = dict.fromkeys(State, 0)


def counts(*, paused: bool = False, parked: int = 0, oldest: Oldest | None = None, **by_state: int) -> Counts:
    """Counts with `waiting=3` and the like; states that are not named hold nothing."""
    named = {State(name.replace("_", "-")): number for name, number in by_state.items()}
    return Counts({**EMPTY, **named}, paused=paused, parked=parked, oldest=oldest)


def ref(name: str, source: str = "main") -> QueueRef:
    return QueueRef(source, b"bull", name.encode())


class FakeBackend(FakeFailures):
    """Queues as a dictionary. `down` makes every call raise; `between` runs between two steps of a scan."""

    address = "127.0.0.1:1/0"
    capabilities = frozenset(Capability)

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.queues: dict[QueueRef, Counts] = {}
        self.hidden: set[QueueRef] = set()  # there, but not seen by a scan
        self.workers_of: Workers = Workers()
        self.down = ""
        self.gate: threading.Event | None = None
        self.between: Callable[[int], None] = lambda step: None
        self.after_workers: Callable[[], None] = lambda: None
        self.commands_sent = 0

    def add(self, name: str, found: Counts | None = None, *, workers: int = 0) -> QueueRef:
        queue = ref(name, self.source)
        self.queues[queue] = found or counts()
        known = dict(self.workers_of.by_queue)
        known[queue.prefix, queue.name] = [Worker("", f"127.0.0.1:{n}", 0, 0) for n in range(workers)]
        self.workers_of = Workers(known)
        return queue

    def _call(self) -> None:
        self.commands_sent += 1
        if self.gate:
            self.gate.wait(30)
        if self.down:
            raise Unreachable(self.down, source=self.source)

    def health(self) -> Health:
        self._call()
        return Health("Valkey", "9.1", "standalone", "master", memory_used=1, refused=("CONFIG GET",))

    def discover(self) -> Iterator[tuple[int, Sequence[QueueRef]]]:
        for step, queue in enumerate(sorted(self.queues, key=lambda each: each.name), 1):
            self.between(step)
            self._call()
            yield step * 10, [] if queue in self.hidden else [queue, queue]

    def counts(self, queues: Sequence[QueueRef]) -> Mapping[QueueRef, Counts]:
        self._call()
        nothing = Counts(EMPTY, paused=False, exists=False)
        return {queue: self.queues.get(queue, nothing) for queue in queues}

    def workers(self) -> Workers:
        self._call()
        self.after_workers()
        return self.workers_of

    def queue(self, queue: QueueRef) -> QueueInfo:
        raise NotFound("not part of this fake")

    def jobs(
        self,
        queue: QueueRef,
        states: Sequence[State],
        *,
        size: int = 50,
        order: Order = Order.NEWEST,
        cursor: str = "",
        name: str = "",
    ) -> JobPage:
        raise NotFound("not part of this fake")

    def job(self, job: JobRef) -> Job:
        raise NotFound("not part of this fake")

    def logs(self, job: JobRef, *, first: int | None = None) -> LogPage:
        raise NotFound("not part of this fake")

    def body(self, job: JobRef, name: bytes) -> bytes:
        raise NotFound("not part of this fake")

    def find(self, queues: Sequence[QueueRef], job_id: bytes) -> Sequence[Found]:
        raise NotFound("not part of this fake")

    def older(self, queue: QueueRef, state: State, clock: Clock, before_ms: int) -> int | None:
        return None

    def holder(self, queue: QueueRef, deduplication_id: bytes) -> JobRef | None:
        return None

    def held(self, queue: QueueRef, *, cursor: str = "") -> HeldIds:
        return HeldIds((), 0, 0, touches=False, cursor=None)

    def waits(self, jobs: Sequence[JobRef]) -> Mapping[JobRef, Waits]:
        return {}

    def close(self) -> None: ...


class ScriptedActions:
    """Actions that answer what a test says, else that all is done. `calls` is every writing call that came.

    An answer is a value, an exception to be raised, or a function of the call's arguments.
    """

    commands_sent = 0

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.answers: dict[str, Any] = {}
        self.forbidden = ""
        self.probes = 0
        self.lacks: dict[Action, str] = {}
        self.jobs: dict[bytes, Stored] = {}

    def read_only(self, queue: QueueRef) -> str:
        self.probes += 1
        return self.forbidden

    def unable(self, queue: QueueRef) -> Mapping[Action, str]:
        return self.lacks

    def stored(self, queue: QueueRef, ids: Sequence[bytes], *, most: int) -> Mapping[bytes, Stored]:
        return {job: self.jobs[job] for job in ids if job in self.jobs}

    def add(self, queue: QueueRef, job: NewJob, *, token: str) -> Result:
        usual = Result(b"", Outcome.DONE, made=job.id or b"100")
        added: Result = self._called("add", (queue, job), {"token": token}, usual)
        return added

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        if verb.startswith("_"):
            raise AttributeError(verb)
        return lambda *positional, **named: self._called(verb, positional, named, _all_done(positional, verb))

    def _called(self, verb: str, positional: tuple[Any, ...], named: dict[str, Any], usual: Any) -> Any:
        self.calls.append((verb, positional, named))
        answer = self.answers.get(verb, usual)
        if callable(answer):
            answer = answer(*positional, **named)
        if isinstance(answer, Exception):
            raise answer
        return answer


def _all_done(positional: tuple[Any, ...], verb: str) -> Any:
    if verb in ("pause", "resume", "trim_events", "drain", "clean", "obliterate"):
        return Step(1)
    if len(positional) > 1 and isinstance(positional[1], Sequence) and not isinstance(positional[1], (bytes, str)):
        targets: Sequence[Target] = positional[1]
        return [Result(target.id, Outcome.DONE) for target in targets]
    return Result(b"", Outcome.DONE)


def as_kind(actions: ScriptedActions | None = None) -> SimpleNamespace:
    """A module to stand at `queues.backends.memory`."""

    def connect(config: SourceConfig, *, connections: int = 16) -> FakeBackend:
        return FakeBackend(config.name)

    return SimpleNamespace(connect=connect, actions=lambda config: actions or ScriptedActions())
