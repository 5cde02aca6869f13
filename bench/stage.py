"""What is measured on: a server full of queues, a database that knows them, a signed-in reader, and web processes."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import redis
from django.conf import settings
from django.test import Client
from django.urls import reverse

from bench import seeds
from bench.scripts import Scripts
from queues import discovery, readings, registry
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.valkey import Server, valkey_binary

STARTS_WITHIN_S = 120.0
MOST_QUEUES = 1_000


@dataclass(frozen=True)
class World:
    """One database of the server as the only source that is watched."""

    config: SourceConfig
    client: redis.Redis
    refs: list[QueueRef]

    def watch(self) -> None:
        """Make it what this process watches, as if nothing else was configured."""
        settings.MIRANTE_SOURCES = (self.config,)
        registry.forget()

    def queue(self, name: bytes) -> QueueRef:
        return next(ref for ref in self.refs if ref.name == name)


class Web:
    """A web process as in production, and one kept connection to it."""

    def __init__(self, world: World, cookie: str, folder: Path, app: str) -> None:
        self._cookie = cookie
        with socket.socket() as listening, (folder / f"web-{world.config.name}.log").open("wb") as log:
            listening.bind(("127.0.0.1", 0))
            listening.listen(64)
            self.port = listening.getsockname()[1]
            fd = str(listening.fileno())
            self.process = subprocess.Popen(
                [sys.executable, "-m", "daphne", "-v", "0", "--fd", fd, "dashboard.asgi:application"],
                env={
                    **os.environ,
                    "DJANGO_SETTINGS_MODULE": "dashboard.settings",
                    "APP_REDIS_URL": app or world.config.url.rpartition("/")[0] + "/0",
                    "MIRANTE_SOURCES": f"{world.config.name}={world.config.url}",
                },
                cwd=settings.BASE_DIR,
                pass_fds=[listening.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=STARTS_WITHIN_S)
        self._wait()

    def get(self, path: str) -> bytes:
        """The body of a page, all of it received."""
        self._connection.request("GET", path, headers={"Cookie": self._cookie, "Host": "localhost"})
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{path}: {answer.status}")
        return body

    def stop(self) -> None:
        self._connection.close()
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + STARTS_WITHIN_S
        while True:
            try:
                self.get("/healthz")
            except (OSError, http.client.HTTPException):
                self._connection.close()
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return


class Stage:
    """Everything that a bench asks for, made when first asked for. `scale` makes the seeds smaller."""

    def __init__(
        self, folder: Path, *, scale: float, rounds: int, seconds: float | None = None, large: bool = False
    ) -> None:
        self.folder, self.scale, self.rounds, self.seconds, self.large = folder, scale, rounds, seconds, large
        self._closing = contextlib.ExitStack()

    def close(self) -> None:
        self._closing.close()

    @cached_property
    def server(self) -> Server:
        folder = self.folder / "valkey"
        folder.mkdir()
        server = Server(valkey_binary(), folder, "--latency-tracking", "no").start()
        self._closing.callback(server.stop)
        return server

    @cached_property
    def scripts(self) -> Scripts:
        return Scripts(self.server.client())

    @cached_property
    def reader(self) -> Client:
        """Somebody signed in as an admin, in this process."""
        from django.contrib.auth.models import User

        user = User.objects.create_superuser("bench", password=os.urandom(16).hex())
        client = Client(headers={"host": "localhost"})
        client.force_login(user)
        return client

    @cached_property
    def fifteen(self) -> World:
        """What a small product has."""
        return self._world("fifteen", 1, lambda client: seeds.many(client, 15, "fifteen"))

    @cached_property
    def thousand(self) -> World:
        """A thousand queues; four of five have a worker."""
        return self._world("thousand", 2, lambda client: seeds.many(client, self.sized(MOST_QUEUES, 110), "thousand"))

    @cached_property
    def long(self) -> World:
        """One queue with a million waiting jobs beside one with a thousand, and a few jobs out of the ordinary."""
        return self._world("long", 3, lambda client: seeds.long(client, self.scale, "long"))

    def sized(self, full: int, least: int = 1) -> int:
        """A number of the seeds, made smaller by the scale."""
        return max(int(full * self.scale), least)

    def get(self, path: str, **headers: str) -> bytes:
        """The body of a page, made in this process."""
        answer = self.reader.get(path, headers=headers)
        if answer.status_code != http.HTTPStatus.OK:
            raise RuntimeError(f"{path}: {answer.status_code}")
        return bytes(answer.content)

    @property
    def cookie(self) -> str:
        """What a browser of the reader sends."""
        return f"{settings.SESSION_COOKIE_NAME}={self.reader.cookies[settings.SESSION_COOKIE_NAME].value}"

    @contextlib.contextmanager
    def web(self, world: World, app: str = "") -> Iterator[Web]:
        """A web process that watches this world, for the time of a bench. `app` is its own server, if another."""
        web = Web(world, self.cookie, self.folder, app)
        try:
            yield web
        finally:
            web.stop()

    def _world(self, name: str, database: int, seed: Callable[[redis.Redis], list[QueueRef]]) -> World:
        url = f"redis://127.0.0.1:{self.server.port}/{database}"
        client = redis.Redis.from_url(url, protocol=2)
        with self.scripts.paused():
            refs = seed(client)
            self._closing.callback(seeds.connect_workers(self.server.port, database, refs))
        world = World(SourceConfig(name=name, url=url), client, refs)
        world.watch()
        discovery.scan(name)
        readings.store(name)
        return world


def overview() -> str:
    return reverse("overview")


def queue_page(ref: QueueRef, query: str = "") -> str:
    return reverse("queue", args=[ref.source, ref.slug]) + query


def job_page(ref: QueueRef, job: bytes, name: str = "job") -> str:
    return reverse(name, args=[ref.source, ref.slug, job])
