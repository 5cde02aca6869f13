"""Bull Board, the real one, installed once into a folder of its own, and BullMQ's own bulk call."""

from __future__ import annotations

import filecmp
import http.client
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

FOLDER = Path(__file__).parent / "board"
LONGEST_S = 900.0


class Board:
    """A kept connection to it."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST_S)

    def put(self, path: str) -> None:
        """What one of its buttons sends; returns when it says that it is done."""
        self._connection.request("PUT", path)
        answer = self._connection.getresponse()
        told = answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{path}: {answer.status} {told[:500]!r}")

    def close(self) -> None:
        self._connection.close()


@contextmanager
def board(port: int, queue: str, log: Path) -> Iterator[Board]:
    """Bull Board over one queue of the server at `port`."""
    _install()
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["node", "board.mjs", str(port), queue], cwd=FOLDER, stdout=subprocess.PIPE, stderr=output
        )
    stdout = cast(IO[bytes], process.stdout)
    try:
        told = stdout.readline()
        if not told.strip():
            raise RuntimeError(f"Bull Board did not start:\n{log.read_text(errors='replace')}")
        reached = Board(int(told))
        yield reached
        reached.close()
    finally:
        process.kill()
        process.wait()
        stdout.close()


def missing() -> str:
    """What is not installed on this machine; "" when all is there."""
    if shutil.which("node") is None:
        return "Node is not installed"
    return "" if _installed() else "Bull Board is not installed: .ci/tools"


def _installed() -> bool:
    lock, installed = FOLDER / "package-lock.json", FOLDER / "node_modules" / ".installed-lock"
    return installed.exists() and filecmp.cmp(lock, installed, shallow=False)


def _install() -> None:
    if _installed():
        return
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(command, cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
    shutil.copy(FOLDER / "package-lock.json", FOLDER / "node_modules" / ".installed-lock")
