"""JSON taken apart without being understood: numbers, keys and strings stay the text that was stored.

It follows the grammar of JSON.parse, except that it also takes `NaN` and `Infinity`, which Python's
producers write. It neither recurses nor converts, so nesting and digits cost no more than their length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ESCAPE = r"\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})"
_STRING = rf"\"[^\"\\\x00-\x1f]*+(?:{_ESCAPE}[^\"\\\x00-\x1f]*+)*\""
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
_SPACE = r"[ \t\r\n]*+"
_ITEM = re.compile(
    rf"{_SPACE}(?:({_STRING}){_SPACE}:{_SPACE})?"
    rf"({_STRING}|{_NUMBER}|true|false|null|[{{}}\[\]]|NaN|-?Infinity)"
    rf"{_SPACE}(,)?"
)
_LITERAL_START = "t|tr|tru|f|fa|fal|fals|n|nu|nul|N|Na|-?I|-?In|-?Inf|-?Infi|-?Infin|-?Infini|-?Infinit"  # a cut word
_TAIL = re.compile(
    rf"{_SPACE}(?:({_STRING}){_SPACE}(?::{_SPACE}|\Z))?"
    rf"(\"[^\"\\\x00-\x1f]*+(?:{_ESCAPE}[^\"\\\x00-\x1f]*+)*(?:\\(?:u[0-9a-fA-F]{{0,3}})?)?"
    rf"|-?[0-9]*+(?:\.[0-9]*+)?(?:[eE][+-]?)?|{_LITERAL_START})?\Z"
)
_NUMBER_TAIL = re.compile(r"\.|[eE][+-]?")


# A value or bracket: the quoted key before it, its text, where the document goes on, and false for what
# the end of a cut document cuts off (the text may be "" then). A plain tuple, as there are many.
Item = tuple[str | None, str, int, bool]


class Malformed(ValueError):
    """The text is not JSON."""


def scan(text: str, *, cut: bool) -> Iterator[Item]:
    """The values and brackets of a document in order; commas and layout are left out.

    With `cut` the document may end anywhere. Raises Malformed where it stops being JSON, which may be
    after items were given out. Linear.
    """
    closers: list[str] = []  # the bracket that closes each open container
    pos, wanted, closable = 0, True, False  # may a value come next; may a closing bracket
    while found := _ITEM.match(text, pos):
        key, value, comma = found.groups()
        pos = found.end()
        if value in ("}", "]"):
            if not closable or key is not None or not closers or closers.pop() != value:
                raise Malformed(pos)
            wanted, closable = comma is not None, comma is None
        else:
            if not wanted or (key is None) == (closers[-1:] == ["}"]):
                if cut and value[0] == '"':  # perhaps a key whose value is cut off
                    pos = found.start()
                    break
                raise Malformed(pos)
            if value in ("{", "["):
                if comma:
                    raise Malformed(pos)
                closers.append("}" if value == "{" else "]")
                closable = True
            else:
                wanted, closable = comma is not None, comma is None
        if comma and not closers:
            raise Malformed(pos)
        yield key, value, pos, True
    yield from _end(text, pos, closers, wanted=wanted, cut=cut)


def _end(text: str, pos: int, closers: list[str], *, wanted: bool, cut: bool) -> Iterator[Item]:
    rest = text[pos:].strip(" \t\r\n")
    complete = not closers and not wanted
    if not rest and (complete or (cut and pos)):
        return
    if cut and not wanted and text[pos - 1].isdigit() and _NUMBER_TAIL.fullmatch(text, pos):
        return  # the number before it was given out
    if not cut or not wanted:
        raise Malformed(pos)
    found = _TAIL.match(text, pos)
    if found is None:
        raise Malformed(pos)
    key, value = found[1], found[2] or ""
    in_object = closers[-1:] == ["}"]
    if in_object and key is None and value.startswith('"'):
        key, value = value, ""  # the cut runs through a key
    if in_object == (key is None):
        raise Malformed(pos)
    yield key, value, len(text), False
