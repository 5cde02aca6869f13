"""Bytes out of a queue made fit for eyes: decoded, with control characters written out, and marked."""

from __future__ import annotations

from queues.names import show_controls
from queues.types import Mark, Text


def text(raw: bytes, *, size: int | None = None, cap: int | None = None, marks: tuple[Mark, ...] = ()) -> Text:
    """`raw` as a `Text`. Never fails, whatever the bytes are; costs time in proportion to what is shown.

    `size` is the true size where `raw` is only the beginning; `cap` cuts the shown text to so many
    characters. `marks` are added to those that this finds itself (cut, bytes).
    """
    size = len(raw) if size is None else size
    found = set(marks)
    shown, odd = decoded(raw, cut=len(raw) < size)
    if odd:
        found.add(Mark.BYTES)
    if cap is not None and len(shown) > cap:
        shown = shown[:cap]
        found.add(Mark.CUT)
    if len(raw) < size:
        found.add(Mark.CUT)
    return Text(show_controls(shown), size, tuple(mark for mark in Mark if mark in found))


def decoded(raw: bytes, *, cut: bool) -> tuple[str, bool]:
    """`raw` as text, and whether replacement characters stand in it for bytes that are not UTF-8.

    A character that the cut went through is left out: it is not the queue's fault.
    """
    if cut:
        raw = _whole_characters(raw)
    try:
        return raw.decode("utf-8"), False
    except UnicodeDecodeError:
        return raw.decode("utf-8", errors="replace"), True


def _whole_characters(raw: bytes) -> bytes:
    """`raw` without the first bytes of a character whose others were cut off."""
    for back in range(1, min(4, len(raw) + 1)):
        byte = raw[-back]
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return raw[:-back] if back < needed else raw
        if byte < 0x80:
            break
    return raw
