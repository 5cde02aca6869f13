"""The figures on the page of a group, which news may replace: written here for the page and for every push alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.failures import keys
from dashboard.failures.chart import Chart
from dashboard.failures.lines import grown
from dashboard.failures.words import LIFE_TONES, LIFE_WORDS
from dashboard.live.parts import part
from dashboard.templatetags.mirante import age, moment
from queues.failures.about import Span
from queues.failures.find import Growth, GrowthWord, Row
from queues.failures.types import Life
from queues.quantities import DAY, UNKNOWN, number


@dataclass(frozen=True, slots=True)
class Figures:
    """What a group adds up to now."""

    slug: str
    life: Life
    h1: int
    present: int
    total: int
    last_ms: int
    growth: Growth

    @classmethod
    def of(cls, row: Row) -> Figures:
        return cls(row.slug, row.life, row.counts.h1, row.present, row.total, row.last_ms, row.growth)

    @property
    def key(self) -> str:
        return keys.page(self.slug)


def drawn(found: Figures) -> Mapping[str, SafeString]:
    """The parts by name."""
    made = {
        "h1": number(found.h1),
        "growth": grown(found.growth),
        "why": _why(found),
        "last": age(found.last_ms),
        "seen": moment(found.last_ms),
        "present": number(found.present),
        "total": number(found.total),
    }
    made |= {f"moved.{life}": _moved(found.life, life) for life in Life}
    tone = f"tag {LIFE_TONES[found.life]}".strip()
    life = format_html('<span id="{}-life" data-part class="{}">{}</span>', found.key, tone, LIFE_WORDS[found.life])
    return {name: part(f"{found.key}-{name}", told) for name, told in made.items()} | {"life": life}


def pushed(found: Figures) -> Mapping[str, str]:
    """The same by ids."""
    return {f"{found.key}-{name}": html for name, html in drawn(found).items()}


def lost(slug: str) -> Mapping[str, str]:
    """The same for a group that is no more, or part of another now: nothing is known of it."""
    key = keys.page(slug)
    unknown = dict.fromkeys(("h1", "growth", "last", "present", "total"), UNKNOWN)
    moved = dict.fromkeys((f"moved.{life}" for life in Life), _("It is part of another group now, or gone."))
    return {f"{key}-{name}": part(f"{key}-{name}", told) for name, told in (unknown | moved).items()}


def charted(slug: str, span: Span, made: Chart) -> SafeString:
    """The part with its chart and the moments below."""
    style = "minute" if span.ms <= DAY else "date"
    ticks = ((moment(tick, style),) for tick in made.ticks)
    return format_html(
        '<div id="{}-drawn" data-part>{}<p class="axis">{}</p></div>',
        keys.chart(slug, span),
        made.drawn,
        format_html_join("", "<span>{}</span>", ticks),
    )


def _moved(now: Life, shown: Life) -> str:
    """What a page says that was read when the group stood otherwise: what can be done with it is not what it offers."""
    return "" if now is shown else _("It is %(life)s now.") % {"life": LIFE_WORDS[now]}


def _why(found: Figures) -> str:
    """What its growth means, in a few words."""
    growth = found.growth
    if growth.times is not None:
        return _("against the 7-day mean of this hour")
    if growth.word is GrowthWord.NEW:
        return _("first seen within 24 hours")
    if growth.word is GrowthWord.BACK:
        return _("after it was resolved")
    if growth.word is GrowthWord.RARE:
        return _("at this hour there usually are none")
    if not found.h1:
        return _("nothing failed in the last hour")
    return _("its usual rate is not known yet")
