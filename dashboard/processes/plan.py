"""Which programs `manage.py up` runs, each with the command by which it is run on its own in production."""

from __future__ import annotations

import http.client
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from dashboard.environment import Environment
from dashboard.processes.child import Program
from dashboard.processes.valkey import EmbeddedValkey

_CELERY = (sys.executable, "-m", "celery", "-q", "-A", "dashboard")


class Plan:
    """`embedded` is the server to start along, when one is needed; `web` a socket that already listens."""

    def __init__(
        self, environment: Environment, *, base_dir: Path, web: socket.socket, embedded: EmbeddedValkey | None
    ) -> None:
        self._environment = environment
        self._base_dir = base_dir
        self._web = web
        self._embedded = embedded

    def programs(self) -> list[Program]:
        programs = [self._embedded.program(os.environ)] if self._embedded else []
        return [
            *programs,
            self._program("web", self._daphne(), descriptors=(self._web.fileno(),), ready=self._web_is_ready),
            # Celery's hints on Ctrl-C are not for whoever stops all by one.
            self._program("worker", (*_CELERY, "worker"), shows=lambda line: not line.startswith("worker: ")),
            self._program("beat", (*_CELERY, "beat")),
        ]

    def demo_traffic(self, *, asked: bool) -> Program:
        """`asked`: the user wants the jobs in a server of theirs, whatever else is in it."""
        command = (sys.executable, "manage.py", "demo_traffic", *(("--demo-traffic",) if asked else ()))
        return self._program("demo", command, extra=lambda: {"DEMO_REDIS_URL": self.watched_url()})

    def watched_url(self) -> str:
        """The server whose queues are watched, the first of them when there are several."""
        if self._environment.sources:
            return self._environment.sources[0].url
        assert self._embedded is not None
        return self._embedded.url(1)

    def children_environment(self) -> Mapping[str, str]:
        """What the children find set: the same as we do, with the servers that we started filled in."""
        env = {**os.environ, "PYTHONUNBUFFERED": "1"}
        # Celery then gives unfinished tasks back within its soft shutdown, rather than wait for all of them.
        env["REMAP_SIGTERM"] = "SIGQUIT"
        if self._embedded and self._environment.app_redis is None:
            env["APP_REDIS_URL"] = self._embedded.url(0)
        if self._embedded and not self._environment.sources:
            env["REDIS_URL"] = self._embedded.url(1)
        return env

    def _program(
        self,
        name: str,
        command: tuple[str, ...],
        *,
        descriptors: tuple[int, ...] = (),
        ready: Callable[[], bool] = lambda: True,
        extra: Callable[[], Mapping[str, str]] = dict,
        shows: Callable[[str], bool] = lambda line: True,
    ) -> Program:
        return Program(
            name=name,
            command=command,
            environment=lambda: {**self.children_environment(), **extra()},
            directory=self._base_dir,
            descriptors=descriptors,
            ready=ready,
            shows=shows,
        )

    def _daphne(self) -> tuple[str, ...]:
        proxy = ("--proxy-headers",) if self._environment.trust_proxy else ()
        return (
            *(sys.executable, "-m", "daphne", "-v", "0", "--no-server-name", *proxy),
            *("--fd", str(self._web.fileno()), "dashboard.asgi:application"),
        )

    def _web_is_ready(self) -> bool:
        host, port = self._web.getsockname()[:2]
        reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  a key, not a place to bind to
        connection = http.client.HTTPConnection(reachable, port, timeout=5)
        try:
            connection.request("GET", "/healthz", headers={"Host": "localhost"})
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
