"""Pages that are left open: each is a socket, what it has been shown, and when it showed which mark."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.live import marks
from bench.live.frames import Closed, Refused, Socket
from bench.live.marks import Marks
from dashboard.live.parts import row_key
from queues.types import QueueRef

EARLY_MS = 2_000
AT_ONCE = 20  # sockets that are being opened
PATH = "/live/"
Find = Callable[[bytes, Mapping[str, Any]], Iterable[int]]


@dataclass
class Watcher:
    """One open page. `find` gives the marks that a frame shows; `shown` is when each was first seen, in ms."""

    kind: str
    watch: Mapping[str, Any]
    find: Find
    ref: QueueRef | None = None
    rows: Sequence[str] = ()
    shown: dict[int, float] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    pulses: Counter[str] = field(default_factory=Counter)
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    ended: str = ""  # why it ended before its time

    async def run(self, port: int, cookie: str, gate: asyncio.Semaphore) -> None:
        """Watch until cancelled, and put each frame on the screen at once."""
        try:
            async with gate:
                socket = await Socket.open(port, PATH, cookie)
            try:
                socket.send(json.dumps({"watch": {**self.watch, "read": _now_ms()}, "rows": self.rows}).encode())
                async for text in socket.messages():
                    self._receive(socket, text, time.time() * 1000)
            finally:
                socket.close()
        except (Closed, Refused, OSError) as error:
            self.ended = f"{type(error).__name__}: {error}"
        finally:
            self.opened.set()

    def _receive(self, socket: Socket, text: bytes, now: float) -> None:
        frame = json.loads(text)
        for number in self.find(text, frame):
            self.shown.setdefault(number, now)
        self.parts.update(frame.get("parts", {}))
        self.sizes.append(len(text))
        self.pulses[frame["pulse"]] += 1
        socket.send(b'{"ack": %d}' % frame["n"])
        self.opened.set()


@contextlib.asynccontextmanager
async def watching(watchers: Sequence[Watcher], port: int, cookie: str) -> AsyncIterator[None]:
    """All of them open, and each with its first frame, in the block."""
    gate = asyncio.Semaphore(AT_ONCE)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(watcher.run(port, cookie, gate)) for watcher in watchers]
        try:
            await asyncio.wait_for(asyncio.gather(*(watcher.opened.wait() for watcher in watchers)), 120)
            yield
        finally:
            for task in tasks:
                task.cancel()


def overview(source: str, made: Marks, rows: Sequence[QueueRef]) -> Watcher:
    """The overview with these rows on the screen; it shows a mark by the count of failed jobs."""
    keys = {ref: f"{row_key(ref)}-" for ref in made.refs}

    def find(_text: bytes, frame: Mapping[str, Any]) -> Iterable[int]:
        parts = frame.get("parts", {})
        return [number for ref, key in keys.items() for number in made.counted(ref, parts, key)]

    watch = {"page": "overview", "sources": [source]}
    return Watcher("overview", watch, find, rows=[row_key(ref) for ref in rows])


def queue(ref: QueueRef, after: str = "0-0") -> Watcher:
    """The page of a queue; its feed shows a mark by the id of the job that failed."""
    watch = {"page": "queue", "sources": [ref.source], "queue": ref.slug, "after": after}
    return Watcher("queue", watch, lambda text, _frame: map(int, marks.NUMBERS.findall(text)), ref)


def job(ref: QueueRef, after: str = "0-0") -> Watcher:
    """The page of the job that tells progress, which is the number of the mark."""
    slug = marks.told(ref).slug
    watch = {"page": "job", "sources": [ref.source], "queue": ref.slug, "job": slug, "after": after}
    return Watcher("job", watch, lambda text, _frame: map(int, marks.STEPS.findall(text)), ref)


@dataclass
class Delays:
    """Ms from marks to the sockets that have to show them. `early` and `missed` were never shown."""

    found: list[float] = field(default_factory=list)
    early: int = 0  # of the first two seconds: the follower may not know yet that somebody watches
    missed: int = 0


def delays(watchers: Iterable[Watcher], made: Marks) -> Delays:
    """Each pair of a mark and a socket that has to show it is one value."""
    told = Delays()
    for watcher in watchers:
        moments = made.stepped if watcher.kind == "job" else made.at
        for number in made.of(watcher.ref) if watcher.ref else range(len(moments)):
            if number in watcher.shown:
                told.found.append(watcher.shown[number] - moments[number])
            elif moments[number] < moments[0] + EARLY_MS:
                told.early += 1
            else:
                told.missed += 1
    return told


def _now_ms() -> int:
    return int(time.time() * 1000)
