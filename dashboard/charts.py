"""Charts as SVG from the server: every mark has a text alternative, and unknown is never drawn as zero."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

_LEAST = 2.2  # per cent: the narrowest part that the eye still finds
_GAP = 0.7  # per cent between two parts


def bar(
    parts: Sequence[tuple[str, float]], label: str, scale: int = 0, css: str = "", *, least: float = _LEAST
) -> SafeString:
    """A stacked bar. `parts` are (state, number); with `scale` the length is logarithmic up to that number.

    With it, edges stand on whole per cents: a bar that is pushed changes only when an eye could see it. Without a
    `label` it repeats numbers that stand beside it, and screen readers are not told of it. `least` is the narrowest
    part in per cent.
    """
    known = [(name, count) for name, count in parts if count]
    total = sum(count for _, count in known)
    length = 100.0
    if scale:
        length = max(4.0, 100 * math.log10(1 + total) / math.log10(1 + max(scale, total, 1)))
    widths = [max(least, length * count / total) for _, count in known]
    shrink = length / sum(widths) if widths else 0
    gap = 0.12 if css == "lg" else _GAP
    drawn, x, left = [], 0.0, 0.0
    for (name, _), width in zip(known, widths, strict=True):
        x += width * shrink
        right = round(x) if scale else round(x, 2)
        drawn.append(f'<rect class="{_fill(name)}" x="{left:g}%" width="{max(right - left - gap, 0.5):.4g}%"')
        left = right
    base = '<rect class="f-rule" y="2.5" width="100%" height="1"/>' if scale or not known else ""
    rects = "".join(f'{rect} height="100%"/>' for rect in drawn)
    # Everything but the class and the label is made of our own numbers: there is a bar in each of the hundred rows.
    if not label:
        return format_html(f'<svg class="sbar {{}}" aria-hidden="true">{base}{rects}</svg>', css)
    return format_html(f'<svg class="sbar {{}}" role="img" aria-label="{{}}">{base}{rects}</svg>', css, label)


@lru_cache(maxsize=100)
def _fill(name: str) -> str:
    """The class that fills with the colour of a state, fit for a format string."""
    return escape(f"f-{name}").replace("{", "{{").replace("}", "}}")


# A sparkline is 20 px high and as wide as its cell. Inside, a minute is one unit wide and a pixel two units high;
# numbers stand between 3 px below the upper edge and the ground.
_TOP, _GROUND, _HEIGHT = 6, 34, 40
_LEAST_MARK = 4  # units: what failed is seen also beside thousands that did not
_HATCH = '<rect x="{:.1f}%" y="3" width="{:.1f}%" height="14" fill="url(#p-unknown)"/>'


def spark(
    finished: Sequence[int | None], failed: Sequence[int | None], label: str, *, line: str = "k-ink2"
) -> SafeString:
    """A line of `finished` by minute over marks of `failed`, on one scale; None is unknown and hatched.

    Minutes stand for any steps of one length. `line` is the class that gives the line its colour.

    `label` is its text alternative, and its title under a pointer. The page holds the pattern `p-unknown`
    (`components/glyphs.html`).
    """
    width = max(len(finished), 1)
    most = max(max((number or 0 for number in finished), default=0), max((number or 0 for number in failed), default=0))
    scale = (_GROUND - _TOP) / (most or 1)
    ys = [None if number is None else _GROUND - int(number * scale + 0.5) for number in finished]
    stretches = list(_stretches(ys))
    gaps = [
        _HATCH.format(100 * first / width, 100 * (last + 1 - first) / width)
        for first, last, known in stretches
        if not known
    ]
    marks = _marks(failed, scale)
    drawn = f'<path class="ln thin k-failed" d="{marks}"/>' if marks else ""
    if path := "".join(_line(ys, first, last) for first, last, known in stretches if known):
        drawn = f'<path class="ln {escape(line)}" d="{path}"/>{drawn}'
    dot = f'<circle class="f-ink" cx="100%" cy="{ys[-1] / 2}" r="1.9"/>' if ys and ys[-1] is not None else ""
    return format_html(_frame("".join(gaps), width, drawn, dot), label)


def _frame(gaps: str, width: int, drawn: str, dot: str) -> str:
    """The whole with a place for its label. Everything in it but the label is made of our own numbers."""
    ground = _GROUND / 2 + 0.5
    return (
        '<svg class="spark" role="img"><title>{}</title>'
        f'<line class="gl" x2="100%" y1="{ground}" y2="{ground}"/>{gaps}'
        f'<svg width="100%" height="20" viewBox="0 0 {width} {_HEIGHT}" preserveAspectRatio="none">{drawn}</svg>{dot}'
        "</svg>"
    )


def _stretches(ys: Sequence[int | None]) -> Iterator[tuple[int, int, bool]]:
    """First and last minute of each stretch that is known or unknown throughout."""
    if ys and None not in ys:
        yield 0, len(ys) - 1, True
        return
    at = 0
    for known, members in groupby(y is not None for y in ys):
        length = len(list(members))
        yield at, at + length - 1, known
        at += length


def _line(ys: Sequence[int | None], first: int, last: int) -> str:
    """A path through the middles of known minutes, by steps; points between two of the same height are left out."""
    y = ys[first] or 0
    path, flat = [f"M{first} {y}h.5"], 0
    for found in ys[first + 1 : last + 1]:
        step = (found or 0) - y
        if step:
            path.append(f"h{flat}l1{step:+d}" if flat else f"l1{step:+d}")
            flat = 0
        else:
            flat += 1
        y += step
    return "".join(path) + f"h{flat}.5"


def _marks(failed: Sequence[int | None], scale: float) -> str:
    """Strokes from the ground up, each by its distance from the one before."""
    x = y = 0
    path: list[str] = []
    for at, number in enumerate(failed):
        if number:
            height = max(_LEAST_MARK, int(number * scale + 0.5))
            path.append(f"m{at - x}{y:+d}v-{height}" if path else f"M{at}.5 {_GROUND}v-{height}")
            x, y = at, height
    return "".join(path)
