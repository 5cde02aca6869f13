"""Data before and after an edit as lines, what is hidden masked on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from django.utils.translation import gettext as _

from queues.backend import BODY_CAP
from queues.payload import show
from queues.quantities import size
from queues.redaction import NOTHING, Rules
from queues.types import Body

LARGEST = BODY_CAP  # bytes on either side that are compared
AROUND = 3  # lines that are shown before and after what differs
MOST = 200  # lines that differ
WIDEST = 240  # characters of a line

_CLOSE = 300  # lines on both sides up to which no shortcut is taken
_FAR = 2000  # and beyond which no line in between is looked for


class Line(NamedTuple):
    """A line for eyes. `kind` is same, out (of before), in (of after), gap (`number` lines left out), note or unseen:
    a note that nothing differs but what is hidden, if anything.
    """

    kind: str
    text: str = ""
    number: int = 0


class _Side(NamedTuple):
    true: Sequence[str]
    shown: Sequence[str]  # the same lines, what is hidden masked
    hides: bool


def compared(before: bytes, after: bytes, rules: Rules, *, blind: bool = False) -> Sequence[Line]:
    """What differs, with some lines around it; nothing where nothing does.

    A hidden value that differs stands there as dots on both sides. `blind`, for who may not see it: neither whether it
    differs is told, else whoever can choose what stands on one side could find it by trying. Bounded in lines; at most
    some 0.5 s.
    """
    if before == after and not blind:
        return []
    if max(len(before), len(after)) > LARGEST:
        return [Line("note", _("It is larger than %(size)s, too large to be shown here.") % {"size": size(LARGEST)})]
    was, now = _side(before, rules), _side(after, rules)
    if blind and (was.hides or now.hides):
        if was.shown == now.shown:
            return [Line("unseen", _("Nothing changes of what is shown here."))]
        return list(_few(_lines(was._replace(true=was.shown), now._replace(true=now.shown))))
    if before == after:
        return []
    if was.true == now.true:
        return [Line("note", _("Only how it is written differs, not what it says."))]
    lines = list(_few(_lines(was, now)))
    if all(line.kind not in ("out", "in") for line in lines):
        return [Line("note", _("Only what is hidden differs."))]
    return lines


def _side(data: bytes, rules: Rules) -> _Side:
    body = Body(data, len(data))
    masked = show(body, rules)
    true, shown = show(body, NOTHING).text.split("\n"), masked.text.split("\n")
    # Text that is no JSON can be hidden over many lines: then only what is shown can be compared.
    return _Side(true if len(true) == len(shown) else shown, shown, masked.hidden > 0)


def _lines(was: _Side, now: _Side) -> Iterator[Line]:
    blocks = _blocks(was.true, now.true)
    for number, (kind, a, b, c, d) in enumerate(blocks):
        if kind == "equal":
            yield from _same(now.shown[c:d], first=number == 0, last=number == len(blocks) - 1)
            continue
        out, in_ = was.shown[a:b], now.shown[c:d]
        for index, text in enumerate(out):
            yield Line("out", _window(text, in_[index] if index < len(in_) else ""))
        for index, text in enumerate(in_):
            yield Line("in", _window(text, out[index] if index < len(out) else ""))


def _same(lines: Sequence[str], *, first: bool, last: bool) -> Iterator[Line]:
    before, behind = 0 if first else AROUND, 0 if last else AROUND
    if len(lines) <= before + behind + 1:
        yield from (Line("same", _cut(text)) for text in lines)
        return
    yield from (Line("same", _cut(text)) for text in lines[:before])
    yield Line("gap", number=len(lines) - before - behind)
    yield from (Line("same", _cut(text)) for text in lines[len(lines) - behind :])


def _blocks(was: Sequence[str], now: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """What is equal and what is not, as `difflib` writes it; the ends are compared first, which is most of it."""
    shorter = min(len(was), len(now))
    head = next((at for at in range(shorter) if was[at] != now[at]), shorter)
    tail = next((at for at in range(shorter - head) if was[-1 - at] != now[-1 - at]), shorter - head)
    a, b = was[head : len(was) - tail], now[head : len(now) - tail]
    found: list[tuple[str, int, int, int, int]] = [("equal", 0, head, 0, head)] if head else []
    if max(len(a), len(b)) > _FAR:
        found.append(("replace", head, head + len(a), head, head + len(b)))
    else:
        matcher = SequenceMatcher(None, a, b, autojunk=max(len(a), len(b)) > _CLOSE)
        found += [(kind, head + a1, head + a2, head + b1, head + b2) for kind, a1, a2, b1, b2 in matcher.get_opcodes()]
    if tail:
        found.append(("equal", len(was) - tail, len(was), len(now) - tail, len(now)))
    return found


def _few(lines: Iterable[Line]) -> Iterator[Line]:
    """No more than `MOST` lines of what differs; how many more there are."""
    shown = left = 0
    for line in lines:
        shown += line.kind in ("out", "in")
        if shown <= MOST and not left:
            yield line
        else:
            left += max(1, line.number)
    if left:
        yield Line("gap", number=left)


def _window(text: str, other: str) -> str:
    """A long line from a little before where it begins to differ."""
    if len(text) <= WIDEST:
        return text
    at = next((at for at, pair in enumerate(zip(text, other, strict=False)) if pair[0] != pair[1]), 0)
    begin = max(0, at - WIDEST // 4) if at > WIDEST // 2 else 0
    return ("…" if begin else "") + _cut(text[begin:])


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else text[:WIDEST] + "…"
