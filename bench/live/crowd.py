"""Many pages of one queue: whether all of them end with what is true."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from bench.live import load, watchers
from bench.live.load import Load, Plan
from bench.live.marks import Marks
from bench.live.meters import Usage, measured
from bench.live.product import CROWDED, Product
from bench.live.watchers import Delays, Watcher, watching
from queues.registry import backend
from queues.types import QueueRef, State

ENDS_WITHIN_S = 30.0
Counted: TypeAlias = Mapping[str, int | None]
LIVE_COUNTS = (State.WAITING, State.ACTIVE, State.COMPLETED, State.FAILED)


@dataclass(frozen=True)
class Crowd:
    """What became of the sockets. `last_s` is from the last event until all had the final state."""

    sockets: int = 0
    opened_s: float = 0
    right: int = 0
    last_s: float | None = None
    delays: Delays = field(default_factory=Delays)
    rate: float = 0
    usage: Usage = field(default_factory=Usage)
    ended: Sequence[str] = ()


async def crowd(product: Product, size: Load) -> Crowd:
    """Load on one queue while all sockets watch it, then a last mark, then time for all to show it."""
    ref = product.world.queue(CROWDED)
    made = Marks(product.world.client, [ref])
    pages = [watchers.queue(ref) for _ in range(size.crowd)]
    plan = Plan(product.port, 0, [CROWDED.decode()], size.crowd_rate)
    before, began = await asyncio.to_thread(_truth, ref), time.monotonic()
    async with watching(pages, product.web.port, product.cookie):
        opened = time.monotonic() - began
        processes = {"web": product.web.process.pid, "follower": product.follower.pid}
        with measured(processes) as usage, load.generator(plan) as writing:
            beat = asyncio.create_task(asyncio.to_thread(made.run))
            await asyncio.sleep(size.crowd_s)
            made.end()
            await beat
            told = await asyncio.to_thread(writing.end)
        made.make()
        last = time.monotonic()
        truth = await asyncio.to_thread(_truth, ref)
        took = await _all_right(lambda page: _shows(page, made, before, truth), pages, last)
    delays = watchers.delays(pages, made)
    right = sum(_shows(page, made, before, truth) for page in pages)
    ended = [page.ended for page in pages if page.ended]
    return Crowd(len(pages), opened, right, took, delays, told["events"] / told["seconds"], usage, ended)


async def _all_right(is_right: Callable[[Watcher], bool], pages: Sequence[Watcher], since: float) -> float | None:
    """Seconds until all showed the truth; None when they do not within the time."""
    while time.monotonic() < since + ENDS_WITHIN_S:
        if all(map(is_right, pages)):
            return time.monotonic() - since
        await asyncio.sleep(0.05)
    return None


def _truth(ref: QueueRef) -> Counted:
    """What the server holds, as the page's tabs count it."""
    counts = backend(ref.source).counts([ref])[ref]
    return {f"tab-{state}": counts[state] for state in LIVE_COUNTS}


def _shows(page: Watcher, made: Marks, before: Counted, truth: Counted) -> bool:
    """Whether the last mark is in its feed, and every number right: as last sent, else as the page was read."""
    found = {name: _count(page.parts[name]) if name in page.parts else before[name] for name in truth}
    return len(made.at) - 1 in page.shown and found == truth


def _count(part: str) -> int | None:
    found = re.search(r'data-count="(\d+)"', part)
    return int(found[1]) if found else None
