"""How rules are compared with failures.

There are no regular expressions in rules of users: one that backtracks would hold up the index, and with it every
class. What there is instead costs time in proportion to the text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.utils.functional import Promise

from queues.failures.types import Kind, Signature

_PARTS = re.compile(r"[\s,;|/:=]+")


@dataclass(frozen=True, slots=True)
class Said:
    """What was thrown as rules see it: texts in small letters, each code by itself."""

    shape: str
    error_class: str
    codes: Sequence[str]
    message: str


def said(signature: Signature) -> Said:
    """A signature for comparing."""
    code = signature.code.lower()
    codes = dict.fromkeys((code, *_PARTS.split(code)))
    codes.pop("", None)
    return Said(signature.shape, signature.error_class.lower(), tuple(codes), signature.message.lower())


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A rule of ours: it matches if any of its patterns does. They are in small letters.

    `words` says what it is about, `advice` what to do. `*` stands for any text.
    """

    name: str
    kind: Kind
    words: str | Promise
    advice: str | Promise
    shapes: Sequence[str] = ()
    classes: Sequence[str] = ()
    codes: Sequence[str] = ()
    messages: Sequence[str] = ()
    texts: Sequence[str] = ()  # messages as a whole

    def means(self, failure: Said) -> bool:
        return (
            failure.shape in self.shapes
            or _any_whole(self.classes, failure.error_class)
            or any(_any_whole(self.codes, code) for code in failure.codes)
            or failure.message in self.texts
            or any(anywhere(phrase, failure.message) for phrase in self.messages)
        )


@dataclass(frozen=True, slots=True)
class Own:
    """A rule of a user: all of its patterns match, and an empty one matches anything.

    A message is looked for anywhere, the other texts are compared whole; upper and lower case are the same, `*` stands
    for any text. `source` and `queue` (a slug) are exact.
    """

    kind: Kind
    error_class: str = ""
    code: str = ""
    message: str = ""
    name: str = ""  # of the job
    source: str = ""
    queue: str = ""
    pk: int = 0  # 0: not kept yet

    def means(self, thrown: Said) -> bool:
        """Whether what was thrown matches, wherever that was."""
        return (
            (not self.error_class or whole(_small(self.error_class), thrown.error_class))
            and (not self.code or any(whole(_small(self.code), code) for code in thrown.codes))
            and (not self.message or anywhere(_small(self.message), thrown.message))
        )

    def holds_for(self, name: str, queue: str, source: str) -> bool:
        """Whether the job's name, the queue's slug and the source match."""
        return (
            self.source in ("", source)
            and self.queue in ("", queue)
            and (not self.name or whole(_small(self.name), name.lower()))
        )

    @property
    def title(self) -> str:
        """The name by which it is shown as the one that decided: what it matches, at most 100 characters."""
        return _title(self)

    @property
    def patterns(self) -> tuple[str, ...]:
        """All that it compares, as it compares it: two rules with the same are one."""
        told = (self.error_class, self.code, self.message, self.name)
        return (*(each.lower() for each in told), self.source, self.queue)

    @property
    def empty(self) -> bool:
        return not any(self.patterns)


@lru_cache(maxsize=1_024)
def _title(own: Own) -> str:
    told = (
        *(("class", own.error_class), ("code", own.code), ("message", own.message)),
        *(("job", own.name), ("queue", own.queue), ("source", own.source)),
    )
    shown = ", ".join(f"{word} {_short(value)}" for word, value in told if value)
    full = ", ".join(f"{word} {value}" for word, value in told if value)
    if shown == full and len(shown) <= 100:
        return shown
    # Two rules that begin alike must not be taken for one.
    return f"{shown[:90]}… {hashlib.sha256(full.encode('utf-8', 'surrogatepass')).hexdigest()[:4]}"


@lru_cache(maxsize=4_096)
def _small(pattern: str) -> str:
    return pattern.lower()


def whole(pattern: str, text: str) -> bool:
    """Whether `text` is `pattern`, in which `*` stands for any text."""
    if "*" not in pattern:
        return pattern == text
    first, *middle, last = _pieces(pattern)
    if len(first) + len(last) > len(text) or not (text.startswith(first) and text.endswith(last)):
        return False
    return _in_order(middle, text[len(first) : len(text) - len(last)])


def anywhere(pattern: str, text: str) -> bool:
    """Whether `pattern`, in which `*` stands for any text, is found somewhere in `text`."""
    return pattern in text if "*" not in pattern else _in_order(_pieces(pattern), text)


def _in_order(pieces: Sequence[str], text: str) -> bool:
    at = 0
    for piece in pieces:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True


@lru_cache(maxsize=4_096)
def _pieces(pattern: str) -> Sequence[str]:
    return tuple(pattern.split("*"))


def _any_whole(patterns: Sequence[str], text: str) -> bool:
    return bool(text) and (text in patterns or any("*" in each and whole(each, text) for each in patterns))


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
