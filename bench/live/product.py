"""What is measured: a monitored server, our own server, a web process and a follower, each a process of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import redis
from django.conf import settings
from django.db.models import Sum

from bench import seeds
from bench.live import marks
from bench.live.load import Load
from bench.stage import STARTS_WITHIN_S, Stage, Web, World
from queues import discovery, readings
from queues.events import EventKind
from queues.history import KINDS, load
from queues.live import Pulse
from queues.models import Following, Stream
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.valkey import Server, valkey_binary

SOURCE = "live"
BENCH = "bench"  # the name of our connection that only measures
MARKED = 5  # queues that marks go to
CROWDED = b"crowded"
COMPLETED = KINDS.index(EventKind.COMPLETED)


@dataclass(frozen=True)
class Product:
    """All that runs. `app` is the server of the channel layer, which nothing else uses."""

    world: World
    marked: Sequence[QueueRef]
    app: redis.Redis
    monitored: int  # the processes of the two servers
    own: int
    web: Web
    cookie: str
    follower: subprocess.Popen[bytes]

    @property
    def port(self) -> int:
        return int(self.world.client.connection_pool.connection_kwargs["port"])

    @property
    def names(self) -> list[str]:
        """The queues that the generator writes to: all but the crowded one."""
        return [ref.name.decode() for ref in self.world.refs if ref.name != CROWDED]

    @property
    def still(self) -> list[str]:
        return [ref.name.decode() for ref in self.marked]


@contextlib.contextmanager
def running(stage: Stage, size: Load) -> Iterator[Product]:
    """Everything but the follower's first reading, which is there when the block begins."""
    folder = stage.folder / "live"
    with contextlib.ExitStack() as closing:
        monitored, app = (_server(closing, folder / name) for name in ("monitored", "app"))
        client = closing.enter_context(monitored.client())
        marked = [marks.seed(client, f"marked-{number}", SOURCE) for number in range(MARKED)]
        crowded = marks.seed(client, CROWDED.decode(), SOURCE)
        refs = [*marked, crowded, *seeds.many(client, size.queues - MARKED, SOURCE)]
        closing.callback(seeds.connect_workers(monitored.port, 0, refs))
        world = World(SourceConfig(name=SOURCE, url=monitored.url), client, refs)
        world.watch()
        discovery.scan(SOURCE)
        readings.store(SOURCE)
        web = closing.enter_context(stage.web(world, app=app.url))
        follower = closing.enter_context(_follower(world, app, folder))
        own = closing.enter_context(redis.Redis(host="127.0.0.1", port=app.port, protocol=2, client_name=BENCH))
        assert monitored.process
        assert app.process
        pids = monitored.process.pid, app.process.pid
        yield Product(world, marked, own, *pids, web, stage.cookie, follower)


def _server(closing: contextlib.ExitStack, folder: Path) -> Server:
    folder.mkdir(parents=True)
    server = Server(valkey_binary(), folder).start()
    closing.callback(server.stop)
    return server


@contextlib.contextmanager
def _follower(world: World, app: Server, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    log = folder / "follow.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "follow"],
            env={
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "dashboard.settings",
                "APP_REDIS_URL": app.url,
                "MIRANTE_SOURCES": f"{world.config.name}={world.config.url}",
            },
            cwd=settings.BASE_DIR,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        _until(lambda: process.poll() is not None or _follows(len(world.refs)), STARTS_WITHIN_S, log)
        if process.poll() is not None:
            raise RuntimeError(f"manage.py follow did not start:\n{log.read_text(errors='replace')}")
        yield process
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _follows(queues: int) -> bool:
    standing = Following.objects.filter(source__name=SOURCE, pulse=Pulse.LIVE).exists()
    return standing and Stream.objects.filter(queue__source__name=SOURCE).count() == queues


@dataclass(frozen=True)
class Tally:
    """What the streams say was ever added, and what the follower made of it: all queues together."""

    added: int = 0
    covered: int = 0  # up to where the follower says that it has read or lost everything
    read: int = 0
    lost: int = 0
    completed: int = 0

    def since(self, before: Tally) -> Tally:
        return Tally(
            self.added - before.added,
            self.covered - before.covered,
            self.read - before.read,
            self.lost - before.lost,
            self.completed - before.completed,
        )


def tally(product: Product) -> Tally:
    streams = Stream.objects.filter(queue__source__name=SOURCE)
    sums = streams.aggregate(Sum("added"), Sum("read"), Sum("lost"))
    histories = filter(None, (load(text) for text in streams.values_list("history", flat=True)))
    completed = sum(row[COMPLETED] for history in histories for row in history.counts.values())
    covered, read, lost = (sums[f"{name}__sum"] or 0 for name in ("added", "read", "lost"))
    return Tally(added(product.world), covered, read, lost, completed)


def settled(product: Product) -> Tally:
    """The tally once the follower has stored all that was written: nobody writes any more."""
    _until(lambda: _covered() >= added(product.world), STARTS_WITHIN_S)
    return tally(product)


def added(world: World) -> int:
    """`entries-added` of all streams: what the server itself counted, whatever was trimmed since."""
    with world.client.pipeline(transaction=False) as pipe:
        for ref in world.refs:
            pipe.xinfo_stream(b"%b:%b:events" % (ref.prefix, ref.name))
        replies = pipe.execute(raise_on_error=False)
    return sum(reply["entries-added"] for reply in replies if isinstance(reply, Mapping))


def _covered() -> int:
    return int(Stream.objects.filter(queue__source__name=SOURCE).aggregate(Sum("added"))["added__sum"] or 0)


def _until(probe: Callable[[], bool], within_s: float, log: Path | None = None) -> None:
    deadline = time.monotonic() + within_s
    while not probe():
        if time.monotonic() > deadline:
            told = log.read_text(errors="replace") if log else "the follower does not get to the end of the streams"
            raise RuntimeError(f"not within {within_s:g} s:\n{told}")
        time.sleep(0.25)
