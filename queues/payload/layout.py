"""JSON laid out for reading: indented, short containers on one line, secrets hidden by their keys."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from queues import cards, masking
from queues.jsonload import MAX_DEPTH
from queues.payload.scan import scan
from queues.redaction import MASK, Rules, is_secret_key, mask_label, mask_text

LINE = 72  # columns that a container of plain values may take to stand on one line
LAYOUT_ROOM = 128 * 1024  # characters of line breaks and indents; a hostile document would make 50 MB of them

_SHORT_LABELS_AFTER = 2000  # masked values; then one dot each, to keep the page small

# What stands before the first value, before the others (behind the comma), and before the closing bracket.
_Style = tuple[str, str, str]
_FLAT: _Style = ("", "", "")
_INLINE: dict[str, _Style] = {"{": (" ", " ", " "), "[": ("", " ", "")}
_PADS = tuple("\n" + "  " * level for level in range(MAX_DEPTH + 1))
_BROKEN = tuple((pad, pad, end) for pad, end in zip(_PADS[1:], _PADS, strict=False))
_SHORT = re.compile(r"[^{}\[\]]{0,68}[}\]]")
_SHOWN_LITERALS = frozenset(("null", "true", "false", '""'))
_NUMBER_STARTS = frozenset("-0123456789NI")
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


Piece = tuple[str, str, str]  # a Token in the making
_OPENING: dict[str, Piece] = {"{": ("", "{", ""), "[": ("", "[", "")}
_NOTHING: Piece = ("", "", "")
_COMMA: Piece = ("", ",", "")


class Layout:
    """Lays out one document. Use once: `pieces()`, then read `hidden`, `deep` and `odd_numbers`."""

    def __init__(self, text: str, *, cut: bool, flat: bool = False, rules: Rules | None = None) -> None:
        self.hidden = 0
        self.deep = False
        self.odd_numbers = False  # NaN or Infinity
        self._text = text
        self._cut = cut
        self._rules = masking.in_force() if rules is None else rules
        self._flat = flat
        self._room = 0 if flat else LAYOUT_ROOM
        self._known: dict[str, str | None] = {}  # quoted key -> its rule
        # The open containers, outermost first; lists of plain values, as there may be 262,144 of them.
        self._styles: list[_Style] = []
        self._secret: list[str | None] = []  # the rule by which all inside is secret
        self._next: list[str | None] = []  # the rule for a sibling: {"name": "password", "value": ...}
        self._started: list[bool] = []

    def pieces(self) -> list[Piece]:
        """The document as (kind, text, rule). Linear, without recursion. Raises Malformed."""
        out: list[Piece] = []
        colon = ("p", ":" if self._flat else ": ", "")
        for key, text, end, whole in scan(self._text, cut=self._cut):
            if text in ("}", "]"):
                closing = self._styles.pop()[2]
                self._secret.pop()
                self._next.pop()
                out.append(("", closing + text if self._started.pop() else text, ""))
                continue
            rule = None
            if self._started:
                out.append(self._separator())
                rule = self._secret[-1] or (self._rule(key, text) if text else None)
            if key is not None:
                out.append(("k", self._key(key, cut=not whole), ""))
                if whole or text:
                    out.append(colon)
            if text in ("{", "["):
                self._open(text, end, rule)
                out.append(_OPENING[text])
            elif text:
                out.append(self._scalar(text, rule, whole))
        return out

    def _separator(self) -> Piece:
        first, gap, _ = self._styles[-1]
        if not self._started[-1]:
            self._started[-1] = True
            return ("", first, "") if first else _NOTHING
        self._room -= len(gap)
        if self._room < 0 and gap:
            self._styles[:] = [_FLAT] * len(self._styles)
        return ("", "," + gap, "") if gap else _COMMA

    def _rule(self, key: str | None, text: str) -> str | None:
        """The rule that hides this value; it also notes what the value says about its next sibling."""
        if key is None:
            rule, self._next[-1] = self._next[-1], None
            if text[0:1] == '"' and len(text) < 30 and text[1:-1].lower() in _HEADERS:
                self._next[-1] = is_secret_key(text, self._rules)
            return rule
        rule = self._rule_of_key(key)
        if rule is None and key in _NAMING_KEYS and text[0:1] == '"' and len(text) < 80:
            self._next[-1] = self._rule_of_key(text)
        elif rule is None and key in _VALUE_KEYS:
            rule = self._next[-1]
        return rule

    def _rule_of_key(self, quoted: str) -> str | None:
        try:
            return self._known[quoted]
        except KeyError:
            rule = self._known[quoted] = is_secret_key(_decoded(quoted), self._rules)
            return rule

    def _key(self, key: str, *, cut: bool) -> str:
        """The key as it is shown: one such as "password=..." is a secret itself."""
        if key[1:-1].isalnum() and "eyJ" not in key:  # most keys; masking each would take long
            return key
        shown, hidden = mask_text(key[1:], self._rules, cut=cut)
        self.hidden += hidden
        return '"' + shown if hidden else key

    def _open(self, bracket: str, end: int, rule: str | None) -> None:
        level = len(self._styles)
        style = _FLAT
        if level >= MAX_DEPTH:
            self.deep = True
        elif self._room > 0:
            short = _SHORT.match(self._text, end)
            style = _INLINE[bracket] if short and 2 * level + short.end() - end < LINE else _BROKEN[level]
        self._room -= len(style[0]) + len(style[2])
        self._styles.append(style)
        self._secret.append(rule)
        self._next.append(None)
        self._started.append(False)

    def _scalar(self, text: str, rule: str | None, whole: bool) -> Piece:
        if text[0] == '"':
            if rule is None:
                return self._string(text, whole)
            length = len(_decoded(text)) if whole else len(text) - 1
        else:
            if text[-1] == "N" or text[-1] == "y":
                self.odd_numbers = True
            if rule is None and self._rules.shapes and _is_card(text, whole):
                rule = cards.RULE
            if rule is None:
                return ("num" if text[0] in _NUMBER_STARTS else "", text, "")
            length = len(text)
        if text in _SHOWN_LITERALS:
            return ("s" if text == '""' else "", text, "")
        self.hidden += 1
        label = mask_label(length, at_least=not whole) if self.hidden <= _SHORT_LABELS_AFTER else MASK[0]
        return ("mask", label, rule)

    def _string(self, text: str, whole: bool) -> Piece:
        masked, hidden = mask_text(text[1:], self._rules, cut=not whole)
        if not hidden:
            return ("s", text, "")
        self.hidden += hidden
        return ("s", '"' + masked, "")


def _is_card(number: str, whole: bool) -> bool:
    """Whether a number in a document can be that of a card, or the beginning of one."""
    if not 8 <= len(number) <= 19 or not number.isdigit():
        return False
    return cards.is_card(number) if whole else number[0] in "23456"


def _decoded(quoted: str) -> str:
    """What a quoted JSON string says."""
    return str(json.loads(quoted)) if "\\" in quoted else quoted[1:-1]
