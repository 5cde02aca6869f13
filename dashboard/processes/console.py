"""The one console of all processes: a line each, with time and name, without passwords or control characters."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TextIO

from dashboard.credentials import redact

# Cyan, magenta, blue, green, yellow: the terminal's own, so that they fit its background.
_COLOURS = (36, 35, 34, 32, 33)
OWN_NAME = "mirante"


class Console:
    """`secrets` are replaced wherever they turn up. `broken` says that nobody listens any more."""

    def __init__(self, out: TextIO, *, secrets: Iterable[str] = (), colour: bool = False, width: int = 7) -> None:
        self._out = out
        self._secrets = sorted({secret for secret in secrets if len(secret) >= 6}, key=len, reverse=True)
        self._colour = colour
        self._width = max(width, len(OWN_NAME))
        self._names: list[str] = []
        self.broken = False

    def say(self, text: str) -> None:
        self.line(OWN_NAME, text)

    def line(self, name: str, text: str) -> None:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        self.plain(f"{time.strftime('%H:%M:%S')} {self._prefix(name)} {_harmless(redact(text))}")

    def plain(self, text: str) -> None:
        """A line as it is, also with a password that is meant to be read."""
        try:
            self._out.write(text + "\n")
            self._out.flush()
        except (BrokenPipeError, ValueError):
            self.broken = True
        except OSError:
            # A full disk behind `> file` is no reason to stop the processes.
            pass

    def _prefix(self, name: str) -> str:
        padded = f"{name:<{self._width}} |"
        if not self._colour or name == OWN_NAME:
            return padded
        if name not in self._names:
            self._names.append(name)
        return f"\x1b[{_COLOURS[self._names.index(name) % len(_COLOURS)]}m{padded}\x1b[0m"


def _harmless(text: str) -> str:
    """What a job says may end in a log line, and a terminal obeys escape sequences."""
    return "".join(letter if letter.isprintable() or letter == "\t" else ascii(letter)[1:-1] for letter in text)
