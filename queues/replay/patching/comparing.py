"""Data before and after an edit as lines, what is hidden masked on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from queues.redaction import Rules


class Line(NamedTuple):
    """A line for eyes. `kind` is "same", "out" (of before), "in" (of after) or "gap" (`number` lines left out)."""

    kind: str
    text: str
    number: int = 0


def compared(before: bytes, after: bytes, rules: Rules) -> Sequence[Line]:
    """What differs, with some lines around it; nothing where nothing does.

    A hidden value that differs stands there as dots on both sides. Bounded in lines and in time, whatever the data.
    """
    raise NotImplementedError
