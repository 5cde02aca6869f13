"""Failures by time as columns, with what nobody knows hatched and deploys marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from dashboard.axes import GROUND, HEIGHT, TOP, Scale, marks
from dashboard.failures.words import SPAN_WORDS
from queues.failures.about import Series
from queues.models import Deploy
from queues.quantities import duration, instant, number


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
    scale = Scale.of(max(shown.counts, default=0))
    moments = [(each.at_ms, each.version) for each in marked]
    last = gettext("%(number)s in %(step)s") % {"number": "%(number)s", "step": step}
    parts = [
        format_html_join("", "{}", ((each,) for each in _hatched(shown))),
        format_html_join("", "{}", ((each,) for each in scale.lines())),
        format_html_join("", "{}", ((each,) for each in _columns(shown, scale, step))),
        format_html_join("", "{}", ((each,) for each in marks(moments, shown.begin_ms, shown.end_ms))),
        format_html_join("", "{}", ((each,) for each in scale.numbers(last))),
    ]
    drawn = format_html(
        '<svg role="img" aria-label="{}" height="{}">{}</svg>',
        _alternative(shown, step),
        HEIGHT,
        format_html_join("", "{}", ((part,) for part in parts)),
    )
    return Chart(drawn, _ticks(shown), step, marked)


def _columns(shown: Series, scale: Scale, step: str) -> Iterator[SafeString]:
    wide = 100 / len(shown.counts)
    for at, count in enumerate(shown.counts):
        if not count:
            continue
        y = min(scale.y(count), GROUND - 1)
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
