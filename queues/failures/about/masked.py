"""Masked JSON taken apart: what is kept or shown has dots where secrets were, and may be cut at its end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from queues.payload.scan import Malformed, scan

Path = tuple[str, ...]  # keys, and places in lists, from the outside in

OBJECT, LIST = "{…}", "[…]"
_DOTS = "\N{BULLET}"
_TOKEN = re.compile(rf"\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"?|{_DOTS}[^,\]}}\n\"]*+", re.DOTALL)


def quoted(text: str) -> str:
    """Masked JSON as JSON again: dots that stand for a value become a string."""
    return _TOKEN.sub(_quote, text) if _DOTS in text else text


def _quote(match: re.Match[str]) -> str:
    found = match[0]
    return found if found[0] == '"' else json.dumps(found.rstrip(), ensure_ascii=False)


def is_mask(text: str) -> bool:
    """Whether a quoted value is one that `quoted` made of dots."""
    return text.startswith(f'"{_DOTS}')


def leaves(text: str, *, cut: bool = True) -> dict[Path, str]:
    """Each value by its path, as it is written; of an object or list only that it is one. {} for what is no JSON.

    Linear. Of a document that is cut, what stands before the cut and is whole.
    """
    try:
        return {path: value for path, value, whole in _walk(text, cut=cut) if whole}
    except Malformed:
        return {}


def scalars(text: str) -> Iterator[Path]:
    """The paths of all values that are no containers, in their order. Raises Malformed."""
    return (path for path, value, _whole in _walk(text, cut=True) if value not in (OBJECT, LIST))


def _walk(text: str, *, cut: bool) -> Iterator[tuple[Path, str, bool]]:
    path: list[str] = []
    places: list[int] = []  # of each open container: the next place in a list, -1 in an object
    for key, value, _end, whole in scan(text, cut=cut):
        if value in ("}", "]"):
            places.pop()
            if path:
                path.pop()
            continue
        if places and key is None:
            path.append(str(places[-1]))
            places[-1] += 1
        elif places:
            path.append(_plain(key or ""))
        if value in ("{", "["):
            places.append(0 if value == "[" else -1)
            yield tuple(path), OBJECT if value == "{" else LIST, whole
        else:
            if value:
                yield tuple(path), value, whole
            if places:
                path.pop()


def _plain(key: str) -> str:
    try:
        return str(json.loads(key))
    except ValueError:
        return key.strip('"')
