"""Stack traces of Node.js and Python split into lines: the message, the product's own frames, the libraries'."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Literal, NamedTuple

from queues.payload import plain_text, weight
from queues.redaction import Rules
from queues.types import Body, Mark

MAX_LINES = 400
MAX_COLUMNS = 2000  # characters of one line
LINE_MARKUP = 32  # bytes of a page around a line

Kind = Literal["er", "hl", "lib", ""]

_NODE_FRAME = re.compile(r"[ \t]*+at\s")
_PYTHON_FRAME = re.compile(r"[ \t]*+File \"")
_CHAIN = re.compile(r"[ \t]*+(?:\[(?:cause|errors)\]|Caused by\b|\.\.\. )")
_LIBRARY = re.compile(
    r"node_modules|\bnode:|\(internal/|\bbun:|<anonymous>|\(native\)|\(index \d"
    r"|(?:site|dist)-packages|/lib/python\d|<frozen |\\lib\\"
)


class Line(NamedTuple):
    """A line: `er` says what went wrong, `hl` is a frame of the product, `lib` one of a library or runtime."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack trace for eyes. `cut` is true when there is more than `lines` show; `size` is its true size."""

    lines: tuple[Line, ...]
    size: int
    marks: tuple[Mark, ...]

    @property
    def cut(self) -> bool:
        return Mark.CUT in self.marks


def show(body: Body, rules: Rules | None = None, *, limit: int | None = None) -> Stack:
    """`body` as classified lines, at most 400 of 2,000 characters each, secrets masked, ANSI codes stripped.

    With `limit` its lines take at most so many bytes of a page. Never raises, whatever the bytes are.
    Linear in the capped body.
    """
    text = plain_text(body, rules, limit=limit)
    lines = text.value.removesuffix("\n").split("\n", MAX_LINES)
    more = len(lines) > MAX_LINES or any(len(line) > MAX_COLUMNS for line in lines)
    shown = tuple(Line(kind, line[:MAX_COLUMNS]) for kind, line in _classified(lines[:MAX_LINES]))
    if limit is not None:
        count = _fitting(shown, limit)
        more, shown = more or count < len(shown), shown[:count]
    marks = (Mark.CUT, *text.marks) if more and Mark.CUT not in text.marks else text.marks
    return Stack(shown, text.size, marks)


def _fitting(lines: tuple[Line, ...], limit: int) -> int:
    """How many of the lines fit."""
    weights = accumulate(LINE_MARKUP + weight(line.text) for line in lines)
    return sum(1 for _ in takewhile(lambda sent: sent <= limit, weights))


def _classified(lines: list[str]) -> Iterator[tuple[Kind, str]]:
    frame: Kind = ""  # the class of the Python frame whose source line may follow
    seen = False
    for line in lines:
        if _NODE_FRAME.match(line):
            seen, frame = True, ""
            yield _owner(line), line
        elif _PYTHON_FRAME.match(line):
            seen, frame = True, _owner(line)
            yield frame, line
        elif frame and line.startswith("    "):
            yield frame, line
        else:
            frame = ""
            message = not seen or not line[:1].isspace() or _CHAIN.match(line)
            yield "er" if message and line.strip(" \t})]") else "", line


def _owner(line: str) -> Kind:
    return "lib" if _LIBRARY.search(line, 0, MAX_COLUMNS) else "hl"
