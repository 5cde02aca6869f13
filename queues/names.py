"""Names and ids as exact bytes: how they stand in a URL, in the database, and before eyes."""

from __future__ import annotations

import base64
import re

_PLAIN = re.compile(rb"[A-Za-z0-9._@-]+")
_PLAIN_COLON = re.compile(rb"[A-Za-z0-9._@:-]+")
_TEXT, _TEXT_COLON = re.compile(_PLAIN.pattern.decode()), re.compile(_PLAIN_COLON.pattern.decode())
# What cannot be seen or moves what can: controls, bidi marks, zero-width characters (joiners make emoji: they stay).
_UNSEEN = "\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
_CONTROL = re.compile(f"[\x00-\x08\x0b-\x1f{_UNSEEN}]")
_IN_JSON = re.compile(f"[{_UNSEEN}]")


def encode_part(raw: bytes, *, colon: bool = False) -> str:
    """`raw` as one segment of a path: plain characters stay, anything else becomes `~` + base64url.

    With `colon`, `:` is plain too (job ids). The mapping is one to one, so a slug names exact bytes.
    """
    plain = _PLAIN_COLON if colon else _PLAIN
    if plain.fullmatch(raw) and raw not in (b".", b".."):
        return raw.decode("ascii")
    return "~" + base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def decode_part(text: str, *, colon: bool = False) -> bytes:
    """The inverse of `encode_part`. Raises ValueError for anything that `encode_part` does not produce."""
    if (_TEXT_COLON if colon else _TEXT).fullmatch(text) and text not in (".", ".."):
        return text.encode("ascii")  # as most are
    if text.startswith("~"):
        coded = text[1:].encode("ascii")
        raw = base64.b64decode(coded + b"=" * (-len(coded) % 4), altchars=b"-_", validate=True)
        if encode_part(raw, colon=colon) == text:
            return raw
    raise ValueError("not in its canonical form")


def visible(raw: bytes) -> str:
    r"""`raw` for eyes: UTF-8 with replacement marks, control and bidi characters written as `\x1b`."""
    text = raw.decode("utf-8", errors="replace")
    return text if text.isascii() and text.isprintable() else show_controls(text, keep="")


def show_controls(text: str, *, keep: str = "\t\n") -> str:
    """`text` with control characters, bidi overrides and lone surrogates written out, except those in `keep`."""
    text = text.encode("utf-8", errors="backslashreplace").decode("utf-8")
    if keep:
        return _CONTROL.sub(lambda m: m[0] if m[0] in keep else _escape(m[0]), text)
    return re.sub("[\t\n]", lambda m: _escape(m[0]), _CONTROL.sub(lambda m: _escape(m[0]), text))


_ESCAPED = re.compile(r"\\(?:u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|u([0-9a-f]{4})|.)", re.IGNORECASE | re.DOTALL)


def show_letters_in_json(text: str) -> str:
    r"""The JSON `text` with letters and signs that its writer escaped as themselves: `caf\u00e9` as café.

    What is no visible character of its own stays an escape: controls, spaces, lone surrogates, ASCII.
    """
    return _ESCAPED.sub(_letter, text) if "\\u" in text else text


def _letter(match: re.Match[str]) -> str:
    high, low, plain = match.groups()
    if high:
        char = chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
    elif plain:
        char = chr(int(plain, 16))
    else:
        return match[0]
    visible = char.isprintable() and char > "\xa0" and not _IN_JSON.search(char)
    return char if visible else match[0]


def show_controls_in_json(text: str) -> str:
    """The JSON `text` with the same characters written as JSON writes them; below U+0020 there is only its layout."""
    return _IN_JSON.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def _escape(char: str) -> str:
    code = ord(char)
    if char == "\n":
        return "\\n"
    if char == "\t":
        return "\\t"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
