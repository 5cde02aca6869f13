"""The real ASGI application in a process of its own, on the database of the test that looks at it."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
import redis
from django.conf import settings
from django.db import connection

from queues.models import Following
from tests.valkey import Server as Valkey

STARTS_WITHIN = 60.0


@dataclass(frozen=True)
class Server:
    """A running server. `url` has no slash at its end; `output` is all that it has printed."""

    url: str
    log: Path

    @property
    def output(self) -> str:
        return self.log.read_text("utf-8", errors="replace")


StartServer = Callable[[Mapping[str, str]], Server]
APPLICATION = "dashboard.asgi:application"


@pytest.fixture(scope="session")
def live_environment(valkey_server: Valkey) -> dict[str, str]:
    """Variables of the server behind `live`: the worker's Valkey is its source `main`, another database its own."""
    return {"REDIS_URL": valkey_server.url, "APP_REDIS_URL": f"{valkey_server.url.removesuffix('/0')}/1"}


@pytest.fixture(scope="session")
def _live_server(live_environment: dict[str, str], django_db_setup: None) -> Iterator[Server]:
    with running(live_environment) as server:
        yield server


@pytest.fixture
def live(transactional_db: None, valkey: redis.Redis, _live_server: Server) -> Iterator[Server]:
    """A server that sees what this test saves and writes to `valkey`: both emptied for each test."""
    before = len(_live_server.output)
    yield _live_server
    print(_live_server.output[before:])


@pytest.fixture
def start_server(transactional_db: None) -> Iterator[StartServer]:
    """Starts further servers with variables of their own, and stops them after the test."""
    started = []

    def start(environment: Mapping[str, str]) -> Server:
        context = running(environment)
        started.append(context)
        return context.__enter__()

    yield start
    for context in started:
        context.__exit__(None, None, None)


@pytest.fixture
def start_follower(transactional_db: None) -> Iterator[Callable[[Mapping[str, str]], subprocess.Popen[bytes]]]:
    """Starts `manage.py follow` with variables of its own, and stops it before the tables are emptied."""
    running: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryFile() as log:

        def start(environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
            command = [sys.executable, "manage.py", "follow"]
            cwd, env = settings.BASE_DIR, child_environment(environment)
            process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            running.append(process)
            return process

        yield start
        for process in running:
            _stop(process)
        log.seek(0)
        print(log.read().decode(errors="replace"))


@pytest.fixture
def follower(
    live: Server,
    live_environment: dict[str, str],
    start_follower: Callable[[Mapping[str, str]], subprocess.Popen[bytes]],
) -> subprocess.Popen[bytes]:
    """The follower beside `live`, at work."""
    process = start_follower(live_environment)
    deadline = time.monotonic() + STARTS_WITHIN
    while not Following.objects.filter(pulse="live").exists():
        assert time.monotonic() < deadline, "the follower does not follow"
        assert process.poll() is None, "the follower has ended"
        time.sleep(0.05)
    return process


@contextmanager
def running(environment: Mapping[str, str], application: str = APPLICATION) -> Iterator[Server]:
    """A server with variables of its own, of another application than the product's if need be."""
    with socket.socket() as listening, tempfile.TemporaryDirectory(prefix="mirante-live-") as folder:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        log = Path(folder) / "log"
        # The open socket is handed over: no other process can take the port in between.
        command = [sys.executable, "-m", "daphne", "--fd", str(listening.fileno()), application]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                env=child_environment(environment),
                cwd=settings.BASE_DIR,
                pass_fds=[listening.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        server = Server(f"http://127.0.0.1:{listening.getsockname()[1]}", log)
        # Ours must be closed, or a browser waits on it for ever once the server is gone.
        listening.close()
        try:
            _wait_until_it_answers(server, process)
            yield server
        finally:
            _stop(process)


def child_environment(own: Mapping[str, str]) -> dict[str, str]:
    """Variables of a process of the product on the database of this test."""
    return {**os.environ, "DJANGO_SETTINGS_MODULE": "dashboard.settings", "DATABASE_URL": database_url(), **own}


def database_url() -> str:
    """The database of this test process, as another process is told of it."""
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{database['NAME']}"
    return urlsplit(os.environ["DATABASE_URL"])._replace(path="/" + quote(str(database["NAME"]))).geturl()


def _wait_until_it_answers(server: Server, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.url}/healthz", timeout=STARTS_WITHIN):
                return
        except urllib.error.HTTPError as answer:
            answer.close()
            return  # It answers; whether it is well is for tests to say.
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"the server did not start:\n{server.output}", pytrace=False)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(15)
