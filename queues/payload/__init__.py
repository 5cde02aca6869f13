"""Stored bodies made fit to show: laid out where they are JSON, secrets masked, oddities marked.

Everything here takes hostile bytes, never raises for them, and costs time and memory linear in the
capped body (about 0.1 s for 256 KB of ordinary JSON).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from queues.ansi import strip_ansi
from queues.names import show_controls, show_controls_in_json
from queues.payload.layout import Layout, Piece, Token
from queues.payload.scan import Malformed
from queues.redaction import DEFAULT, Rules, is_secret_key, mask_label, mask_text
from queues.text import decoded
from queues.types import Body, Mark, Text

__all__ = ["Shown", "Token", "plain_text", "show", "summary"]

SPANS_UP_TO = 64 * 1024  # bytes of a body; a larger one is shown without colours to keep pages small
MAX_SPANS = 8000
SUMMARY_READS = 4096  # bytes of a body that a one-line summary looks at


@dataclass(frozen=True, slots=True)
class Shown:
    """A body as a page shows it. `size` is its true size in bytes, `hidden` the number of masked values.

    `plain` means that the tokens carry no colours: large, or no JSON.
    """

    tokens: tuple[Token, ...]
    marks: tuple[Mark, ...]
    size: int
    hidden: int
    plain: bool
    numbers: bool = False  # JSON that holds numbers

    @property
    def text(self) -> str:
        return "".join(token.text for token in self.tokens)


def show(body: Body, rules: Rules = DEFAULT) -> Shown:
    """`body` laid out with two spaces a level when it is JSON, else as the text it is, marked MALFORMED.

    Numbers, keys and strings are the text that was stored, in its order, duplicates included; a body
    that was cut is laid out up to the cut. Control and bidi characters are written as escapes.
    """
    text, marks = _decode(body)
    layout = Layout(show_controls_in_json(text), cut=body.cut, rules=rules)
    try:
        pieces = layout.pieces()
    except Malformed:
        return _raw(body, text, marks, rules)
    tokens = () if len(body.raw) > SPANS_UP_TO else tuple(_merged(pieces))
    plain = not 0 < len(tokens) <= MAX_SPANS
    if plain:
        tokens = (Token("", "".join([piece[1] for piece in pieces])),)
    numbers = any(piece[0] == "num" for piece in pieces)
    return Shown(tokens, marks + _layout_marks(layout), body.size, layout.hidden, plain, numbers)


def summary(body: Body, limit: int = 120, *, key: str = "", rules: Rules = DEFAULT) -> Text:
    """`body` on one line of at most `limit` characters, secrets masked; it reads the first 4 KB at most.

    `key` is the name under which the body is stored: when it names a secret, all of the body is hidden.
    """
    if body.raw and is_secret_key(key, rules):
        return Text(mask_label(body.size), body.size, (Mark.MASKED,))
    part = Body(body.raw[:SUMMARY_READS], body.size)
    text, marks = _decode(part)
    layout = Layout(show_controls_in_json(text), cut=part.cut, flat=True, rules=rules)
    try:
        line = "".join([piece[1] for piece in layout.pieces()])
        marks += _layout_marks(layout)
    except Malformed:
        shown = _raw(part, text, marks, rules)
        line, marks = " ".join(shown.text.split()), shown.marks
    if len(line) > limit or part.cut:
        line = line[: limit - 1] + "…"
        marks = tuple(dict.fromkeys((Mark.CUT, *marks)))
    return Text(line, body.size, marks)


def plain_text(body: Body, rules: Rules = DEFAULT) -> Text:
    """Free text (an error, a log line) with its line breaks: ANSI codes stripped, secrets masked, controls visible."""
    text, marks = _decode(body)
    masked, hidden = mask_text(strip_ansi(text), rules, cut=body.cut)
    return Text(show_controls(masked), body.size, marks + ((Mark.MASKED,) if hidden else ()))


def _decode(body: Body) -> tuple[str, tuple[Mark, ...]]:
    text, odd = decoded(body.raw, cut=body.cut)
    found = ((Mark.CUT, body.cut), (Mark.BYTES, odd))
    return text, tuple(mark for mark, is_so in found if is_so)


def _raw(body: Body, text: str, marks: tuple[Mark, ...], rules: Rules) -> Shown:
    # What begins like JSON and is none was often cut before it was stored.
    masked, hidden = mask_text(text, rules, cut=body.cut or text.lstrip()[:1] in ("{", "[", '"'))
    marks += (Mark.MALFORMED, Mark.MASKED) if hidden else (Mark.MALFORMED,)
    tokens = (Token("", show_controls(masked)),) if masked else ()
    return Shown(tokens, marks, body.size, hidden, plain=True)


def _layout_marks(layout: Layout) -> tuple[Mark, ...]:
    found = ((Mark.MALFORMED, layout.odd_numbers), (Mark.DEEP, layout.deep), (Mark.MASKED, bool(layout.hidden)))
    return tuple(mark for mark, is_so in found if is_so)


def _merged(pieces: Iterable[Piece]) -> Iterator[Token]:
    """Neighbours without a colour become one token."""
    pending: list[str] = []
    for kind, text, rule in pieces:
        if not kind:
            pending.append(text)
            continue
        if pending:
            yield Token("", "".join(pending))
            pending.clear()
        yield Token(kind, text, rule)
    if pending:
        yield Token("", "".join(pending))
