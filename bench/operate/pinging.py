"""How long a server answers nobody: a process that sends it a PING every two milliseconds.

`python -m bench.operate.pinging <port>`: for each line on its input it prints, as JSON, what it saw since the last.
"""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, cast

from django.conf import settings

PAUSE_S = 0.002


@dataclass(frozen=True)
class Pings:
    """Milliseconds."""

    longest: float
    nearly: float  # 99 of 100 are below
    count: int


class Pinging:
    """The process, from outside."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def since_last(self) -> Pings:
        stdin, stdout = cast(IO[str], self.process.stdin), cast(IO[str], self.process.stdout)
        stdin.write("\n")
        stdin.flush()
        return Pings(**json.loads(stdout.readline()))


@contextmanager
def pinging(port: int) -> Iterator[Pinging]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.operate.pinging", str(port)],
        cwd=settings.BASE_DIR,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Pinging(process)
    finally:
        cast(IO[str], process.stdin).close()
        process.wait(60)
        cast(IO[str], process.stdout).close()


def _main() -> None:
    link = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    took: list[float] = []
    while True:
        began = time.perf_counter()
        link.sendall(b"PING\r\n")
        link.recv(100)
        took.append((time.perf_counter() - began) * 1000)
        if select.select([sys.stdin], [], [], PAUSE_S)[0]:
            if not sys.stdin.readline():
                return
            took.sort()
            told = {"longest": took[-1], "nearly": took[int(len(took) * 0.99)], "count": len(took)}
            print(json.dumps(told), flush=True)
            took = []


if __name__ == "__main__":
    _main()
