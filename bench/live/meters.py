"""What running costs while it is under load: processor time and memory."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import psutil

from bench.live.listening import Heard
from bench.measure import resident

EVERY_S = 1.0


@dataclass
class Usage:
    """Of one stretch of time: by process the share of a core, and its memory in bytes each second."""

    seconds: float = 0
    shares: dict[str, float] = field(default_factory=dict)
    memory: dict[str, list[int]] = field(default_factory=dict)
    monitored: Heard = field(default_factory=Heard)  # our commands at the monitored server
    own: Heard = field(default_factory=Heard)  # and at our own

    def growth(self, name: str) -> int:
        """Bytes from the first tenth of the time to its end."""
        held = self.memory[name]
        return held[-1] - held[len(held) // 10]


@contextlib.contextmanager
def measured(processes: Mapping[str, int]) -> Iterator[Usage]:
    """Fills in the usage at the end of the block; looks once a second from a thread."""
    usage, ending = Usage(memory={name: [] for name in processes}), threading.Event()

    def look() -> None:
        while True:
            for name, pid in processes.items():
                usage.memory[name].append(resident(pid))
            if ending.wait(EVERY_S):
                return

    thread = threading.Thread(target=look)
    began, before = time.monotonic(), _used(processes)
    thread.start()
    try:
        yield usage
    finally:
        ending.set()
        thread.join()
    usage.seconds = time.monotonic() - began
    after = _used(processes)
    usage.shares = {name: (after[name] - before[name]) / usage.seconds for name in processes}


def _used(processes: Mapping[str, int]) -> dict[str, float]:
    """Seconds of processor time by process: /proc/<pid>/stat on Linux."""
    times = {name: psutil.Process(pid).cpu_times() for name, pid in processes.items()}
    return {name: found.user + found.system for name, found in times.items()}
