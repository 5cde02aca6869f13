"""Failures by time as columns, with what nobody knows hatched and deploys marked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from dashboard.failures.words import SPAN_WORDS
from dashboard.words import cut
from queues.failures.about import Series
from queues.models import Deploy
from queues.quantities import duration, instant, number

HEIGHT, TOP, GROUND = 152, 20, 146  # px
LINES = 3  # above the ground
LABELS = 12  # deploys whose name is written
LETTER, GAP = 2.0, 2.0  # per cent that a letter of a name takes on a phone, and between two names


@dataclass(frozen=True, slots=True)
class Chart:
    """`ticks` are moments (ms) to stand below it from its left end to its right, `deploys` those that are marked."""

    drawn: SafeString
    ticks: Sequence[int]
    step: str
    deploys: Sequence[Deploy]


def chart(shown: Series, deploys: Sequence[Deploy]) -> Chart:
    """The columns of a series. Its text alternative says the sum, the largest column, and what is not known."""
    marked = [each for each in deploys if shown.begin_ms <= each.at_ms < shown.end_ms]
    step = duration(shown.step_ms)
    top, line = _scale(max(shown.counts, default=0))
    parts = [
        format_html_join("", "{}", ((each,) for each in _hatched(shown))),
        format_html_join("", "{}", ((each,) for each in _lines(top, line))),
        format_html_join("", "{}", ((each,) for each in _columns(shown, top, step))),
        format_html_join("", "{}", ((each,) for each in _marks(shown, marked))),
        format_html_join("", "{}", ((each,) for each in _axis(top, line, step))),
    ]
    drawn = format_html(
        '<svg role="img" aria-label="{}" height="{}">{}</svg>',
        _alternative(shown, step),
        HEIGHT,
        format_html_join("", "{}", ((part,) for part in parts)),
    )
    return Chart(drawn, _ticks(shown), step, marked)


def _scale(most: int) -> tuple[int, int]:
    """The number at the upper edge, and that between two lines: round ones."""
    raw = max(1.0, most / LINES)
    power = 10 ** int(math.log10(raw))
    step = next(factor for factor in (1, 2, 3, 4, 5, 6, 8, 10) if factor * power >= raw) * power
    return step * LINES, step


def _y(value: float, top: int) -> float:
    return GROUND - value / top * (GROUND - TOP)


def _lines(top: int, line: int) -> Iterator[SafeString]:
    for at in range(LINES + 1):
        css = "gl" if at else "gl base"
        yield format_html('<line class="{0}" x1="0" x2="100%" y1="{1}" y2="{1}"/>', css, f"{_y(at * line, top):.1f}")


def _axis(top: int, line: int, step: str) -> Iterator[SafeString]:
    for at in range(LINES + 1):
        text = number(at * line)
        if at == LINES:
            text = gettext("%(number)s in %(step)s") % {"number": text, "step": step}
        yield format_html('<text class="ax halo" x="0" y="{}">{}</text>', f"{_y(at * line, top) - 4:.1f}", text)


def _columns(shown: Series, top: int, step: str) -> Iterator[SafeString]:
    wide = 100 / len(shown.counts)
    for at, count in enumerate(shown.counts):
        if not count:
            continue
        y = min(_y(count, top), GROUND - 1)
        when = instant(shown.begin_ms + at * shown.step_ms)
        title = gettext("%(number)s in the %(step)s from %(when)s UTC") % {
            "number": number(count),
            "step": step,
            "when": f"{when:%Y-%m-%d %H:%M}" if when else "–",
        }
        yield format_html(
            '<g><rect class="f-failed" x="{}%" width="{}%" y="{}" height="{}"/><title>{}</title></g>',
            f"{(at + 0.1) * wide:.2f}",
            f"{wide * 0.8:.2f}",
            f"{y:.1f}",
            f"{GROUND - y:.1f}",
            title,
        )


def _hatched(shown: Series) -> Iterator[SafeString]:
    wide = 100 / max(1, len(shown.counts))
    for unknown, members in groupby(range(len(shown.counts)), lambda at: at in shown.unknown):
        at = list(members)
        if unknown:
            yield format_html(
                '<rect x="{}%" width="{}%" y="{}" height="{}" fill="url(#p-unknown)"/>',
                f"{at[0] * wide:.2f}",
                f"{len(at) * wide:.2f}",
                TOP,
                GROUND - TOP,
            )


def _marks(shown: Series, deploys: Sequence[Deploy]) -> Iterator[SafeString]:
    taken = -GAP
    for at, each in enumerate(sorted(deploys, key=lambda each: each.at_ms)):
        x = 100 * (each.at_ms - shown.begin_ms) / (shown.end_ms - shown.begin_ms)
        yield format_html(
            '<g><line class="dep" x1="{0}%" x2="{0}%" y1="14" y2="{1}"/><title>{2}</title></g>',
            f"{x:.2f}",
            GROUND,
            each.version,
        )
        name = cut(each.version, 24)
        wide, anchor = len(name) * LETTER, "start" if x < 10 else "end" if x > 90 else "middle"
        begin = x - wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
        if at < LABELS and begin >= taken + GAP:
            taken = begin + wide
            yield format_html(
                '<text class="ax d halo" x="{}%" y="10" text-anchor="{}">{}</text>',
                f"{x:.2f}",
                anchor,
                name,
            )


def _ticks(shown: Series) -> Sequence[int]:
    """Moments in equal distances, on whole steps."""
    parts = 6 if shown.span.ms <= 86_400_000 else 3
    return [shown.begin_ms + round(len(shown.counts) * at / parts) * shown.step_ms for at in range(parts + 1)]


def _alternative(shown: Series, step: str) -> str:
    most, at_ms = shown.peak
    said = gettext("Failures in steps of %(step)s over %(span)s: %(total)s in all") % {
        "step": step,
        "span": SPAN_WORDS[shown.span],
        "total": number(shown.total),
    }
    if most and (at := instant(at_ms)):
        said += gettext("; at most %(most)s, from %(at)s UTC on") % {"most": number(most), "at": f"{at:%Y-%m-%d %H:%M}"}
    if shown.unknown:
        said += gettext("; in %(number)s of the steps some may be missing") % {"number": number(len(shown.unknown))}
    return said
