"""The order in which things are measured, each with as much running as it is about."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.live import load, watchers
from bench.live.crowd import Crowd, crowd
from bench.live.listening import listen
from bench.live.load import Helper, Load, Plan
from bench.live.marks import Marks
from bench.live.meters import Usage, measured
from bench.live.product import BENCH, Product, Tally, running, settled
from bench.live.watchers import Watcher, watching
from bench.stage import Stage
from queues.backends.bullmq.connection import CLIENT_NAME

SHOWN_ROWS = 100  # rows of the overview that a page shows at first
LISTEN_S = 5.0
SETTLE_S = 5.0  # for marks that are on their way when the measured time ends
MIX = ("overview", "queue", "overview", "queue", "job")


@dataclass
class Figures:
    """All that was measured."""

    size: Load
    floor: dict[str, Any] = field(default_factory=dict)
    written: dict[str, Any] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    alone: Usage = field(default_factory=Usage)  # no page open, the floor beside it
    one: Usage = field(default_factory=Usage)  # one overview
    same: Usage = field(default_factory=Usage)  # as many overviews as there are pages in the mix
    mixed: Usage = field(default_factory=Usage)  # overviews, queues and jobs
    pages: Sequence[Watcher] = ()  # those of the mix
    marks: Marks | None = None
    crowd: Crowd = field(default_factory=Crowd)


def measure(stage: Stage) -> Figures:
    """Everything in turn. The streams are compared with the follower's sums when nobody writes any more."""
    figures = Figures(Load.of(stage))
    with running(stage, figures.size) as product:
        plan = Plan(product.port, 0, product.names, figures.size.rate, product.still)
        before = settled(product)
        with load.generator(plan) as writing:
            asyncio.run(_loaded(product, figures, plan, writing))
            figures.written = writing.end()
        figures.tally = settled(product).since(before)
        figures.crowd = asyncio.run(crowd(product, figures.size))
    return figures


async def _loaded(product: Product, figures: Figures, plan: Plan, writing: Helper) -> None:
    """The phases under load: nobody, one page, many of the same, and the mix, in which marks are made."""
    size, made = figures.size, Marks(product.world.client, product.marked)
    figures.marks = made
    with load.floor(plan) as reading:
        figures.alone = await _phase(product, writing, [], size.phase_s)
        figures.floor = await asyncio.to_thread(reading.end)
    figures.one = await _phase(product, writing, _pages(product, made, 1, ("overview",)), size.phase_s)
    same = _pages(product, made, size.sockets, ("overview",))
    figures.same = await _phase(product, writing, same, size.phase_s)
    figures.pages = _pages(product, made, size.sockets, MIX)
    figures.mixed = await _phase(product, writing, figures.pages, size.seconds, made)


async def _phase(
    product: Product, writing: Helper, pages: Sequence[Watcher], seconds: float, made: Marks | None = None
) -> Usage:
    """What running costs while these pages are open, from when each has had its first frame."""
    processes = {
        "follower": product.follower.pid,
        "web": product.web.process.pid,
        "monitored": product.monitored,
        "app": product.own,
        "generator": writing.process.pid,
        "pages": os.getpid(),
    }
    async with watching(pages, product.web.port, product.cookie):
        with measured(processes) as usage:
            beat = asyncio.create_task(asyncio.to_thread(made.run)) if made else None
            await asyncio.sleep(seconds)
        if made and beat:
            made.end()
            await beat
            await asyncio.sleep(min(seconds, SETTLE_S))
        usage.monitored, usage.own = await asyncio.gather(
            asyncio.to_thread(listen, product.world.client, CLIENT_NAME.__eq__, min(seconds, LISTEN_S)),
            asyncio.to_thread(listen, product.app, BENCH.__ne__, min(seconds, LISTEN_S)),
        )
    return usage


def _pages(product: Product, made: Marks, number: int, mix: Sequence[str]) -> list[Watcher]:
    """So many pages, their kinds in turn; those of a queue or a job one after the other of all that are marked."""
    shown = product.world.refs[:SHOWN_ROWS]  # the marked ones come first
    pages = []
    for place in range(number):
        kind, ref = mix[place % len(mix)], product.marked[place // len(mix) % len(product.marked)]
        if kind == "overview":
            pages.append(watchers.overview(product.world.config.name, made, shown))
        else:
            pages.append(watchers.queue(ref) if kind == "queue" else watchers.job(ref))
    return pages
