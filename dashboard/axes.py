"""What charts over time share: a round scale with its lines and numbers, and moments that are marked by name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.words import cut
from queues.quantities import number

HEIGHT, TOP, GROUND = 160, 30, 154  # px; names stand above the number of the upper line
LINES = 3  # above the ground
LABELS = 12  # moments whose name is written
LETTER, GAP = 2.0, 2.0  # per cent that a letter of a name takes on a phone, and between two names


@dataclass(frozen=True, slots=True)
class Scale:
    """`top` is the number at the upper edge, `line` that between two lines: round ones."""

    top: int
    line: int

    @classmethod
    def of(cls, most: float) -> Scale:
        raw = max(1.0, most / LINES)
        power = 10 ** int(math.log10(raw))
        step = next(factor for factor in (1, 2, 3, 4, 5, 6, 8, 10) if factor * power >= raw) * power
        return cls(step * LINES, step)

    def y(self, value: float) -> float:
        """Where a number stands, in px from above."""
        return GROUND - value / self.top * (GROUND - TOP)

    def lines(self) -> Iterator[SafeString]:
        for at in range(LINES + 1):
            css = "gl" if at else "gl base"
            y = f"{self.y(at * self.line):.1f}"
            yield format_html('<line class="{0}" x1="0" x2="100%" y1="{1}" y2="{1}"/>', css, y)

    def numbers(self, last: str) -> Iterator[SafeString]:
        """What the lines stand for; `last` says it for the upper one, with its unit, as `%(number)s`."""
        for at in range(LINES + 1):
            text = number(at * self.line)
            if at == LINES:
                text = last % {"number": text}
            yield format_html('<text class="ax halo" x="0" y="{}">{}</text>', f"{self.y(at * self.line) - 4:.1f}", text)


def marks(moments: Sequence[tuple[int, str]], begin_ms: int, end_ms: int) -> Iterator[SafeString]:
    """Moments with their names, which are written as far as there is room; all are titles under a pointer."""
    taken = -GAP
    for at, (at_ms, said) in enumerate(sorted(moments)):
        x = 100 * (at_ms - begin_ms) / (end_ms - begin_ms)
        yield format_html(
            '<g><line class="dep" x1="{0}%" x2="{0}%" y1="14" y2="{1}"/><title>{2}</title></g>',
            f"{x:.2f}",
            GROUND,
            said,
        )
        name = cut(said, 24)
        wide, anchor = len(name) * LETTER, "start" if x < 10 else "end" if x > 90 else "middle"
        begin = x - wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
        if at < LABELS and begin >= taken + GAP:
            taken = begin + wide
            yield format_html(
                '<text class="ax d halo" x="{}%" y="10" text-anchor="{}">{}</text>', f"{x:.2f}", anchor, name
            )
