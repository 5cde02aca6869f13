"""Which programs `manage.py up` runs, each with the command by which it is run on its own in production."""

from __future__ import annotations

import http.client
import os
import secrets
import socket
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dashboard.environment import VARIABLES, Environment
from dashboard.environment.variables import only
from dashboard.processes.child import Program
from dashboard.processes.listen import reachable
from dashboard.processes.valkey import EmbeddedValkey

_CELERY = (sys.executable, "-m", "celery", "-q", "-A", "dashboard")
# The password of the first admin is for us alone, who make that user.
_SHARED = {variable.name for variable in VARIABLES} - {"MIRANTE_ADMIN_PASSWORD"}
_DEMO = ("MIRANTE_VAR_DIR", "MIRANTE_DEMO_RATE", "LOG_LEVEL", "LOG_FORMAT")


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
        programs = [self._embedded.program(only(os.environ, ()))] if self._embedded else []
        web, worker = self._program("web", self._daphne()), self._program("worker", (*_CELERY, "worker"))
        return [
            *programs,
            replace(web, descriptors=(self._web.fileno(),), ready=self._web_is_ready),
            # Celery's hints on Ctrl-C are not for whoever stops all by one.
            replace(worker, shows=lambda line: not line.startswith("worker: ")),
            self._program("beat", (*_CELERY, "beat")),
            self._program("follow", (sys.executable, "manage.py", "follow")),
        ]

    def demo_traffic(self, *, asked: bool) -> Program:
        """`asked`: the user wants the jobs in a server of theirs, whatever else is in it."""
        command = (sys.executable, "manage.py", "demo_traffic", *(("--demo-traffic",) if asked else ()))
        return replace(self._program("demo", command), environment=self._demo_environment)

    def watched_url(self) -> str:
        """The server whose queues are watched, the first of them when there are several."""
        if self._environment.sources:
            return self._environment.sources[0].url
        assert self._embedded is not None
        return self._embedded.url(1)

    def children_environment(self) -> Mapping[str, str]:
        """What the children find set: the same as we do, with what we started and made filled in."""
        env = {**only(os.environ, _SHARED), "PYTHONUNBUFFERED": "1"}
        if self._environment.secret_key_file:
            env["SECRET_KEY_FILE"] = str(self._environment.secret_key_file)
        if self._embedded and self._environment.app_redis is None:
            env["APP_REDIS_URL"] = self._embedded.url(0)
        if self._embedded and not self._environment.sources:
            env["REDIS_URL"] = self._embedded.url(1)
        return env

    def _demo_environment(self) -> Mapping[str, str]:
        """A shop knows its Redis and none of our secrets; the key that every start wants signs nothing."""
        env = {**only(os.environ, _DEMO), "PYTHONUNBUFFERED": "1"}
        return env | {"DEMO_REDIS_URL": self.watched_url(), "SECRET_KEY": secrets.token_urlsafe(50)}

    def _program(self, name: str, command: tuple[str, ...]) -> Program:
        return Program(name, command, self.children_environment, directory=self._base_dir)

    def _daphne(self) -> tuple[str, ...]:
        proxy = ("--proxy-headers",) if self._environment.trust_proxy else ()
        return (
            *(sys.executable, "-m", "daphne", "-v", "0", "--no-server-name", *proxy),
            *("--fd", str(self._web.fileno()), "dashboard.asgi:application"),
        )

    def _web_is_ready(self) -> bool:
        host, port = self._web.getsockname()[:2]
        connection = http.client.HTTPConnection(reachable(host), port, timeout=5)
        try:
            connection.request("GET", "/healthz", headers={"Host": "localhost"})
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
