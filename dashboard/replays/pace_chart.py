"""The pace of a plan over time as steps, drawn on the server."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from dashboard.replays.sentence import about_time, figure
from queues.replay.pacing import curve
from queues.replay.terms import Terms

HEIGHT, TOP, GROUND = 132, 18, 110  # px
WIDTH = 1000  # of the inner coordinates
CANARY = 185  # of them, for the canary and its wait: nobody knows how long that takes
APART = 140  # between two labels of the axis


@dataclass(frozen=True, slots=True)
class _Step:
    """From `begin` on (seconds after the climb began) so many jobs a second."""

    begin: float
    pace: float


def pace_chart(terms: Terms, number: int) -> SafeString | None:
    """The climb until so many jobs are sent, behind a place for the canary; None where there is no pace to draw."""
    canary = min(terms.canary, number)
    points = curve(terms, number - canary) if number > canary else ()
    if not points or points[-1][0] <= 0:
        return None
    steps, end_s = _steps(points), points[-1][0]
    left = CANARY if canary else 0
    top = max(step.pace for step in steps)
    drawn = (
        *_lines(top),
        *_path(steps, end_s, left, top),
        *(_canary() if canary else ()),
        *_times(steps, end_s, left),
        *_paces(top),
    )
    body = format_html_join("", "{}", ((part,) for part in drawn))
    alternative = _alternative(steps, end_s, canary)
    return format_html('<svg role="img" aria-label="{}" height="{}">{}</svg>', alternative, HEIGHT, body)


def _steps(points: Sequence[tuple[float, float]]) -> Sequence[_Step]:
    """The points as steps: a pace holds until the next point that has another one."""
    steps: list[_Step] = []
    for begin, pace in points:
        if not steps or pace != steps[-1].pace:
            if steps and steps[-1].begin == begin:
                steps.pop()
            steps.append(_Step(begin, pace))
    return steps


def _x(s: float, end_s: float, left: int) -> float:
    return left + (WIDTH - left) * s / end_s


def _y(pace: float, top: float) -> float:
    return GROUND - pace / top * (GROUND - TOP)


def _lines(top: float) -> Iterator[SafeString]:
    for share in (0.0, 0.5, 1.0):
        css = "gl" if share else "gl base"
        yield format_html('<line class="{0}" x1="0" x2="100%" y1="{1}" y2="{1}"/>', css, f"{_y(share * top, top):.1f}")


def _path(steps: Sequence[_Step], end_s: float, left: int, top: float) -> Iterator[SafeString]:
    """One line by steps, from the ground up."""
    path = [f"M{left} {GROUND}"]
    for step in steps:
        x, y = _x(step.begin, end_s, left), _y(step.pace, top)
        path.append(f"H{x:.1f}V{y:.1f}")
    path.append(f"H{WIDTH}")
    yield format_html(
        '<svg width="100%" height="{0}" viewBox="0 0 {1} {0}" preserveAspectRatio="none">'
        '<path class="ln k-accent" d="{2}"/></svg>',
        HEIGHT,
        WIDTH,
        "".join(path),
    )


def _canary() -> Iterator[SafeString]:
    """A hatched stretch: the canary is sent and awaited, for as long as it takes."""
    share = f"{100 * CANARY / WIDTH:.1f}"
    yield format_html(
        '<rect x="0" width="{}%" y="{}" height="{}" fill="url(#p-unknown)"/>', share, TOP + 12, GROUND - TOP - 12
    )
    yield format_html('<line class="gl" x1="{0}%" x2="{0}%" y1="{1}" y2="{2}"/>', share, TOP + 12, GROUND)


def _times(steps: Sequence[_Step], end_s: float, left: int) -> Iterator[SafeString]:
    """What stands below: where it begins, where the pace changes, where it ends; no two over each other."""
    yield _label(0, gettext("start"), "start")
    at = APART / 2 if not left else left - APART / 2
    for step in steps if left else steps[1:]:
        x = _x(step.begin, end_s, left)
        if x >= at + APART / 2 and x <= WIDTH - APART:
            text = about_time(step.begin) if step.begin else gettext("canary ends")
            yield _label(x, text, "middle", minor=True)
            at = x + APART / 2
    yield _label(WIDTH, about_time(end_s), "end")


def _label(x: float, text: str, anchor: str, *, minor: bool = False) -> SafeString:
    css = "ax minor" if minor else "ax"
    share = f"{100 * x / WIDTH:.1f}"
    return format_html('<text class="{}" x="{}%" y="127" text-anchor="{}">{}</text>', css, share, anchor, text)


def _paces(top: float) -> Iterator[SafeString]:
    for share in (0.0, 0.5, 1.0):
        text = figure(share * top)
        if share == 1.0:
            text = gettext("%(pace)s a second") % {"pace": text}
        yield format_html('<text class="ax halo" x="0" y="{}">{}</text>', f"{_y(share * top, top) - 4:.1f}", text)


def _alternative(steps: Sequence[_Step], end_s: float, canary: int) -> str:
    said = ", ".join(
        gettext("from %(time)s on %(pace)s") % {"time": about_time(step.begin), "pace": figure(step.pace)}
        if step.begin
        else gettext("%(pace)s jobs a second") % {"pace": figure(step.pace)}
        for step in steps[:10]
    )
    text = gettext("%(steps)s; all are sent after %(time)s") % {"steps": said, "time": about_time(end_s)}
    if canary:
        return gettext("%(n)s jobs as a canary and a wait, then %(rest)s") % {"n": figure(canary), "rest": text}
    return text


def is_flat(terms: Terms) -> bool:
    """Whether a chart would say nothing: one pace throughout, and no canary."""
    return not terms.canary and (
        terms.pace_to is None or terms.pace_from is None or math.isclose(terms.pace_from, terms.pace_to)
    )
