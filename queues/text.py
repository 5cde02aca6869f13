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
    shown, odd = _decoded(raw, cut=len(raw) < size)
    if odd:
        found.add(Mark.BYTES)
    if cap is not None and len(shown) > cap:
        shown = shown[:cap]
        found.add(Mark.CUT)
    if len(raw) < size:
        found.add(Mark.CUT)
    return Text(show_controls(shown), size, tuple(mark for mark in Mark if mark in found))


def _decoded(raw: bytes, *, cut: bool) -> tuple[str, bool]:
    try:
        return raw.decode("utf-8"), False
    except UnicodeDecodeError as error:
        # A character that the cut went through is not the queue's fault.
        if cut and error.start >= len(raw) - 3 and error.reason == "unexpected end of data":
            return raw[: error.start].decode("utf-8"), False
    return raw.decode("utf-8", errors="replace"), True
