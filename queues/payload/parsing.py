"""Whether a worker could read what a job holds."""

from __future__ import annotations

from queues.jsonload import Unreadable, load
from queues.payload.scan import Malformed, scan

_NO_JSON = frozenset(("NaN", "Infinity", "-Infinity"))


def parses(data: bytes) -> bool:
    """Whether JSON.parse takes these bytes, as a worker in Node reads them.

    It takes what is no UTF-8 as replaced characters, and numbers of any length. Some 20 ms for a megabyte.
    """
    try:
        load(data)
    except Unreadable as error:
        return error.too_deep or _parses(data.decode(errors="replace"))
    return True


def _parses(document: str) -> bool:
    try:
        return all(value not in _NO_JSON for _key, value, _end, _whole in scan(document, cut=False))
    except Malformed:
        return False
