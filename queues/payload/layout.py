"""JSON laid out for reading: indented, short containers on one line, secrets hidden by their keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from queues.payload.scan import Item, scan
from queues.redaction import DEFAULT, Rules, is_secret_key, mask_label, mask_text

MAX_LEVELS = 200  # what is nested deeper is shown as it was stored, on one line
LINE = 72  # columns that a container of plain values may take to stand on one line
LAYOUT_ROOM = 128 * 1024  # characters of line breaks and indents; a hostile document would make 50 MB of them

_PADS = tuple("\n" + "  " * level for level in range(MAX_LEVELS + 1))
_SHORT = re.compile(r"[^{}\[\]]{0,68}[}\]]")
_SHOWN_LITERALS = frozenset(("null", "true", "false", '""'))
_NAMING_KEYS = frozenset(('"name"', '"key"', '"header"', '"field"', '"param"'))
_VALUE_KEYS = frozenset(('"value"', '"val"', '"values"', '"content"'))
_HEADERS = frozenset(("authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-auth-token"))


class Token(NamedTuple):
    """A piece of shown text. `kind` is k (key), s (string), num, p (colon), mask, or "" for the rest.

    `rule` names the rule that hid a masked value.
    """

    kind: str
    text: str
    rule: str = ""


@dataclass(slots=True)
class _Frame:
    """An open container."""

    closer: str
    rule: str | None  # everything inside is secret by this rule
    first: str = ""  # what stands before the first value: a line break, a space or nothing
    gap: str = ""  # before the others, behind the comma
    end: str = ""  # before the closing bracket
    empty: bool = True
    next_rule: str | None = None  # from {"name": "password", "value": ...} or ["Authorization", ...]


class Layout:
    """Lays out one document. Use once: `tokens()`, then read `hidden`, `deep` and `odd_numbers`."""

    def __init__(self, text: str, *, cut: bool, flat: bool = False, rules: Rules = DEFAULT) -> None:
        self.hidden = 0
        self.deep = False
        self.odd_numbers = False  # NaN or Infinity
        self._text = text
        self._cut = cut
        self._rules = rules
        self._room = 0 if flat else LAYOUT_ROOM
        self._flat = flat
        self._frames: list[_Frame] = []

    def tokens(self) -> Iterator[Token]:
        """The document as tokens. Linear, without recursion. Raises Malformed, maybe half-way."""
        frames = self._frames
        colon = Token("p", ":" if self._flat else ": ")
        for item in scan(self._text, cut=self._cut):
            if item.text == "}" or item.text == "]":
                frame = frames.pop()
                yield Token("", item.text if frame.empty else frame.end + item.text)
                continue
            rule = None
            if frames:
                frame = frames[-1]
                yield Token("", self._separator(frame))
                rule = self._rule(frame, item)
            if item.key is not None:
                yield Token("k", item.key)
                if item.whole or item.text:
                    yield colon
            if item.text == "{" or item.text == "[":
                frames.append(self._open(item, rule))
                yield Token("", item.text)
            elif item.text:
                yield self._scalar(item, rule)

    def _rule(self, frame: _Frame, item: Item) -> str | None:
        """The rule that hides this value, and what the value says about its next sibling."""
        if frame.rule:
            return frame.rule
        if item.key is None:
            rule, frame.next_rule = frame.next_rule, None
            if item.text[:1] == '"' and len(item.text) < 30 and item.text[1:-1].lower() in _HEADERS:
                frame.next_rule = is_secret_key(item.text, self._rules)
            return rule
        rule = is_secret_key(_decoded(item.key), self._rules)
        if rule is None and item.key in _NAMING_KEYS and item.text[:1] == '"' and len(item.text) < 80:
            frame.next_rule = is_secret_key(_decoded(item.text), self._rules)
        elif rule is None and item.key in _VALUE_KEYS:
            rule = frame.next_rule
        return rule

    def _separator(self, frame: _Frame) -> str:
        text = frame.first if frame.empty else "," + frame.gap
        frame.empty = False
        self._room -= len(text)
        if self._room < 0 and frame.gap:
            for each in self._frames:
                each.first = each.gap = each.end = ""
        return text

    def _open(self, item: Item, rule: str | None) -> _Frame:
        closer = "}" if item.text == "{" else "]"
        level = len(self._frames) + 1
        self.deep = self.deep or level > MAX_LEVELS
        if level > MAX_LEVELS or self._room <= 0:
            return _Frame(closer, rule)
        short = _SHORT.match(self._text, item.end)
        if short and 2 * level + len(short[0]) <= LINE:
            space = " " if closer == "}" else ""
            return _Frame(closer, rule, space, " ", space)
        return _Frame(closer, rule, _PADS[level], _PADS[level], _PADS[level - 1])

    def _scalar(self, item: Item, rule: str | None) -> Token:
        text = item.text
        if text[0] == '"':
            if rule is None:
                return self._string(text)
            length = len(_decoded(text)) if item.whole else len(text) - 1
        else:
            if text[-1] == "N" or text[-1] == "y":
                self.odd_numbers = True
            if rule is None or text in _SHOWN_LITERALS:
                return Token("num" if text[0] in "-0123456789NI" else "", text)
            length = len(text)
        if text in _SHOWN_LITERALS:
            return Token("s", text)
        self.hidden += 1
        return Token("mask", mask_label(length, at_least=not item.whole), rule)

    def _string(self, text: str) -> Token:
        masked, hidden = mask_text(text[1:], self._rules)
        self.hidden += hidden
        return Token("s", text if not hidden else '"' + masked)


def _decoded(quoted: str) -> str:
    """What a quoted JSON string says."""
    return str(json.loads(quoted)) if "\\" in quoted else quoted[1:-1]
