"""How long the server was held by single commands and scripts of ours, from its own slow log."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import redis

from bench.measure import quantile
from bench.report import Row, Table
from queues.backends.bullmq.scripts import script

LOGGED_FROM_US = 500
READ_LIMIT_MS = 10.0


class Scripts:
    """Collects what took more than half a millisecond; seeding is left out."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._names = {script(name).digest: name for name in _names()}
        self._texts = {script(name).text[:60]: name for name in _names()}
        self._took: dict[str, list[float]] = defaultdict(list)
        client.config_set("slowlog-max-len", 100_000)
        self._log(True)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing that happens in the block is counted."""
        self.collect()
        self._log(False)
        yield
        self._client.slowlog_reset()
        self._log(True)

    def collect(self) -> None:
        for entry in self._client.slowlog_get(100_000):
            if name := self._name(bytes(entry["command"])):
                self._took[name].append(entry["duration"] / 1000)
        self._client.slowlog_reset()

    def longest(self, name: str) -> float:
        """Milliseconds of the longest such command or script; 0 when none took half a millisecond."""
        self.collect()
        return max(self._took.get(name, [0.0]))

    def table(self) -> Table:
        """What took longest, script by script."""
        self.collect()
        rows = [
            Row(
                name,
                f"{max(took):.1f} ms",
                f"{quantile(took, 0.1):.1f} to {quantile(took, 0.9):.1f}",
                aim=f"at most {READ_LIMIT_MS:g} ms",
                met=max(took) <= READ_LIMIT_MS,
            )
            for name, took in sorted(self._took.items(), key=lambda item: -max(item[1]))
        ]
        note = (
            "What took less than half a millisecond is not in it. Commands that scripts call are listed by themselves "
            "too. On a busy machine the time in which the server had to wait for a processor is in it."
        )
        return Table("How long one command held the server: the longest", rows or [Row("nothing", "< 0.5 ms")], (note,))

    def _log(self, on: bool) -> None:
        self._client.config_set("slowlog-log-slower-than", LOGGED_FROM_US if on else -1)

    def _name(self, command: bytes) -> str:
        """The script, else the command; nothing for what only measures or seeds."""
        word, _space, rest = command.partition(b" ")
        verb = word.decode("ascii", "replace").upper()
        if verb == "EVALSHA":
            return self._names.get(rest[:40].decode("ascii", "replace"), "")
        if verb == "EVAL":
            return next((name for text, name in self._texts.items() if rest.startswith(text.encode())), "")
        return "" if verb in ("CONFIG", "SLOWLOG", "MONITOR", "FLUSHALL") else verb


def _names() -> list[str]:
    import queues.backends.bullmq

    folder = Path(queues.backends.bullmq.__file__).parent / "lua"
    return [path.stem for path in sorted(folder.glob("*.lua"))]
