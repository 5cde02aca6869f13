"""How much is put on, and the processes that do it: the generator, and the bare floor."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.stage import Stage

ENDS_WITHIN_S = 60.0
MAX_LEN = 10_000  # what BullMQ keeps of a stream unless told otherwise


@dataclass(frozen=True)
class Load:
    """Sizes of a run: of issue 3's aims at scale 1."""

    queues: int
    rate: int  # events a second, over all queues
    sockets: int
    crowd: int  # sockets on one queue
    crowd_rate: int
    seconds: float

    @classmethod
    def of(cls, stage: Stage) -> Load:
        sized = stage.sized
        seconds = stage.seconds or max(60 * min(stage.scale, 1), 3)
        return cls(sized(1_000, 10), sized(20_000, 50), sized(50, 5), sized(500, 10), sized(100, 20), seconds)

    @property
    def phase_s(self) -> float:
        """How long each of the shorter phases takes."""
        return min(max(self.seconds / 4, 1), 15)

    @property
    def crowd_s(self) -> float:
        return min(max(self.seconds / 3, 1), 20)


@dataclass(frozen=True)
class Plan:
    """What the generator is told. `still` are queues whose lists it leaves alone: marks move them."""

    port: int
    database: int
    queues: Sequence[str]
    rate: int
    still: Sequence[str] = ()
    most: int = MAX_LEN


@dataclass
class Helper:
    """A process that works until its input closes, and what it told then."""

    process: subprocess.Popen[bytes]
    told: dict[str, Any] = field(default_factory=dict)

    def end(self) -> dict[str, Any]:
        """Let it finish, and give what it says. Raises RuntimeError when it broke."""
        if not self.told:
            output, _ = self.process.communicate(timeout=ENDS_WITHIN_S)
            if self.process.returncode:
                raise RuntimeError(f"{self.process.args!r} ended with {self.process.returncode}")
            self.told = json.loads(output)
        return self.told


@contextlib.contextmanager
def generator(plan: Plan) -> Iterator[Helper]:
    """Writes events in the block, or until its `end`."""
    with _started("generator.py", asdict(plan)) as helper:
        yield helper


@contextlib.contextmanager
def floor(plan: Plan) -> Iterator[Helper]:
    """Reads the streams of the plan's queues in the block, and does nothing with what it read."""
    keys = [f"bull:{name}:events" for name in plan.queues]
    with _started("floor.py", {"port": plan.port, "database": plan.database, "keys": keys}) as helper:
        yield helper


@contextlib.contextmanager
def _started(script: str, plan: dict[str, Any]) -> Iterator[Helper]:
    command = [sys.executable, str(Path(__file__).parent / script), json.dumps(plan)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield Helper(process)
        finally:
            process.kill()
