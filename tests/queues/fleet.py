"""All processes of the product and its servers, real ones, which are killed at any moment and started again."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection, transaction

from tests.server import child_environment
from tests.valkey import Server, valkey_binary

# What Celery's command does, but ready to take over soon.
_QUICK = """
import sys
import django
django.setup()
import queues.lease
from dashboard.celery import app
from celery.__main__ import main
queues.lease.FREE_AFTER_S = 2.0
app.conf.beat_schedule["run-replays"]["schedule"] = 0.5
sys.argv[0] = "celery"
main()
"""
_CELERY = ("-q", "-A", "dashboard")
HELD_S = 3.0  # that a database is held, and a process is stopped


def programs(*, quick: bool) -> Mapping[str, tuple[str, ...]]:
    """The commands of production by which everything is run on its own, two workers of it."""
    celery = (sys.executable, *(("-c", _QUICK) if quick else ("-m", "celery")), *_CELERY)
    return {
        "worker 1": (*celery, "worker", "-n", "one@%h"),
        "worker 2": (*celery, "worker", "-n", "two@%h"),
        "beat": (*celery, "beat"),
        "web": (sys.executable, "-m", "daphne", "-v", "0", "-p", "0", "-b", "127.0.0.1", "dashboard.asgi:application"),
        "follow": (sys.executable, "manage.py", "follow"),
    }


@dataclass
class Fleet:
    """`watched` keeps what it has acknowledged; `broker` forgets all when it is killed. `said`: what was done when."""

    folder: Path
    rng: random.Random
    quick: bool
    watched: Server = field(init=False)
    broker: Server = field(init=False)
    said: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("watched", "broker"):
            (self.folder / name).mkdir()
        self.watched = Server(valkey_binary(), self.folder / "watched", "--appendonly", "yes").start()
        self.broker = Server(valkey_binary(), self.folder / "broker").start()
        self._began = time.monotonic()
        self.deeds: dict[str, Callable[[], None]] = {
            **{name: lambda name=name: self.again(name) for name in programs(quick=False)},  # type: ignore[misc]
            "both workers": lambda: self.again("worker 1", "worker 2"),
            "redis": lambda: self._restart(self.watched),
            "broker": lambda: self._restart(self.broker),
            "connections": self._cut,
            "database": self._trouble,
            "held up": self._hold_up,
        }

    def start(self) -> None:
        for name in programs(quick=self.quick):
            self._start(name)

    def stop(self) -> None:
        for process in self._running.values():
            process.kill()
            process.wait()
        self.watched.stop()
        self.broker.stop()

    def again(self, *names: str) -> None:
        """These are killed, all at once, and started again."""
        for name in names:
            self._running[name].kill()
        for name in names:
            self._running[name].wait()
            self._start(name)

    def do(self, deed: str) -> None:
        self.said.append(f"{time.monotonic() - self._began:6.1f} {deed}")
        self.done[deed] += 1
        self.deeds[deed]()

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text("utf-8", errors="replace")

    def _start(self, name: str) -> None:
        environment = child_environment(
            {"REDIS_URL": self.watched.url, "APP_REDIS_URL": self.broker.url, "PYTHONUNBUFFERED": "1"}
        )
        with (self.folder / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                programs(quick=self.quick)[name],
                cwd=settings.BASE_DIR,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _restart(self, server: Server) -> None:
        server.stop()
        time.sleep(self.rng.uniform(0, 1))
        server.start()

    def _cut(self) -> None:
        for server in (self.watched, self.broker):
            with server.client() as client:
                client.client_kill_filter(_type="normal", skipme=True)

    def _trouble(self) -> None:
        """Every session of the database is ended; or nobody else may write to the file for a while."""
        try:
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    )
            else:
                with transaction.atomic():
                    time.sleep(self.rng.uniform(0, HELD_S))
        except DatabaseError as error:
            self.said.append(f"       not done: {error}")
        finally:
            connection.close()

    def _hold_up(self) -> None:
        """A worker is stopped in the midst of whatever it does, as a virtual machine may be, and goes on later."""
        process = self._running[self.rng.choice(["worker 1", "worker 2"])]
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(self.rng.uniform(0, HELD_S if self.quick else 10 * HELD_S))
        os.kill(process.pid, signal.SIGCONT)


@contextmanager
def killing(fleet: Fleet, number: int, *, pause_s: float) -> Iterator[Callable[[], bool]]:
    """So many deeds at random moments, of each kind before any comes again; gives whether all are done."""
    ends = threading.Event()

    def deeds() -> Iterator[str]:
        while True:
            yield from fleet.rng.sample(sorted(fleet.deeds), len(fleet.deeds))

    def run() -> None:
        for deed, _number in zip(deeds(), range(number)):  # noqa: B905
            if ends.wait(fleet.rng.uniform(0, 2 * pause_s)):
                return
            fleet.do(deed)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield lambda: not thread.is_alive()
    finally:
        ends.set()
        thread.join()
