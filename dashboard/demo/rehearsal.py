"""What a job would have come to: the shop's own work done on it without waiting, up to the error that it ends with."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

from bullmq import UnrecoverableError, Worker

from dashboard.demo.catalog import QUEUES
from dashboard.demo.faults import Fault, Weather
from dashboard.demo.payloads import Payload
from dashboard.demo.processors import WORK, Floor


@dataclass(frozen=True)
class Ended:
    """How a job failed for good: as the library keeps it."""

    reason: str
    stack: str
    attempts: int


@dataclass
class Staged(Weather):
    """A weather in which the next call to a service ends as asked, and nothing else goes wrong."""

    next: Fault | None = None

    def fault(self, rng: Random, faults: tuple[Fault, ...], *, calm: float, storm: float) -> Exception | None:
        return self.next(rng) if self.next else None

    def answers(self, bought_at: object) -> bool:
        return False


@dataclass
class _Hurried(Floor):
    async def take(self, shortest: float, longest: float) -> None:
        pass

    async def log(self, job: Any, row: str) -> None:
        pass


@dataclass(frozen=True)
class _Job:
    data: Payload
    name: str
    id: str = "0"
    opts: Mapping[str, Any] = field(default_factory=dict)

    async def updateProgress(self, progress: object) -> None:  # noqa: N802 - the library's name
        """As of the library's jobs."""


async def ended(rng: Random, queue: str, name: str, data: Payload, fault: Fault | None) -> Ended:
    """Work on it until it fails; ValueError when it does not."""
    floor = _Hurried(rng, {}, Staged(next=fault))
    try:
        await WORK[queue](floor, _Job(data, name), "")
    except Exception as error:
        once = isinstance(error, UnrecoverableError)
        attempts = 1 if once else int(QUEUES[queue].options.get("attempts", 1))
        return Ended(str(error), _stack(error), attempts)
    raise ValueError(f"{name} of {queue} does not fail")


def _stack(error: Exception) -> str:
    """The traceback as a worker of the library would have it: from its own frame on."""
    told = traceback.TracebackException.from_exception(error)
    told.stack[0] = _worker()
    return "".join(told.format())


@cache
def _worker() -> traceback.FrameSummary:
    """The line of the library that calls a processor."""
    lines, first = inspect.getsourcelines(Worker.processJob)
    at = next((number for number, line in enumerate(lines) if "self.processor(job, token)" in line), 0)
    return traceback.FrameSummary(inspect.getfile(Worker), first + at, "processJob")
