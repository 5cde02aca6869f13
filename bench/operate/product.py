"""The product as an operator uses it: a form that is sent to a web process, and a worker that does the rest."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import redis
from django.conf import settings
from django.urls import reverse

from bench.stage import STARTS_WITHIN_S, Stage, World
from queues.models import AuditEntry
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.valkey import Server, valkey_binary

SOURCE, QUEUE = "operate", "shop"
LONGEST_S = 900.0
POLL_S = 0.01
PROGRESS_EVERY_S = 1.0  # as the page asks
TOKEN = "b" * 32  # of the form: the cookie says the same


@dataclass(frozen=True)
class Took:
    """Milliseconds from sending the form: to its answer, and to the end as the log of actions has it."""

    answered: float
    done: float
    entry: AuditEntry


class Product:
    """A kept connection to the web process."""

    def __init__(self, port: int, cookie: str) -> None:
        self._headers = {"Host": "localhost", "Cookie": f"{cookie}; {settings.CSRF_COOKIE_NAME}={TOKEN}"}
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=STARTS_WITHIN_S)

    def bulk(self, action: str, **fields: str | int) -> Took:
        """All that match."""
        return self._act(reverse("act-bulk", args=[SOURCE, QUEUE, action]), {"all": "1", **fields})

    def queue(self, action: str, **fields: str | int) -> Took:
        """The whole queue. What is asked a second time, with a preview, is answered first."""
        path = reverse("act-queue", args=[SOURCE, QUEUE, action])
        if action == "clean":
            _status, _location, page = self._send(path, fields)
            found = re.search(r'name="previewed"\s+value="([^"]*)"', page)
            fields["previewed"] = found[1] if found else ""
        return self._act(path, fields)

    def _act(self, path: str, fields: dict[str, str | int]) -> Took:
        began = time.perf_counter()
        status, location, page = self._send(path, {"key": os.urandom(16).hex(), **fields})
        answered = time.perf_counter() - began
        found = re.search(r"/audit/(\d+)/", location)
        if status != http.HTTPStatus.FOUND or not found:
            raise RuntimeError(f"{path}: {status} {location}\n{page[-3000:]}")
        entry = self._ended(int(found[1]), began)
        return Took(answered * 1000, (time.perf_counter() - began) * 1000, entry)

    def _ended(self, pk: int, began: float) -> AuditEntry:
        """The entry, as soon as it has ended; meanwhile its page asks for the progress, as a browser does."""
        asked = began
        while time.perf_counter() - began < LONGEST_S:
            if AuditEntry.objects.filter(pk=pk, ended_at__isnull=False).exists():
                return AuditEntry.objects.get(pk=pk)
            if time.perf_counter() - asked >= PROGRESS_EVERY_S:
                asked = time.perf_counter()
                self._get(reverse("audit-progress", args=[pk]))
            time.sleep(POLL_S)
        raise RuntimeError(f"action {pk} did not end")

    def _get(self, path: str) -> None:
        self._connection.request("GET", path, headers=self._headers)
        self._connection.getresponse().read()

    def _send(self, path: str, fields: dict[str, str | int]) -> tuple[int, str, str]:
        body = urlencode({**fields, "csrfmiddlewaretoken": TOKEN})
        headers = {**self._headers, "Content-Type": "application/x-www-form-urlencoded"}
        self._connection.request("POST", path, body, headers)
        answer = self._connection.getresponse()
        return answer.status, answer.headers.get("Location", ""), answer.read().decode()


@contextlib.contextmanager
def running(stage: Stage) -> Iterator[tuple[Product, Server, redis.Redis]]:
    """A server to act on, one for the tasks, a web process and a worker."""
    with contextlib.ExitStack() as closing:
        servers = []
        for name in ("monitored", "app"):
            folder = stage.folder / "operate" / name
            folder.mkdir(parents=True)
            servers.append(Server(valkey_binary(), folder).start())
            closing.callback(servers[-1].stop)
        monitored, app = servers
        client = closing.enter_context(monitored.client())
        world = World(SourceConfig(name=SOURCE, url=monitored.url), client, [QueueRef(SOURCE, b"bull", QUEUE.encode())])
        world.watch()
        closing.enter_context(worker(world, app, stage.folder / "worker.log"))
        web = closing.enter_context(stage.web(world, app=app.url))
        yield Product(web.port, stage.cookie), monitored, client


@contextlib.contextmanager
def worker(world: World, app: Server, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A Celery worker of the product, as in production."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "celery", "-q", "-A", "dashboard", "worker"],
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
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
