"""Our Lua scripts as commands: read from `lua/`, called by their digest, and found again by it.

Scripts of `lua/actions/` are for acting: most write, and some read what is acted on. They declare the queue's meta key
alone, since the others follow from it. What several of them share stands in `lua/parts/`: a first line
`-- needs: queue, parents` puts those parts in front of a script, in this order.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from queues.backends.bullmq.replies import Command, Part

_FOLDER = Path(__file__).parent / "lua"
_NEEDS = re.compile(r"-- needs: ([a-z_]+(?:, [a-z_]+)*)\n")
_by_digest: dict[str, Script] = {}


@dataclass(frozen=True, slots=True)
class Script:
    """A script. Those that read for pages declare every key, as servers that check it (Dragonfly) want it."""

    text: str
    digest: str

    def call(self, keys: Sequence[bytes], *arguments: Part) -> Command:
        """The command that runs it. `Connection` falls back to the text where the server has not seen it yet."""
        return ("EVALSHA", self.digest, len(keys), *keys, *arguments)


@cache
def script(name: str) -> Script:
    """The script in `lua/<name>.lua`, with the parts that it needs."""
    content = (_FOLDER / f"{name}.lua").read_text()
    if needed := _NEEDS.match(content):
        parts = [(_FOLDER / "parts" / f"{part}.lua").read_text() for part in needed[1].split(", ")]
        content = "".join([*parts, content])
    made = Script(content, hashlib.sha1(content.encode(), usedforsecurity=False).hexdigest())
    _by_digest[made.digest] = made
    return made


def with_text(command: Command) -> Command:
    """The same call with the script's text in place of its digest, for a server that answered NOSCRIPT."""
    return ("EVAL", _by_digest[str(command[1])].text, *command[2:])
