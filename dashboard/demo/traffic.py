"""One process of demo traffic from start to stop: claims the database, works, produces, and ends on a signal."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sys
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, NoReturn

from dashboard.demo import crashy, marker, past, seeds
from dashboard.demo.catalog import QUEUES, SHIPPING
from dashboard.demo.deadletters import DeadLetters
from dashboard.demo.processors import WORK, Floor
from dashboard.demo.shop import Say, Shop
from dashboard.demo.streams import STREAMS

GRACE_SECONDS = 2.0
CANCEL_SECONDS = 1.0


@dataclass(frozen=True)
class Plan:
    """How to run. `rate` multiplies the flow of jobs; `crash_every` is in seconds, 0 leaves the fragile worker out."""

    url: str
    rate: float = 1.0
    crash_every: float = 90.0
    asked: bool = False


async def run_shop(plan: Plan, say: Say) -> None:
    """Producers and workers until SIGTERM or SIGINT. Raises marker.ForeignDatabase before anything is written."""

    async def life(shop: Shop, rng: Random) -> None:
        await shop.persist(lambda: marker.claim(shop.client, asked=plan.asked))
        floor = Floor(rng, shop.queues)
        _start_workers(shop, floor, plan.rate)
        await seeds.plant(shop, rng)
        began = await shop.persist(lambda: marker.time_of(shop.client, seeds.past_week.__name__))
        floor.weather.trouble_until = began + past.TROUBLE_S
        say(f"{len(QUEUES)} queues have their history; jobs flow at rate {plan.rate:g}.")
        async with asyncio.TaskGroup() as group:
            for stream in STREAMS if plan.rate else ():
                group.create_task(stream.run(shop, rng, plan.rate))
            if plan.crash_every:
                group.create_task(crashy.keep_killing(shop, plan.url, rng, plan.crash_every, say))
            group.create_task(_for_ever())

    await _until_signal(plan.url, say, life)


async def run_crashy(url: str, say: Say) -> None:
    """The fragile worker alone, until a signal, a kill, or the end of the process that started it."""
    crashy.die_with_parent()

    async def life(shop: Shop, rng: Random) -> None:
        floor = Floor(rng, shop.queues)
        # Only the steady process tells the weather: a new storm at every restart would be one too many.
        floor.weather.storm = 0
        shop.work(QUEUES[SHIPPING], partial(WORK[SHIPPING], floor), concurrency=3, **crashy.LEASE)
        say("At work.")
        await crashy.parent_gone()

    await _until_signal(url, say, life)


def _start_workers(shop: Shop, floor: Floor, rate: float) -> None:
    letters = DeadLetters(shop)
    for name, work in WORK.items():
        spec = QUEUES[name]
        lease: dict[str, Any] = crashy.LEASE if name == SHIPPING else {}
        hands = math.ceil(spec.concurrency * max(1.0, rate))
        worker = shop.work(spec, partial(work, floor), concurrency=hands, **lease)
        if name == "payments":
            worker.on("failed", letters.failed)


async def _until_signal(url: str, say: Say, life: Callable[[Shop, Random], Coroutine[Any, Any, None]]) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    shop = Shop(url, say)
    living = asyncio.create_task(life(shop, Random()))  # noqa: S311 - invented data, no secret
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait((living, stopping), return_when=asyncio.FIRST_COMPLETED)
    failure = living.exception() if living.done() else None
    shop.closing = True
    living.cancel()
    stopping.cancel()
    await asyncio.wait((living, stopping), timeout=CANCEL_SECONDS)
    await shop.close(GRACE_SECONDS)
    if shop.workers:
        _leave(failure)
    if failure:
        raise failure


def _leave(failure: BaseException | None) -> NoReturn:
    """End without `asyncio.run`'s farewell, which waits without end for every task that it has cancelled.

    A cancellation can get lost: in Python 3.11's `wait_for`, which redis-py calls for each command that it sends.
    """
    if failure:
        traceback.print_exception(failure)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1 if failure else 0)


async def _for_ever() -> None:
    await asyncio.Event().wait()
