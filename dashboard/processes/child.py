"""One child process: started on a tether, in a group of its own, its output collected line by line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_TETHER = Path(__file__).with_name("tether.py")
_LONGEST_LINE = 8_000
_LAST_LINES = 15


def _nothing() -> None:
    return None


def _at_once() -> bool:
    return True


def _every_line(_line: str) -> bool:
    return True


def tethered(command: Sequence[str]) -> list[str]:
    """The command as it must be started, from the main thread, to die with this process (on Linux)."""
    return [sys.executable, "-I", "-S", str(_TETHER), str(os.getpid()), *command]


@dataclass(frozen=True)
class Program:
    """What to run. Programs of a later stage start when all of the earlier ones are ready, and stop before them.

    `prepare` runs before every start. `environment` is asked for at every start, as it may depend on what was
    prepared. `ready` may take some seconds; it is asked in a thread until it says yes. Lines that `shows` turns
    down are seen only when the program crashes.
    """

    name: str
    command: tuple[str, ...]
    environment: Callable[[], Mapping[str, str]]
    stage: int = 1
    directory: Path | None = None
    descriptors: tuple[int, ...] = ()
    prepare: Callable[[], None] = _nothing
    ready: Callable[[], bool] = _at_once
    shows: Callable[[str], bool] = _every_line


class Child:
    """A program and its present process, if any. Only to be used from the main thread."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.process: subprocess.Popen[bytes] | None = None
        self.ready = threading.Event()
        self.last_lines: deque[str] = deque(maxlen=_LAST_LINES)
        self.started_at = 0.0
        self.start_at: float | None = 0.0
        self.failures = 0
        self._unfinished = b""

    @property
    def name(self) -> str:
        return self.program.name

    def start(self) -> None:
        self.program.prepare()
        self.start_at = None
        self.started_at = time.monotonic()
        self.process = subprocess.Popen(
            tethered(self.program.command),
            env=dict(self.program.environment()),
            cwd=self.program.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=self.program.descriptors,
            # Ctrl-C in the terminal is for the supervisor, which then ends the others in order.
            start_new_session=True,
        )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        if not self.ready.is_set():
            threading.Thread(target=self._watch, args=(self.process,), daemon=True).start()

    def output(self) -> int | None:
        """The descriptor to read from while there is one."""
        stdout = self.process.stdout if self.process else None
        return None if stdout is None or stdout.closed else stdout.fileno()

    def read(self) -> list[str]:
        """The lines that are there now; at the end of the output also an unfinished one."""
        assert self.process is not None
        assert self.process.stdout is not None
        try:
            data = os.read(self.process.stdout.fileno(), 65536)
        except BlockingIOError:
            return []
        *whole, self._unfinished = (self._unfinished + data).split(b"\n")
        if not data or len(self._unfinished) > _LONGEST_LINE:
            whole, self._unfinished = [*whole, self._unfinished], b""
        if not data:
            self.process.stdout.close()
        lines = [line[:_LONGEST_LINE].decode(errors="replace").rstrip() for line in whole]
        self.last_lines.extend(line for line in lines if line)
        return [line for line in lines if line]

    def exit_code(self) -> int | None:
        return self.process.poll() if self.process else None

    def signal(self, number: signal.Signals) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)

    def kill_group(self) -> None:
        """End whatever is left of the child and of the processes that it has started."""
        if self.process:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            except PermissionError:
                # On macOS the answer for a group of which only a zombie is left.
                pass

    def forget(self) -> None:
        """The process has ended and its output is read: close what is left open."""
        if self.process and self.process.stdout and not self.process.stdout.closed:
            self.process.stdout.close()
        self.process = None
        self._unfinished = b""

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        # `returncode`, not poll(): reaping is for the main thread.
        while process.returncode is None and not self.ready.is_set():
            if self.program.ready():
                self.ready.set()
            else:
                time.sleep(0.1)
