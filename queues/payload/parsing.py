"""Whether a worker could read what a job holds, and where a document stops being JSON."""

from __future__ import annotations

import re
from typing import NamedTuple

from queues.jsonload import Unreadable, load
from queues.payload.scan import Malformed, scan

_NO_JSON = frozenset(("NaN", "Infinity", "-Infinity"))
_COLON = re.compile(r":[ \t\r\n]*+")
_SPACE = re.compile(r"[ \t\r\n]*+")


class Fault(NamedTuple):
    """Where a document is no JSON. `line` and `column` count from 1. `constant`: NaN or Infinity stands there."""

    at: int
    line: int
    column: int
    constant: bool = False


def parses(data: bytes) -> bool:
    """Whether JSON.parse takes these bytes, as a worker in Node reads them.

    It takes what is no UTF-8 as replaced characters, and numbers of any length. Some 20 ms for a megabyte.
    """
    try:
        load(data)
    except Unreadable as error:
        return error.too_deep or fault(data.decode(errors="replace")) is None
    return True


def fault(document: str) -> Fault | None:
    """The first thing in a document that JSON.parse does not take; None where it takes all of it. Linear."""
    done = 0  # the end of what was read
    try:
        for _key, value, end, _whole in scan(document, cut=False):
            if value in _NO_JSON:
                return _fault(document, document.rindex(value, done, end), constant=True)
            done = end
    except Malformed as error:
        reached: int = error.args[0]
        # A string before a colon was a key: what comes after it is wrong.
        keyed = '"' in document[done:reached] and _COLON.match(document, reached)
        found = keyed or _SPACE.match(document, done)
        return _fault(document, found.end() if found else done)
    return None


def _fault(document: str, at: int, *, constant: bool = False) -> Fault:
    line_start = document.rfind("\n", 0, at) + 1
    return Fault(at, document.count("\n", 0, at) + 1, at - line_start + 1, constant)
