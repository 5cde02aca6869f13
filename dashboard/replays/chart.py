"""What a plan sent and what failed again, in jobs a second over its time, with what happened to it marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import F, Sum
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext_lazy

from dashboard.axes import GROUND, HEIGHT, Scale, marks
from dashboard.replays import keys
from dashboard.replays.pace import left_s
from dashboard.replays.seen import Seen
from dashboard.templatetags.mirante import moment
from queues import deploys
from queues.models import ReplayLine, ReplaySpan
from queues.quantities import duration, number
from queues.replay.spans import SPAN_MS
from queues.replay.types import Told

STEPS = 240  # points of a line at most
AHEAD = 2  # times of what has passed that the chart shows of what is to come
MARKED: dict[str, Promise] = {
    Told.CANARY_PASSED: pgettext_lazy("replay", "canary passed"),
    Told.CANARY_LATE: pgettext_lazy("replay", "canary late"),
    Told.PAUSED: pgettext_lazy("replay", "paused"),
    Told.STOPPED: pgettext_lazy("replay", "stopped"),
    Told.WENT_ON: pgettext_lazy("replay", "went on"),
    Told.PACE: pgettext_lazy("replay", "pace changed"),
    Told.CANCELLED: pgettext_lazy("replay", "cancelled"),
}
MOST_MARKS = 50


@dataclass(frozen=True, slots=True)
class Paces:
    """Jobs a second in steps of `step_ms` from `begin_ms` on, up to `upto_ms`; the chart ends at `end_ms`."""

    begin_ms: int
    upto_ms: int
    end_ms: int
    step_ms: int
    sent: Sequence[float]
    failed: Sequence[float]

    @property
    def most(self) -> float:
        return max((*self.sent, *self.failed), default=0.0)


def charted(seen: Seen) -> SafeString:
    """The part with its chart and the moments below; empty where it has not begun. Three queries."""
    key = f"{keys.page(seen.replay.pk)}-chart"
    shown = paces(seen)
    if shown is None:
        return format_html('<div id="{}" data-part></div>', key)
    ahead = shown.end_ms > shown.upto_ms
    ticks = [moment(shown.begin_ms), moment(shown.end_ms)]
    if ahead:
        ticks[1] = format_html("{} {}", gettext("about"), ticks[1])
    return format_html(
        '<div id="{}" data-part>{}<p class="axis">{}</p></div>',
        key,
        drawn(shown, moments(seen, shown), ahead=ahead),
        format_html_join("", "<span>{}</span>", ((tick,) for tick in ticks)),
    )


def paces(seen: Seen) -> Paces | None:
    """What is to be drawn; None where it has not begun. One query, by its spans: some 10 ms for a day."""
    replay = seen.replay
    if replay.started_at is None:
        return None
    begin = int(replay.started_at.timestamp() * 1000) // SPAN_MS
    upto_ms = int(replay.ended_at.timestamp() * 1000) if replay.ended_at else seen.now_ms
    upto_ms = max(upto_ms, (begin + 1) * SPAN_MS)
    spans = -(-(upto_ms - begin * SPAN_MS) // SPAN_MS)
    wide = -(-spans // STEPS)
    sums = _sums(replay.pk, begin, wide)
    steps = range(-(-spans // wide))
    lasted = [min(wide * SPAN_MS, upto_ms - (begin + at * wide) * SPAN_MS) / 1000 for at in steps]
    # What has hardly begun says nothing about its pace yet.
    whole = [at for at in steps if lasted[at] >= min(2.0, lasted[0])]
    return Paces(
        begin * SPAN_MS,
        upto_ms,
        _end_ms(seen, begin * SPAN_MS, upto_ms),
        wide * SPAN_MS,
        [sums.get(at, (0, 0))[0] / lasted[at] for at in whole],
        [sums.get(at, (0, 0))[1] / lasted[at] for at in whole],
    )


def _sums(pk: int, begin: int, wide: int) -> dict[int, tuple[int, int]]:
    found = ReplaySpan.objects.filter(replay=pk, span__gte=begin).annotate(at=(F("span") - begin) / wide)
    rows = found.values_list("at").annotate(Sum("sent"), Sum("failed")).order_by()
    return {int(at): (sent or 0, failed or 0) for at, sent, failed in rows}


def _end_ms(seen: Seen, begin_ms: int, upto_ms: int) -> int:
    """With what is to come, where that is known and not so long that what has passed could not be seen."""
    left = left_s(seen)
    if left is None or left * 1000 > AHEAD * (upto_ms - begin_ms):
        return upto_ms
    return upto_ms + int(left) * 1000


def moments(seen: Seen, shown: Paces) -> Sequence[tuple[int, str]]:
    """What happened to it, and deploys, within the chart. Two queries."""
    found = ReplayLine.objects.filter(replay=seen.replay.pk, kind__in=MARKED).order_by("-pk")[:MOST_MARKS]
    told = [(int(line.at.timestamp() * 1000), str(MARKED[line.kind])) for line in found]
    versions = deploys.between(shown.begin_ms, shown.upto_ms, seen.replay.source.name)
    told += [(each.at_ms, gettext("deploy %(version)s") % {"version": each.version}) for each in versions]
    return sorted(each for each in told if shown.begin_ms <= each[0] <= shown.upto_ms)


def drawn(shown: Paces, marked: Sequence[tuple[int, str]], *, ahead: bool) -> SafeString:
    """Two lines. Its text alternative says the fastest step of both, and what is marked."""
    scale = Scale.of(shown.most)
    parts = [
        *scale.lines(),
        *marks(marked, shown.begin_ms, shown.end_ms),
        *(_now(shown) if ahead else ()),
        format_html(
            '<svg width="100%" height="{0}" viewBox="0 0 1000 {0}" preserveAspectRatio="none">{1}{2}</svg>',
            HEIGHT,
            _line(shown, shown.sent, scale, "k-accent"),
            _line(shown, shown.failed, scale, "k-failed"),
        ),
        *scale.numbers(gettext("%(number)s a second")),
    ]
    return format_html(
        '<svg role="img" aria-label="{}" height="{}">{}</svg>',
        _alternative(shown, marked),
        HEIGHT,
        format_html_join("", "{}", ((part,) for part in parts)),
    )


def _line(shown: Paces, values: Sequence[float], scale: Scale, css: str) -> SafeString:
    """A path through the middles of the steps, from the left edge on."""
    per_ms = 1000 / max(1, shown.end_ms - shown.begin_ms)
    points = [
        (min(at * shown.step_ms + shown.step_ms / 2, shown.upto_ms - shown.begin_ms) * per_ms, scale.y(value))
        for at, value in enumerate(values)
    ]
    if not points:
        return format_html("")
    path = [f"M0 {points[0][1]:.1f}", *(f"L{x:.1f} {y:.1f}" for x, y in points)]
    return format_html('<path class="ln {}" d="{}"/>', css, "".join(path))


def _now(shown: Paces) -> Iterator[SafeString]:
    """Where what has passed ends."""
    x = f"{100 * (shown.upto_ms - shown.begin_ms) / (shown.end_ms - shown.begin_ms):.2f}"
    yield format_html('<line class="gl base" x1="{0}%" x2="{0}%" y1="14" y2="{1}"/>', x, GROUND)
    yield format_html('<text class="ax halo" x="{}%" y="{}" text-anchor="end">{}</text>', x, GROUND - 4, gettext("now"))


def _alternative(shown: Paces, marked: Sequence[tuple[int, str]]) -> str:
    said = gettext("Jobs a second over %(span)s: at most %(sent)s sent, at most %(failed)s failed again") % {
        "span": duration(shown.upto_ms - shown.begin_ms, whole=True),
        "sent": number(round(max(shown.sent, default=0.0), 1)),
        "failed": number(round(max(shown.failed, default=0.0), 1)),
    }
    if marked:
        said += gettext("; marked: %(marks)s") % {"marks": ", ".join(said for _at, said in marked[:12])}
    return said
