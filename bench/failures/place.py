"""What indexing is measured in: a monitored server, our own, and the process that follows; and what that costs."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import redis
from django.conf import settings
from django.db import connection

from bench.stage import Stage, World
from queues import discovery, readings
from queues.models import (
    AuditEntry,
    ClassRule,
    Deploy,
    Failure,
    FailureGroup,
    FailureHour,
    FailureNote,
    FailureSample,
    FailureSignature,
    FailureStrand,
    IndexedQueue,
    Indexing,
    Letter,
)
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.valkey import Server, valkey_binary

LONGEST_S = 1_800.0
POLL_S = 0.1
OUTSIDE = ("evalsha", "eval", "script|load", "xread", "info", "time", "client|list", "config|get", "ping", "hello")
KEPT = (
    Letter, Failure, FailureHour, FailureSample, FailureNote, FailureStrand, FailureSignature, FailureGroup,
    IndexedQueue, Indexing, ClassRule, Deploy,
)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Two servers, and queues of the first that the database knows."""

    world: World
    monitored: Server
    app: Server
    folder: Path

    @property
    def client(self) -> redis.Redis:
        return self.world.client

    @property
    def source(self) -> str:
        return self.world.config.name


@contextlib.contextmanager
def place(stage: Stage, source: str, seed: Callable[[redis.Redis], list[QueueRef]]) -> Iterator[Place]:
    """Servers of their own, what `seed` makes in the first, and an index in which nothing is."""
    with contextlib.ExitStack() as closing:
        servers = []
        for name in ("monitored", "app"):
            folder = stage.folder / source / name
            folder.mkdir(parents=True)
            servers.append(Server(valkey_binary(), folder).start())
            closing.callback(servers[-1].stop)
        client = closing.enter_context(servers[0].client())
        world = World(SourceConfig(name=source, url=servers[0].url), client, seed(client))
        world.watch()
        forget()
        discovery.scan(source)
        readings.store(source)
        yield Place(world, servers[0], servers[1], stage.folder / source)
        forget()


def forget() -> None:
    """Empty all tables of failures: those of the bench alone, whose database goes away."""
    AuditEntry.objects.exclude(group=None).update(group=None)
    with connection.cursor() as cursor:
        for model in KEPT:
            cursor.execute(f"DELETE FROM {model._meta.db_table}")


@contextlib.contextmanager
def follower(held: Place) -> Iterator[psutil.Process]:
    """`manage.py follow` as in production, from its start."""
    log = held.folder / "follow.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "follow"],
            env={
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "dashboard.settings",
                "APP_REDIS_URL": held.app.url,
                "MIRANTE_SOURCES": f"{held.source}={held.world.config.url}",
            },
            cwd=settings.BASE_DIR,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        yield psutil.Process(process.pid)
        if process.poll() is not None:
            raise RuntimeError(f"manage.py follow has ended:\n{log.read_text(errors='replace')}")
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def until(probe: Callable[[], bool], what: str, held: Place, every_s: float = POLL_S) -> None:
    """Wait for something of the index. RuntimeError with what the follower logged when it does not come."""
    deadline = time.monotonic() + LONGEST_S
    while not probe():
        if time.monotonic() > deadline:
            log = (held.folder / "follow.log").read_text(errors="replace")
            raise RuntimeError(f"{what}: not within {LONGEST_S:g} s\n{log}")
        time.sleep(every_s)


def read_whole(held: Place) -> bool:
    """Whether the first scan of each queue has come to its end."""
    rows = IndexedQueue.objects.filter(queue__source__name=held.source, scanning=False, since_ms__isnull=False)
    return rows.count() == len(held.world.refs)


@dataclass(frozen=True)
class Used:
    """Seconds of processor time so far, of the process, and of what indexes in it."""

    at: float
    all: float
    index: float

    @classmethod
    def of(cls, process: psutil.Process) -> Used:
        """What indexes is all but the first three threads, which run, publish and follow; ended ones are in it."""
        times = process.cpu_times()
        first = sorted(process.threads(), key=lambda thread: thread.id)[:3]
        others = sum(thread.user_time + thread.system_time for thread in first)
        whole = times.user + times.system
        return cls(time.monotonic(), whole, max(0.0, whole - others))

    def shares(self, before: Used) -> tuple[float, float]:
        """Of one core, since `before`: of the process, and of what indexes."""
        took = self.at - before.at
        return (self.all - before.all) / took, (self.index - before.index) / took


@dataclass(frozen=True)
class Asked:
    """What a server was asked since its sums were reset, by anybody but for PING."""

    scripts: int
    inside: int  # commands that scripts called
    seconds: float  # that it spent in scripts

    @classmethod
    def of(cls, client: redis.Redis) -> Asked:
        told = {name.removeprefix("cmdstat_"): sums for name, sums in client.info("commandstats").items()}
        scripts = [told[name] for name in ("evalsha", "eval") if name in told]
        inside = sum(sums["calls"] for name, sums in told.items() if name not in OUTSIDE)
        return cls(sum(each["calls"] for each in scripts), inside, sum(each["usec"] for each in scripts) / 1e6)
