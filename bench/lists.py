"""Pages of jobs: a list of a million against one of a thousand, and against the bare commands of one page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import redis

from bench.measure import KB, elements, in_turn
from bench.report import Table, compared, limited
from bench.stage import Stage, World, queue_page
from queues.backends.bullmq import cursors
from queues.backends.bullmq.cursors import Anchor, Cursor, Position
from queues.backends.bullmq.keys import base
from queues.backends.bullmq.lists import SCAN_BOUND
from queues.backends.bullmq.rows import CAPS
from queues.registry import backend
from queues.types import Order, QueueRef, State

SIZE = 50
MOST_TIMES = 1.2
KEYS = {State.WAITING: b"wait", State.FAILED: b"failed"}


@dataclass(frozen=True)
class View:
    """A page of one list: which state, from which end, from the beginning or from the middle."""

    state: State
    order: Order
    middle: bool

    @property
    def name(self) -> str:
        return f"{self.state}, {self.order} first, {'middle' if self.middle else 'first'} page"

    def cursor(self, client: redis.Redis, ref: QueueRef) -> str:
        """The cursor of the page half way through the list."""
        if not self.middle:
            return ""
        key = base(ref) + KEYS[self.state]
        half = _length(client, key) // 2
        if self.state is State.WAITING:
            return cursors.encode(Cursor(Position(half)))
        member = _ids(client, key, half, half)[0]
        score = client.zscore(key, member) or 0.0
        return cursors.encode(Cursor(Anchor(b"%d" % score, member, 1)))


VIEWS = [View(state, order, middle) for state in KEYS for order in Order for middle in (False, True)]


def run(stage: Stage) -> list[Table]:
    """A page of 50 jobs at 1,000,000 against 1,000 and against the bare pipeline; the filter by name."""
    world = stage.long
    world.watch()
    return [_pages(stage, world), _reads(stage, world), _filter(stage, world)]


def _pages(stage: Stage, world: World) -> Table:
    """Whole pages through Django: long against short."""
    rows = []
    long, short = world.queue(b"long"), world.queue(b"short")
    for view in VIEWS:
        times = in_turn(stage.rounds, long=_page(stage, world, long, view), short=_page(stage, world, short, view))
        rows.append(compared(view.name, times["long"], times["short"], most=MOST_TIMES))
    body = stage.get(queue_page(long, "?state=failed"))
    rows += [limited("size, failed", len(body) / KB, "KB"), limited("elements, failed", elements(body), "")]
    note = f"{_size(world, long)}; floor: the same page of a queue with {_size(world, short)}. In this process."
    return Table("Queue page at 1,000,000 against 1,000", rows, (note,))


def _page(stage: Stage, world: World, ref: QueueRef, view: View) -> Callable[[], object]:
    path = queue_page(ref, f"?state={view.state}&order={view.order}&cursor={view.cursor(world.client, ref)}")
    return lambda: stage.get(path)


def _reads(stage: Stage, world: World) -> Table:
    """What the backend does for one page, against the bare commands for the same jobs."""
    rows = []
    for name in (b"long", b"short"):
        ref = world.queue(name)
        for view in VIEWS:
            if view.order is Order.OLDEST and not view.middle:
                continue
            times = in_turn(stage.rounds, ours=_read(world, ref, view), bare=_bare(world, ref, view))
            rows.append(compared(f"{name.decode()}: {view.name}", times["ours"], times["bare"]))
    note = "Floor: LRANGE or ZRANGE, then one redis-py pipeline of HMGET of the same small fields and HSTRLEN of data."
    return Table("Reading one page of 50 jobs against the bare pipeline", rows, (note,))


def _read(world: World, ref: QueueRef, view: View) -> Callable[[], object]:
    reader, cursor = backend(ref.source), view.cursor(world.client, ref)
    return lambda: reader.jobs(ref, (view.state,), size=SIZE, order=view.order, cursor=cursor)


def _bare(world: World, ref: QueueRef, view: View) -> Callable[[], object]:
    client, key, start = world.client, base(ref) + KEYS[view.state], base(ref)
    fields = [name for name, cap in CAPS.items() if cap]
    first = _length(client, key) // 2 if view.middle else 0

    def call() -> None:
        pipeline = client.pipeline(transaction=False)
        for job in _ids(client, key, first, first + SIZE - 1):
            pipeline.hmget(start + job, fields)
            pipeline.hstrlen(start + job, "data")
        pipeline.execute()

    return call


def _filter(stage: Stage, world: World) -> Table:
    """A name that no job has: the filter looks at as many as it may."""
    ref = world.queue(b"long")
    key, start = base(ref) + b"wait", base(ref)

    def bare() -> None:
        pipeline = world.client.pipeline(transaction=False)
        for job in _ids(world.client, key, 0, SCAN_BOUND - 1):
            pipeline.hget(start + job, "name")
        pipeline.execute()

    times = in_turn(
        max(stage.rounds // 3, 1),
        ours=lambda: stage.get(queue_page(ref, "?state=waiting&name=no-such-name")),
        bare=bare,
    )
    looked_at = min(SCAN_BOUND, _length(world.client, key))
    row = compared("page for a name that no job has", times["ours"], times["bare"])
    note = f"{looked_at:,} jobs are looked at. Floor: LRANGE and one redis-py pipeline of as many HGET."
    return Table("Filter by job name", [row], (note,))


def _ids(client: redis.Redis, key: bytes, first: int, last: int) -> list[bytes]:
    read = client.zrange if key.endswith(b"failed") else client.lrange
    return [job for job in read(key, first, last) if isinstance(job, bytes)]


def _length(client: redis.Redis, key: bytes) -> int:
    return int(client.zcard(key) if key.endswith(b"failed") else client.llen(key))


def _size(world: World, ref: QueueRef) -> str:
    waiting, failed = (_length(world.client, base(ref) + key) for key in KEYS.values())
    return f"{waiting:,} waiting and {failed:,} failed jobs"
