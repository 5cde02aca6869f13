"""Stored bodies made fit to show: laid out where they are JSON, secrets masked, oddities marked.

Everything here takes hostile bytes, never raises for them, and costs time and memory linear in the
capped body (about 0.1 s for 256 KB of ordinary JSON). Where no rules are given, those `in_force` hide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from queues import masking
from queues.ansi import strip_ansi
from queues.names import show_controls, show_controls_in_json, show_letters_in_json
from queues.payload.layout import Layout, Piece, Token
from queues.payload.room import fit, level, weight
from queues.payload.scan import Malformed
from queues.redaction import Rules, is_secret_key, mask_label, mask_text, masked
from queues.text import decoded
from queues.types import Body, Mark, Text

__all__ = ["Shown", "Token", "cut", "fit", "fitted", "level", "plain_text", "sent", "show", "summary", "weight"]

SPANS_UP_TO = 64 * 1024  # bytes of a body; a larger one is shown without colours to keep pages small
MAX_SPANS = 8000
SPAN = 32  # bytes of the markup around a coloured token
MASK_SPAN = 100  # and around a masked value, which names its rule
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
    def unread(self) -> bool:
        """Whether nothing of it was read, because it is too large."""
        return self.size > 0 and not any(token.text for token in self.tokens)

    @property
    def text(self) -> str:
        return "".join(token.text for token in self.tokens)


def show(body: Body, rules: Rules | None = None, *, limit: int | None = None) -> Shown:
    """`body` laid out with two spaces a level when it is JSON, else as the text it is, marked MALFORMED.

    Numbers, keys and strings are the text that was stored, in its order, duplicates included, but for letters
    that were written as escapes; a body that was cut is laid out up to the cut. Control and bidi characters
    are written as escapes. With `limit` no more than so many bytes of the body are read, and no more are sent
    with a page; where the colours do not fit they are left out first.
    """
    if body.size and not body.raw:
        return Shown((), (), body.size, 0, plain=True)
    rules = masking.in_force() if rules is None else rules
    body = _beginning(body, limit)
    text, marks = _decode(body)
    layout = Layout(_readable(text), cut=body.cut, rules=rules)
    try:
        pieces = layout.pieces()
    except Malformed:
        return _limited(_raw(body, text, marks, rules), limit)
    tokens = () if len(body.raw) > SPANS_UP_TO else tuple(_merged(pieces))
    plain = not 0 < len(tokens) <= MAX_SPANS or (limit is not None and sent(tokens) > limit)
    if plain:
        tokens = (Token("", "".join([piece[1] for piece in pieces])),)
    numbers = any(piece[0] == "num" for piece in pieces)
    return _limited(Shown(tokens, marks + _layout_marks(layout), body.size, layout.hidden, plain, numbers), limit)


def _readable(text: str) -> str:
    return show_controls_in_json(show_letters_in_json(text))


def summary(body: Body, limit: int = 120, *, key: str = "", rules: Rules | None = None) -> Text:
    """`body` on one line of at most `limit` characters, secrets masked; it reads the first 4 KB at most.

    `key` is the name under which the body is stored: when it names a secret, all of the body is hidden.
    """
    rules = masking.in_force() if rules is None else rules
    if body.raw and is_secret_key(key, rules):
        return Text(mask_label(body.size), body.size, (Mark.MASKED,))
    part = Body(body.raw[:SUMMARY_READS], body.size)
    text, marks = _decode(part)
    layout = Layout(_readable(text), cut=part.cut, flat=True, rules=rules)
    try:
        line = "".join([piece[1] for piece in layout.pieces()])
        marks += _layout_marks(layout)
    except Malformed:
        shown = _raw(part, text, marks, rules)
        line, marks = " ".join(shown.text.split()), shown.marks
    if len(line) > limit or part.cut:
        line = line[: limit - 1] + "…"
        marks = _with_cut(marks)
    return Text(line, body.size, marks)


def plain_text(body: Body, rules: Rules | None = None, *, limit: int | None = None) -> Text:
    """Free text (an error) with its line breaks: ANSI codes stripped, secrets masked, controls visible.

    With `limit` no more than so many bytes of the body are read, and no more are sent with a page.
    """
    body = _beginning(body, limit)
    text, marks = _decode(body)
    rules = masking.in_force() if rules is None else rules
    plain, hidden = mask_text(strip_ansi(text), rules, cut=body.cut)
    made = Text(show_controls(plain), body.size, marks + ((Mark.MASKED,) if hidden else ()))
    return made if limit is None else cut(made, limit)


def fitted(text: Text, limit: int, rules: Rules | None = None) -> Text:
    """`text` (a log line) without colour codes and secrets, at most `limit` bytes of a page. Never raises."""
    return cut(masked(cut(text, limit), masking.in_force() if rules is None else rules), limit)


def cut(text: Text, limit: int) -> Text:
    """`text` with at most `limit` bytes of a page, marked where that is less than all."""
    value = fit(text.value, limit)
    return text if len(value) == len(text.value) else Text(value, text.size, _with_cut(text.marks))


def _with_cut(marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
    return tuple(dict.fromkeys((Mark.CUT, *marks)))


def _beginning(body: Body, limit: int | None) -> Body:
    return body if limit is None or len(body.raw) <= limit else Body(body.raw[: max(0, limit)], body.size)


def _limited(shown: Shown, limit: int | None) -> Shown:
    if limit is None or sent(shown.tokens) <= limit:
        return shown
    text = fit(shown.text, limit)
    return replace(shown, tokens=(Token("", text),) if text else (), marks=_with_cut(shown.marks), plain=True)


def sent(tokens: Iterable[Token]) -> int:
    """Bytes of a page that these take."""
    return sum(weight(text) + (MASK_SPAN if rule else SPAN if kind else 0) for kind, text, rule in tokens)


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
