"""Equal keys of one object in text that is edited: workers go by the last, so that what stands under the others counts
no more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Set
from dataclasses import dataclass, field
from itertools import accumulate

from queues.payload.scan import scan


@dataclass(slots=True)
class _Object:
    """An open container: of its members by name, how many tokens had been met before each and at its end."""

    members: dict[str, tuple[int, int]] = field(default_factory=dict)
    name: str | None = None
    begin: int = 0


def overruled(text: str, token: re.Pattern[str]) -> Set[str]:
    """The tokens that stand under a key which the same object, or one around it, has once more behind it. `text` is
    JSON. Linear.
    """
    met: list[str] = []
    ends: list[tuple[int, int]] = []  # stretches of them that count no more
    levels: list[_Object] = [_Object()]
    for key, value, _end, _whole in scan(text, cut=False):
        if value in ("}", "]"):
            _close(levels.pop(), len(met))
            continue
        level = levels[-1]
        if key is not None:
            _close(level, len(met))
            level.name, level.begin = json.loads(key), len(met)
            if earlier := level.members.get(level.name):
                ends.append(earlier)
            met += [key] if token.fullmatch(key) else []
        met += [value] if token.fullmatch(value) else []
        if value in ("{", "["):
            levels.append(_Object())
    steps = [0] * (len(met) + 1)
    for first, until in ends:
        steps[first] += 1
        steps[until] -= 1
    return {each for each, depth in zip(met, accumulate(steps), strict=False) if depth}


def _close(level: _Object, met: int) -> None:
    """The member that was open has ended."""
    if level.name is not None:
        level.members[level.name] = (level.begin, met)
