"""A job's data as text that can be edited while its secrets stay hidden, and the true bytes of what was edited.

Each secret stands in the text as a token, and its true text is put back where the token still stands. Nothing else of
the text is touched: layout, numbers and escapes stay to the byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from dashboard.actions.doubled import overruled
from queues.backend import BODY_CAP
from queues.names import show_controls
from queues.payload.layout import Layout
from queues.payload.parsing import fault
from queues.payload.scan import Malformed, scan
from queues.quantities import size
from queues.redaction import MASK, Rules, mask_text

_SPACE = " \t\r\n"
Span = tuple[int, int]


class Uneditable(ValueError):
    """This data cannot be edited as text; the text says why."""


class Refused(ValueError):
    """What was made of the text cannot be taken; the text says why."""


@dataclass(frozen=True, slots=True)
class Editable:
    """Data as it is edited. `secrets` are what stands behind the tokens, in order; `dots` is what a token begins with.

    `crlf`: lines end with both characters, which a browser's field does not keep.
    """

    text: str
    secrets: Sequence[str]
    dots: str
    crlf: bool
    json: bool


def editable(raw: bytes, rules: Rules, *, whole: bool = True) -> Editable:
    """The text to edit. Raises Uneditable for what is too large, is no text, or would not come back as it was."""
    if not whole or len(raw) > BODY_CAP:
        raise Uneditable(_("It is larger than %(size)s, too large for a form.") % {"size": size(BODY_CAP)})
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise Uneditable(_("It is not UTF-8: a form would not keep its bytes.")) from None
    crlf = "\r" in text
    if crlf and not text.count("\r") == text.count("\n") == text.count("\r\n"):
        raise Uneditable(_("Its line ends are mixed: a form would not keep them."))
    dots = MASK
    while dots in text:
        dots += MASK[0]
    try:
        spans = list(secret_spans(text, rules))
    except Malformed:
        if mask_text(text, rules)[1]:
            raise Uneditable(_("It is no JSON and holds what is hidden.")) from None
        if show_controls(text, keep="\t\n") != text:
            raise Uneditable(_("It is no JSON and holds control characters.")) from None
        return Editable(_lf(text), (), dots, crlf, json=False)
    parts: list[str] = []
    done = 0
    for number, (start, end) in enumerate(spans, start=1):
        parts += (text[done:start], f'"{dots} {number}"')
        done = end
    shown = "".join((*parts, text[done:]))
    return Editable(_lf(shown), [text[start:end] for start, end in spans], dots, crlf, json=True)


def edited(text: str, before: Editable, rules: Rules, *, may_drop: bool = False) -> bytes:
    """The bytes that the edited text stands for. Raises Refused where it is no JSON, or a hidden value was altered, or
    overruled by the same key once more behind it.

    `may_drop`: hidden values may be replaced or taken out, never moved to where they would be shown.
    """
    text = _lf(text)
    _ensure_json(text, before)
    restored, spans = _restored(text, before, may_drop)
    if spans and not may_drop:
        token = _token(before.dots)
        if overruled(text, token) - overruled(_lf(before.text), token):
            raise Refused(_("A hidden value would count no more: the same key stands behind it again. Take it out."))
    if spans and not set(spans) <= set(secret_spans(restored, rules)):
        raise Refused(_("A hidden value was moved to where it would be shown. Leave it under its key."))
    return (restored.replace("\n", "\r\n") if before.crlf else restored).encode()


def valid_json(text: str) -> str:
    """Why a text is not JSON as JavaScript reads it, with the place; "" when it is."""
    found = fault(text)
    if found is None:
        return ""
    if found.constant:
        return _("NaN and Infinity are no JSON: workers could not read it.")
    place = {"line": found.line, "column": found.column}
    return _("This is no JSON, from line %(line)d, column %(column)d on.") % place


def secret_spans(text: str, rules: Rules) -> Iterator[Span]:
    """Where the values and keys stand that pages hide. Raises Malformed for what is no JSON. Linear."""
    pieces = iter(Layout(text, cut=False, flat=True, rules=rules).pieces())
    level = 0
    for key, value, end, _whole in scan(text, cut=False):
        if value in ("}", "]"):
            next(pieces)
            level -= 1
            continue
        if level:
            next(pieces)  # what stands between
        start, stop = _span(text, end, value)
        if key is not None:
            if next(pieces)[1] != key:
                yield _key_span(text, start, key)
            next(pieces)  # the colon
        kind, shown, _rule = next(pieces)
        if value in ("{", "["):
            level += 1
        elif kind == "mask" or shown != value:
            yield start, stop


def _span(text: str, end: int, value: str) -> Span:
    stop = _back(text, end - 1 if text[end - 1] == "," else end)
    return stop - len(value), stop


def _key_span(text: str, start: int, key: str) -> Span:
    stop = _back(text, _back(text, start) - 1)
    return stop - len(key), stop


def _back(text: str, at: int) -> int:
    while text[at - 1] in _SPACE:
        at -= 1
    return at


def _ensure_json(text: str, before: Editable) -> None:
    if (wrong := valid_json(text)) and (before.json or text != before.text):
        raise Refused(wrong)


def _restored(text: str, before: Editable, may_drop: bool) -> tuple[str, list[Span]]:
    """The text with the secrets in their places, and where they stand."""
    dots, secrets = before.dots, before.secrets
    parts: list[str] = []
    spans: list[Span] = []
    seen: list[int] = []
    done = length = 0
    for token in _token(dots).finditer(text):
        number = int(token[1])
        if not 1 <= number <= len(secrets) or number in seen[-1:]:
            raise Refused(_altered())
        seen.append(number)
        between, secret = text[done : token.start()], secrets[number - 1]
        start = length + len(between)
        length = start + len(secret)
        spans.append((start, length))
        parts += (between, secret)
        done = token.end()
    rest = text[done:]
    once = len(set(seen)) == len(seen)
    # More dots than before are what is left of a token.
    left = sum(part.count(MASK[0]) for part in (*parts[::2], rest))
    if not once or left > _own_dots(before) or (len(seen) < len(secrets) and not may_drop):
        raise Refused(_altered())
    return "".join((*parts, rest)), spans


def _token(dots: str) -> re.Pattern[str]:
    """What stands for a hidden value, with its number."""
    return re.compile(f'"{dots} (\\d{{1,7}})"')


def _own_dots(before: Editable) -> int:
    """How many dots the text holds that belong to no token."""
    return before.text.count(MASK[0]) - len(before.dots) * len(before.secrets)


def _altered() -> str:
    return _("A hidden value was altered, doubled or taken out. Its dots must stay as they are, in quotes.")


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
