"""The real npm library for tests: one long-lived Node process that runs what a test asks of BullMQ 4, 5 or 6."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import pytest

from tests.policy import unavailable

FOLDER = Path(__file__).parent / "bullmq"
MAJORS = (4, 5, 6)
ANSWER_S = 120.0  # a loaded machine may need long


class NodeError(AssertionError):
    """The script threw; the text is its stack."""


class Node:
    """Runs JavaScript with the library at hand, one call after the other.

    A body is that of an async function: `queue(major, name, opts)`, `worker(major, name, fn, opts)`,
    `flow(major, opts)`, `events(major, name, opts)` open what `reset` closes again; `lib[major]` is
    the whole library, `redis` an ioredis client, `sleep(ms)`, `until(probe)`; `keep` is an object that
    lives as long as the process; arguments are in `args`. What it returns comes back through JSON.
    """

    def __init__(self, modules: Path) -> None:
        environment = {**os.environ, "BULLMQ_NODE_MODULES": str(modules)}
        self.process = subprocess.Popen(
            ["node", str(FOLDER / "harness.mjs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def run(self, body: str, *, url: str, **args: object) -> object:
        """The value that the body returns. Raises NodeError when it throws, or does not end in two minutes."""
        self._send({"url": url, "body": body, "args": args})
        return self._answer()

    def reset(self) -> None:
        """Close every queue, worker and connection that scripts have opened, working or not."""
        self._send({"reset": True})
        self._answer()

    def close(self) -> None:
        stdin = cast(IO[bytes], self.process.stdin)
        stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join()
        cast(IO[bytes], self.process.stdout).close()

    def _send(self, message: dict[str, object]) -> None:
        stdin = cast(IO[bytes], self.process.stdin)
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()

    def _answer(self) -> object:
        try:
            answer = json.loads(self._answers.get(timeout=ANSWER_S))
        except queue.Empty:
            raise NodeError(f"no answer within {ANSWER_S:.0f} s") from None
        if "error" in answer:
            raise NodeError(answer["error"])
        return cast(object, answer.get("value"))

    def _read(self) -> None:
        for line in cast(IO[bytes], self.process.stdout):
            self._answers.put(line)
        self._answers.put(b'{"error": "the Node process has ended"}')


def node_modules() -> Path:
    """Where `bullmq4`, `bullmq5`, `bullmq6` and `ioredis` are installed."""
    found = Path(os.environ.get("BULLMQ_NODE_MODULES") or FOLDER / "node_modules")
    if shutil.which("node") is None:
        unavailable("Node is not installed")
    if not (found / "bullmq6").is_dir():
        unavailable(f"the npm libraries are not installed: npm ci --prefix {FOLDER.relative_to(Path.cwd())}")
    return found


@pytest.fixture(scope="session")
def node_process() -> Iterator[Node]:
    process = Node(node_modules())
    yield process
    process.close()


@pytest.fixture
def node(node_process: Node) -> Iterator[Node]:
    """The Node process; what a test opens in it is closed after the test."""
    yield node_process
    node_process.reset()


@pytest.fixture(params=MAJORS, ids=lambda major: f"bullmq{major}")
def major(request: pytest.FixtureRequest) -> int:
    """Each major of the npm library."""
    return cast(int, request.param)
