"""JSON as text of one character a byte, so that places in it are places in the stored bytes.

Letters beyond ASCII stand in it as the bytes of their UTF-8, and what is no UTF-8 stays what it is.
"""

from __future__ import annotations

import json

_SPACE = " \t\r\n"


def of_bytes(data: bytes) -> str:
    return data.decode("latin-1")


def to_bytes(text: str) -> bytes:
    return text.encode("latin-1")


def of_text(text: str) -> str:
    """What a person typed, one character a byte."""
    return of_bytes(text.encode("utf-8", errors="surrogatepass"))


def to_text(text: str) -> str:
    """For eyes."""
    return to_bytes(text).decode("utf-8", errors="replace")


def name_of(quoted: str) -> str:
    """What a quoted key says, one character a byte. Linear in the key."""
    if "\\" not in quoted:
        return quoted[1:-1]
    return of_text(json.loads(to_text(quoted)))


def quoted(name: str) -> str:
    """A key as JSON writes it; `name` and the result have one character a byte."""
    return of_text(json.dumps(to_text(name), ensure_ascii=False))


def value_span(text: str, end: int, value: str) -> tuple[int, int]:
    """Where a value or bracket stands of which the scanner says that the document goes on at `end`."""
    stop = back(text, end - 1 if text[end - 1] == "," and value != "," else end)
    return stop - len(value), stop


def back(text: str, at: int) -> int:
    """Before the space that ends at `at`."""
    while at and text[at - 1] in _SPACE:
        at -= 1
    return at


def key_span(text: str, value_start: int, key: str) -> tuple[int, int]:
    """Where the quoted key before a value begins and ends."""
    stop = back(text, back(text, value_start) - 1)
    return stop - len(key), stop
