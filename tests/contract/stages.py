"""What a backend brings to the contract suite: itself over an empty server, and a way to put jobs there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Protocol

import pytest

from queues.backend import Actions, Backend
from queues.backends import bullmq
from queues.events import EventKind
from queues.types import QueueRef, State
from tests.seed import seed_queue
from tests.valkey import Server, StartRedis


class Stage(Protocol):
    """One backend on its stage. A further backend adds a class like this one and its name to `STAGES`."""

    backend: Backend
    actions: Actions  # only for a backend with `Capability.ACTIONS`

    def fill(self, name: str, amounts: Mapping[State, int]) -> QueueRef:
        """A queue with so many jobs in each state, ids counting up from 1 in the order in which they were made."""

    def log(self, queue: QueueRef, job_id: bytes, lines: int) -> None:
        """Give a job so many log lines: `line 1` and so on."""

    def tell(self, queue: QueueRef, kind: EventKind, job_id: bytes) -> None:
        """Let the queue's stream tell this of a job. Only for a backend with `Capability.EVENTS`."""

    def repeat(self, queue: QueueRef, schedule: bytes, *, every_ms: int, next_ms: int) -> None:
        """A schedule with its next run. Only for a backend with `Capability.SCHEDULES`."""

    def stop(self) -> None:
        """Take the server away. Nothing else can be done on this stage afterwards."""


class BullMQStage:
    def __init__(self, server: Server) -> None:
        self.server = server
        self.backend = bullmq.connect(server.config())
        self.actions = bullmq.actions(server.config())

    def fill(self, name: str, amounts: Mapping[State, int]) -> QueueRef:
        with self.server.client() as client:
            counts = {state.value.replace("-", "_"): amount for state, amount in amounts.items()}
            return seed_queue(client, name, **counts)  # type: ignore[arg-type]

    def log(self, queue: QueueRef, job_id: bytes, lines: int) -> None:
        with self.server.client() as client:
            key = b"%b:%b:%b:logs" % (queue.prefix, queue.name, job_id)
            client.rpush(key, *[f"line {number}" for number in range(1, lines + 1)])

    def tell(self, queue: QueueRef, kind: EventKind, job_id: bytes) -> None:
        with self.server.client() as client:
            key = b"%b:%b:events" % (queue.prefix, queue.name)
            client.xadd(key, {"event": kind.value, "jobId": job_id})

    def repeat(self, queue: QueueRef, schedule: bytes, *, every_ms: int, next_ms: int) -> None:
        base = b"%b:%b:" % (queue.prefix, queue.name)
        job = b"repeat:%b:%d" % (schedule, next_ms)
        rule = json.dumps({"repeat": {"every": every_ms, "count": 1}})
        with self.server.client() as client:
            client.zadd(base + b"repeat", {schedule: next_ms})
            client.hset(base + b"repeat:" + schedule, mapping={"name": "tick", "every": every_ms, "offset": 0, "ic": 1})
            client.hset(base + job, mapping={"name": "tick", "data": "{}", "opts": rule, "timestamp": 1})
            client.zadd(base + b"delayed", {job: next_ms * 4096})

    def stop(self) -> None:
        self.server.stop()


def _bullmq(request: pytest.FixtureRequest) -> Stage:
    start: StartRedis = request.getfixturevalue("start_redis")
    return BullMQStage(start())


STAGES: Mapping[str, Callable[[pytest.FixtureRequest], Stage]] = {"bullmq": _bullmq}
