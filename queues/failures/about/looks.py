"""What the payloads of a group's samples have in common: the newest one, with the fields that differ marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from queues.failures.about.masked import is_mask, leaves, quoted, scalars
from queues.models import FailureSample
from queues.payload import Shown, Token, plain_text, show
from queues.payload.layout import Layout
from queues.payload.scan import Malformed
from queues.redaction import NOTHING
from queues.types import Body, Mark

_WORDS = frozenset(("true", "false", "null", "NaN", "Infinity", "-Infinity"))
_COLOURED = frozenset(("s", "num", "mask"))
MOST = 20  # samples that are compared


@dataclass(frozen=True, slots=True)
class Compared:
    """A payload for eyes. `among` is how many samples of the same job name it was compared with, itself included."""

    body: Shown
    differing: int
    among: int


def compared(sample: FailureSample, others: Sequence[FailureSample]) -> Compared:
    """The payload of a sample, what differs from others marked `dif`. Never raises; linear.

    It was masked by the rules of when it was kept, and is once more by those that are in force for this thread.
    """
    size = int(sample.sizes.get("payload", 0)) or len(sample.payload.encode("utf-8", "replace"))
    cut = len(sample.payload.encode("utf-8", "replace")) < size and Mark.CUT
    raw = quoted(sample.payload).encode("utf-8", "replace")
    text = quoted(show(Body(raw, len(raw) + bool(cut))).text)
    like = [each for each in others if each.name == sample.name and each.payload and each.pk != sample.pk][: MOST - 1]
    values = [leaves(quoted(each.payload)) for each in (sample, *like)]
    try:
        tokens = _tokens(text, values)
    except Malformed:
        raw = sample.payload.encode("utf-8", "replace")
        body = plain_text(Body(raw, len(raw)))
        marks = tuple(mark for mark in (cut, Mark.MALFORMED) if mark)
        return Compared(Shown((Token("", body.value),), marks, size, 0, plain=True), 0, 1)
    hidden = sum(1 for token in tokens if token.kind == "mask")
    marks = (*((Mark.CUT,) if cut else ()), *((Mark.MASKED,) if hidden else ()))
    shown = Shown(tuple(tokens), marks, size, hidden, plain=False)
    return Compared(shown, sum(1 for token in tokens if token.kind.endswith("dif")), len(values))


def _tokens(text: str, values: Sequence[dict[tuple[str, ...], str]]) -> list[Token]:
    """The document laid out; each value is met in the order in which `scalars` gives its path."""
    paths, kept = scalars(text), values[0]
    made: list[Token] = []
    for kind, piece, _rule in Layout(text, cut=True, rules=NOTHING).pieces():
        if kind not in _COLOURED and piece not in _WORDS:
            made.append(Token(kind, piece))
            continue
        path = next(paths, None)
        if is_mask(piece):
            before = kept.get(path or (), "")  # masked again, it would tell the length of its mask
            made.append(Token("mask", (before if is_mask(before) else piece)[1:-1]))
        elif path is not None and _differs(path, values):
            made.append(Token(f"{kind} dif".strip(), piece))
        else:
            made.append(Token(kind, piece))
    return made


def _differs(path: tuple[str, ...], values: Sequence[dict[tuple[str, ...], str]]) -> bool:
    return len({each.get(path) for each in values}) > 1
