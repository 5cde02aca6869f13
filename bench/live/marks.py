"""Events that can be told apart on a screen: when each happened, and how it is found in what a socket receives."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import redis

from bench.live.load import MAX_LEN
from queues.types import JobRef, QueueRef
from tests.seed import seed_job, seed_queue

BASE = 300  # failed jobs that each marked queue begins with: no other figure of its row is as large
MEAN_EVERY_S = 0.5
TOLD = b"told"  # the job that tells progress
NUMBERS = re.compile(rb"mark-(\d+)")
STEPS = re.compile(rb"step-(\d+)")
_TAGS = re.compile(r"<[^>]*>")
_FIGURES = re.compile(r"\d[\d,]*")


def seed(client: redis.Redis, name: str, source: str) -> QueueRef:
    """A queue whose failed jobs only marks change, with an active job that tells progress."""
    ref = seed_queue(client, name, waiting=5, completed=5, failed=BASE, step_ms=60_000.0, source=source)
    seed_job(client, ref, TOLD, timestamp=_now_ms(), processedOn=_now_ms(), ats=1)
    client.lpush(_key(ref, b"active"), TOLD)
    return ref


@dataclass
class Marks:
    """Writes marks to its queues in turn from a thread: the failing of a job, and a step of progress.

    `at` and `stepped` are the moments by the ids that the server gave, in ms; mark n belongs to queue n % queues.
    """

    client: redis.Redis
    refs: Sequence[QueueRef]
    at: list[int] = field(default_factory=list)
    stepped: list[int] = field(default_factory=list)
    _ending: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Until `end`, at moments that follow no beat of ours."""
        chance = random.Random(20_000)
        while not self._ending.wait(chance.uniform(0.2, 1.8) * MEAN_EVERY_S):
            self.make()

    def end(self) -> None:
        self._ending.set()

    def make(self) -> None:
        """One more mark, as BullMQ's scripts do it: what the lists say and what the stream says change as one."""
        number, now = len(self.at), _now_ms()
        ref, job, reason = self.queue_of(number), b"mark-%d" % number, b"mark-%d did not go well" % number
        xadd = ("XADD", _key(ref, b"events"), "MAXLEN", "~", MAX_LEN, "*", "event")
        with self.client.pipeline(transaction=True) as pipe:
            pipe.hset(_key(ref, job), items=_failed_job(reason, now))
            pipe.zadd(_key(ref, b"failed"), {job: now})
            pipe.execute_command(*xadd, "failed", "jobId", job, "failedReason", reason, "prev", "active")  # type: ignore[no-untyped-call]
            pipe.hset(_key(ref, TOLD), "progress", f'"step-{number}"')
            pipe.execute_command(*xadd, "progress", "jobId", TOLD, "data", f'"step-{number}"')  # type: ignore[no-untyped-call]
            replies = pipe.execute()
        self.at.append(int(replies[2].split(b"-")[0]))
        self.stepped.append(int(replies[4].split(b"-")[0]))

    def queue_of(self, number: int) -> QueueRef:
        return self.refs[number % len(self.refs)]

    def of(self, ref: QueueRef) -> Sequence[int]:
        """The numbers of this queue's marks."""
        place = list(self.refs).index(ref)
        return range(place, len(self.at), len(self.refs))

    def counted(self, ref: QueueRef, parts: Mapping[str, str], key: str) -> Iterable[int]:
        """The marks of a queue that a row counts by now, from the largest figure that its parts show."""
        most = max(
            (figure for name, part in parts.items() if name.startswith(key) for figure in _figures(part)), default=0
        )
        return list(self.of(ref))[: max(most - BASE, 0)]


def told(ref: QueueRef) -> JobRef:
    return JobRef(ref, TOLD)


def _figures(part: str) -> Iterable[int]:
    figures = (int(found.replace(",", "")) for found in _FIGURES.findall(_TAGS.sub(" ", part)))
    return (figure for figure in figures if BASE <= figure < 2 * BASE)


def _failed_job(reason: bytes, now: int) -> list[str | bytes | int]:
    return [
        *("name", "send", "data", "{}", "opts", '{"attempts":1}', "timestamp", now - 200, "delay", 0, "priority", 0),
        *("processedOn", now - 100, "finishedOn", now, "failedReason", reason, "stacktrace", "[]", "ats", 1, "atm", 1),
    ]


def _key(ref: QueueRef, suffix: bytes) -> bytes:
    return b"%b:%b:%b" % (ref.prefix, ref.name, suffix)


def _now_ms() -> int:
    return int(time.time() * 1000)
