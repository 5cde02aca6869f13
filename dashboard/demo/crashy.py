"""The shop's fragile worker: a process of its own that is killed now and then, so that its jobs stall."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from random import Random

from django.conf import settings

from dashboard.demo.catalog import SHIPPING
from dashboard.demo.shop import Say, Shop

URL_VARIABLE = "DEMO_REDIS_URL"
PARENT_VARIABLE = "DEMO_PARENT"
# Short leases: a stalled job is found in seconds rather than in the library's half minute.
LEASE = {"lockDuration": 6_000, "stalledInterval": 3_000}
PR_SET_PDEATHSIG = 1


async def keep_killing(shop: Shop, url: str, rng: Random, every: float, say: Say) -> None:
    """Start the worker, let it live for about `every` seconds, kill it in the middle of a job, start over."""
    life = min(every, 15.0)
    while True:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(settings.BASE_DIR / "manage.py"), "demo_traffic", "--role", "crashy"),
            # By environment: a command line is open to everybody on the machine, and the address may hold a password.
            env={**os.environ, URL_VARIABLE: url, PARENT_VARIABLE: str(os.getpid())},
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            await _first_words(process)
            await _let_live(process, life)
            if process.returncode is None:
                await _wait_until_busy(shop)
        finally:
            await _end(process)
        if process.returncode == -signal.SIGKILL:
            say(f"Killed the {SHIPPING} worker: the jobs in its hands stall and are picked up again.")
        else:
            say(f"The {SHIPPING} worker ended by itself with code {process.returncode}; starting it again.")
            await asyncio.sleep(5)
        life = every * rng.uniform(0.7, 1.3)


async def _first_words(process: asyncio.subprocess.Process) -> None:
    """Until the worker says that it is at work, or ends: its start is no part of its life on a busy machine."""
    assert process.stdout
    await process.stdout.readline()


async def _let_live(process: asyncio.subprocess.Process, seconds: float) -> None:
    try:
        await asyncio.wait_for(process.wait(), seconds)
    except TimeoutError:
        pass


async def _wait_until_busy(shop: Shop) -> None:
    queue = shop.queues[SHIPPING]
    for _ in range(20):
        # More than the steady worker alone can hold.
        if await shop.persist(lambda: queue.getJobCountByTypes("active")) > 1:
            return
        await asyncio.sleep(0.5)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()


def die_with_parent() -> None:
    """Ask Linux to end this process with the one that started it; elsewhere `parent_gone` has to do."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


async def parent_gone() -> None:
    """Return when the parent is gone: also closes the moment between our start and `die_with_parent`."""
    parent = int(os.environ.get(PARENT_VARIABLE, os.getppid()))
    while os.getppid() == parent:
        await asyncio.sleep(1)
