"""Our Lua scripts as commands: read from `lua/`, called by their digest, and found again by it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from queues.backends.bullmq.replies import Command, Part

_FOLDER = Path(__file__).parent / "lua"
_by_digest: dict[str, Script] = {}


@dataclass(frozen=True, slots=True)
class Script:
    """A script whose every key is declared, so that servers which check that (Dragonfly) run it too."""

    text: str
    digest: str

    def call(self, keys: Sequence[bytes], *arguments: Part) -> Command:
        """The command that runs it. `Connection` falls back to the text where the server has not seen it yet."""
        return ("EVALSHA", self.digest, len(keys), *keys, *arguments)


@cache
def script(name: str) -> Script:
    """The script in `lua/<name>.lua`."""
    content = (_FOLDER / f"{name}.lua").read_text()
    made = Script(content, hashlib.sha1(content.encode(), usedforsecurity=False).hexdigest())
    _by_digest[made.digest] = made
    return made


def with_text(command: Command) -> Command:
    """The same call with the script's text in place of its digest, for a server that answered NOSCRIPT."""
    return ("EVAL", _by_digest[str(command[1])].text, *command[2:])
