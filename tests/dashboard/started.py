"""`manage.py up` as a user starts it: a process with its console, its address, and whatever runs because of it."""

import http.client
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import redis
from django.conf import settings

PATIENCE = 180.0
FAMILY = {"manage.py", "valkey-server", "daphne", "worker", "beat", "follow"}


def clean_environment(var_dir: Path) -> dict[str, str]:
    """Nothing but what a login shell has, and a folder of its own for data."""
    inherited = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
    return {name: os.environ[name] for name in inherited if name in os.environ} | {
        "DJANGO_SETTINGS_MODULE": "dashboard.settings",
        "MIRANTE_VAR_DIR": str(var_dir),
    }


def eventually(holds: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline, f"in {patience:.0f} s not so: {what}"
        time.sleep(0.1)


class Started:
    """A running command. All of its processes are known by the data folder, in their environment or as their own."""

    def __init__(self, var_dir: Path, *arguments: str, **env: str) -> None:
        self.var_dir = var_dir
        self.lines: list[str] = []
        self._clients: list[redis.Redis] = []
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", *(arguments or ("up",))],
            env=clean_environment(var_dir) | env,
            cwd=settings.BASE_DIR,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, pattern: str, *, after: int = 0) -> re.Match[str]:
        """The first match in the output from line number `after` on."""
        found: list[re.Match[str]] = []

        def seen() -> bool:
            match = re.search(pattern, "\n".join(self.lines[after:]))
            assert match or self.process.poll() is None, f"ended without {pattern!r}:\n{self.output}"
            found.extend([match] if match else [])
            return bool(match)

        eventually(seen, f"{pattern!r} in the output:\n{self.output}")
        return found[0]

    def wait_until_ready(self) -> str:
        """Its address."""
        return self.wait_for(r"Mirante is ready:  (\S+)").group(1)

    def processes(self) -> list[psutil.Process]:
        """All that run on this data folder."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def by_name(self) -> dict[str, psutil.Process]:
        """The same, by what they are."""
        return {_what(process): process for process in self.processes()}

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            # Valkey writes its title over its environment.
            at_home = process.cwd() == str(self.var_dir / "valkey")
            return at_home or process.environ().get("MIRANTE_VAR_DIR") == str(self.var_dir)
        except psutil.Error:
            return False

    def embedded(self, database: int) -> redis.Redis:
        """The embedded Valkey, as the configuration of its latest start says."""
        text = (self.var_dir / "valkey" / "valkey.conf").read_text()
        found = dict(line.split(" ", 1) for line in text.splitlines())
        self._clients.append(redis.Redis(port=int(found["port"]), password=found["requirepass"], db=database))
        return self._clients[-1]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> float:
        """Seconds until it had ended."""
        begun = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(PATIENCE)
        self._reader.join(10)
        return time.monotonic() - begun

    def wait_until_gone(self) -> None:
        eventually(lambda: not self.processes(), f"no process is left of:\n{self.output}", patience=30)

    def clear(self) -> None:
        """Whatever a failed test has left."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for process in self.processes():
            try:
                process.kill()
            except psutil.Error:
                continue
        for client in self._clients:
            client.close()
        self._reader.join(30)
        assert self.process.stdout is not None
        self.process.stdout.close()


def _what(process: psutil.Process) -> str:
    try:
        words = " ".join(process.cmdline())
    except psutil.Error:
        return "ended"
    kinds = ("demo_traffic", " follow", "manage.py", "valkey-server", "redis-server", "daphne", " worker", " beat")
    return next((kind.strip() for kind in kinds if kind in words), words)


def get(url: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    """Status, body and headers, without following redirects."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
    try:
        connection.request("GET", parts.path or "/", headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace"), dict(answer.getheaders())
    finally:
        connection.close()
