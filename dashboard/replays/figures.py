"""The figures on the page of a plan, which news may replace: written here for the page and for every push alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.live.parts import part
from dashboard.replays import around, keys, pace
from dashboard.replays.progress import legend, of_all, progress
from dashboard.replays.seen import Seen
from dashboard.templatetags.mirante import age, moment, until
from dashboard.words import shown
from queues.quantities import UNKNOWN, duration, number
from queues.replay.types import HALTED, Phase, Stop, Told

Shown = SafeString | str


def drawn(seen: Seen) -> Mapping[str, SafeString]:
    """All that is live on its page but the chart, by name."""
    key = keys.page(seen.replay.pk)
    made: dict[str, Shown] = {"since": around.since(seen), "left": number(seen.replay.to_send), "of": of_all(seen)}
    for name, figure in FIGURES.items():
        made[name], made[f"{name}_w"] = figure(seen)
    made["read"] = around.read_at(seen)
    made |= {"again_w": around.ended(seen), **around.again(seen), **around.targets(seen)}
    spans = {name: part(f"{key}-{name}", told) for name, told in made.items()}
    return spans | {
        "state": around.state(f"{key}-state", seen.replay),
        "bar": part(f"{key}-bar", progress(seen, "lg")),
        "key": part(f"{key}-key", legend(seen), "key"),
        "holding": around.block(f"{key}-holding", around.holding(seen)),
        "lines": around.block(f"{key}-lines", around.feed(seen.lines)),
        **{name: around.marker(f"{key}-{name}", value) for name, value in around.markers(seen).items()},
    }


def pushed(seen: Seen) -> Mapping[str, str]:
    """The same by ids."""
    return {f"{keys.page(seen.replay.pk)}-{name}": html for name, html in drawn(seen).items()}


def _sent(seen: Seen) -> tuple[Shown, Shown]:
    of = seen.of
    percent = decimal(100 * seen.replay.sent / of) if of else UNKNOWN
    return number(seen.replay.sent), _("%(percent)s%% of %(of)s") % {"percent": percent, "of": number(of)}


def _ends(seen: Seen) -> tuple[Shown, Shown]:
    left = pace.left_s(seen)
    if left is None:
        return UNKNOWN, _why_no_end(seen)
    end_ms = (seen.now_ms + left * 1000) // 1000 * 1000
    note = _("at this pace, about") if not seen.terms.hours else _("at this pace and within its hours, about")
    return until(end_ms), format_html("{} {}", note, moment(end_ms))


def _why_no_end(seen: Seen) -> str:
    """Why nobody can say when all is sent."""
    if seen.phase is Phase.ENDING:
        n = seen.under_way
        text = ngettext("all are sent; %(n)s has not ended", "all are sent; %(n)s have not ended", n)
        return text % {"n": number(n)}
    if seen.phase is Phase.CANCELLING:
        return _("it is being cancelled")
    if seen.phase in HALTED:
        return _("it stands still until somebody lets it go on")
    if seen.replay.down_since:
        return _("its source does not answer")
    if seen.canary:
        return _("the canary is awaited first")
    if seen.replay.holding:
        return _("it holds, and goes on by itself")
    return _("not known yet")


def _pace(seen: Seen) -> tuple[Shown, Shown]:
    lately = pace.measured(seen)
    allowed, terms = pace.ceiling(seen), seen.terms
    if allowed is None:
        told = _("no ceiling")
    else:
        told = _("ceiling %(pace)s") % {"pace": decimal(allowed)}
        if terms.pace_to is not None and allowed < terms.pace_to:
            told = _("ceiling %(pace)s, climbs to %(top)s") % {
                "pace": decimal(allowed),
                "top": decimal(terms.pace_to),
            }
    if lately is None:
        return UNKNOWN, told
    return format_html("{}<small>{}</small>", decimal(lately), _("/s")), told


def _failed(seen: Seen) -> tuple[Shown, Shown]:
    settled, percent = seen.settled, seen.terms.stop_percent
    limit = _("stops at %(limit)s%% of the last 100") % {"limit": number(percent)} if percent is not None else ""
    if not settled:
        return UNKNOWN, "; ".join(filter(None, (_("none has ended yet"), limit)))
    told = around.ended(seen)
    share = format_html("{}<small>%</small>", decimal(100 * seen.replay.failed / settled))
    return share, "; ".join(filter(None, (told, limit)))


def _canary(seen: Seen) -> tuple[Shown, Shown]:
    terms, canary = seen.terms, seen.canary
    if not terms.canary:
        return _("none"), _("all are sent by the pace")
    limit = _("limit %(n)s") % {"n": number(terms.canary_failed)}
    if canary is None or (seen.ended and not canary.sent):
        return _past_canary(seen, limit)
    number_of = _canary_number(seen)
    told = [_("ended"), _("%(n)s failed again") % {"n": number(canary.failed)}, limit]
    if canary.retrying:
        said = ngettext("%(n)s had an attempt fail", "%(n)s had an attempt fail", canary.retrying)
        told.insert(2, said % {"n": number(canary.retrying)})
    if seen.phase is Phase.STOPPED and seen.replay.why == Stop.CANARY:
        return _("failed"), "; ".join(told[1:])
    if seen.ended and canary.failed > terms.canary_failed:
        return _("failed"), "; ".join(told[1:])
    if seen.phase is Phase.DECIDING:
        told.append(_("its time is over"))
    if seen.ended and canary.ended < canary.sent:
        told.append(_("it was not awaited to its end"))
    return format_html("{}<small>{}</small>", number(canary.ended), f"/{number(number_of)}"), "; ".join(told)


def _canary_number(seen: Seen) -> int:
    """Of how many it is: there may be fewer jobs than were asked for."""
    line = next((line for line in seen.lines if line.kind == Told.CANARY_SENT), None)
    told = line.facts.get("number") if line else None
    return told if isinstance(told, int) else min(seen.terms.canary, seen.replay.sent + seen.replay.to_send)


def _past_canary(seen: Seen, limit: str) -> tuple[Shown, Shown]:
    """After it was awaited, or where it was never sent."""
    line = next((line for line in seen.lines if line.kind in (Told.CANARY_PASSED, Told.CANARY_LATE)), None)
    if seen.replay.rest_at is None:
        return UNKNOWN, _("it was not awaited to its end")
    ended, failed = (line.facts.get(name) for name in ("ended", "failed")) if line else (None, None)
    told = limit
    if isinstance(ended, int) and isinstance(failed, int):
        told = _("%(failed)s of %(ended)s failed again") % {"failed": number(failed), "ended": number(ended)}
        told = f"{told}, {limit}"
    passed = line is None or line.kind == Told.CANARY_PASSED
    return (_("passed") if passed else _("let pass")), told


def _oldest(seen: Seen) -> tuple[Shown, Shown]:
    """How long the oldest job of a target waits, of the worst of them."""
    limit_s = seen.terms.age_max_s
    limit = _("holds above %(age)s") % {"age": duration(limit_s * 1000)} if limit_s else ""
    read = [target for target in seen.targets if target.seen_at and not around.unread(seen, target)]
    if not read:
        why = _("not read while it stands still") if seen.phase in HALTED else _("not read lately")
        return UNKNOWN, "; ".join(filter(None, (why, limit)))
    waiting = [target for target in read if target.oldest_ms is not None]
    if not waiting:
        return _("none"), "; ".join(filter(None, (_("nothing waited when last read"), limit)))
    worst = min(waiting, key=lambda target: target.oldest_ms or 0)
    return age(worst.oldest_ms), "; ".join(filter(None, (shown(around.label(worst), 40), limit)))


FIGURES: Mapping[str, Callable[[Seen], tuple[Shown, Shown]]] = {
    "sent": _sent,
    "ends": _ends,
    "pace": _pace,
    "failed": _failed,
    "canary": _canary,
    "oldest": _oldest,
}


def decimal(value: float) -> str:
    """With one decimal below a hundred, where it has one."""
    rounded = round(value, 1) if value < 100 else round(value)
    return number_format(rounded, 0 if rounded == int(rounded) else 1, use_l10n=True, force_grouping=True)
