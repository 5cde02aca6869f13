"""A group as a row of the list: words, drawings and links. What news may replace is written by `parts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext, pgettext
from django.utils.translation import gettext_lazy as _

from dashboard.charts import spark
from dashboard.failures import keys
from dashboard.failures.words import KIND_WORDS, LIFE_WORDS
from dashboard.live.parts import part
from dashboard.templatetags.mirante import icon, moment
from queues import masking
from queues.failures.classes.advice import advice
from queues.failures.find import Growth, GrowthWord, Row
from queues.failures.types import Kind, Life
from queues.names import show_controls
from queues.quantities import UNKNOWN, number
from queues.redaction import mask_text

# A window, its word as a head, and in a sentence.
WINDOW_WORDS: Mapping[str, tuple[Promise, Promise]] = {
    "h1": (_("1 h"), _("in the last hour")),
    "h3": (_("3 h"), _("in the last 3 h")),
    "h24": (_("24 h"), _("in the last 24 h")),
    "d3": (_("3 d"), _("in the last 3 d")),
    "d7": (_("7 d"), _("in the last 7 d")),
}
# Those that narrow screens leave out.
MINOR: Mapping[str, str] = {"h3": "lo", "d3": "lo"}
# A glyph and the colour of the tag.
TAGS: Mapping[Life, tuple[str, str]] = {
    Life.OPEN: ("", ""),
    Life.REGRESSED: ("back", "warn"),
    Life.IGNORED: ("", "mute"),
    Life.RESOLVED: ("completed", "good"),
}
HUGE = 10.0  # times from which on no decimal is told


@dataclass(frozen=True, slots=True)
class Cell:
    """The count of a window, its column's name, and the address of the jobs it counts; `shown` may be replaced."""

    label: Promise
    css: str
    href: str
    shown: SafeString
    title: str


@dataclass(frozen=True, slots=True)
class Line:
    """A row. `within` are the filters that narrow the jobs behind its counts, as a query string has them."""

    row: Row
    within: Mapping[str, str]

    @property
    def key(self) -> str:
        return keys.row(self.row.slug, narrowed=bool(self.within))

    @property
    def url(self) -> str:
        return reverse("failure-group", args=[self.row.slug])

    @property
    def title(self) -> str:
        return show_controls(hidden(self.row.title), keep="") or gettext("no message")

    @property
    def place(self) -> str:
        """Where it happens: “payments and 2 more”."""
        if not self.row.queues:
            return UNKNOWN
        first, more = self.row.queues[0].label, self.row.queue_count - 1
        if not more:
            return first
        return ngettext("%(queue)s and %(n)s more", "%(queue)s and %(n)s more", more) % {
            "queue": first,
            "n": number(more),
        }

    @property
    def life(self) -> SafeString:
        return life(self.row, self.key)

    @property
    def kind(self) -> SafeString:
        return kind(self.row, self.key)

    @property
    def kind_title(self) -> str:
        said = advice(self.row.kind, self.row.rule)
        return f"{gettext('Set by hand.')} {said}" if self.row.by_hand else said

    @property
    def cells(self) -> Sequence[Cell]:
        base = self.url + "jobs/?"
        return [
            Cell(
                label=head,
                css=MINOR.get(name, ""),
                href=base + urlencode({**self.within, "since": self.row.since[name]}),
                shown=count(self.row, name, self.key),
                title=gettext("Its jobs that failed %(when)s") % {"when": when},
            )
            for name, (head, when) in WINDOW_WORDS.items()
        ]

    @property
    def spark(self) -> SafeString:
        known = [hour for hour in self.row.hours if hour is not None]
        label = gettext("Failures an hour over 48 hours: %(sum)s in all, at most %(most)s in one") % {
            "sum": number(sum(known)),
            "most": number(max(known, default=0)),
        }
        if len(known) < len(self.row.hours):
            label += gettext("; hatched where nobody knows")
        return spark(self.row.hours, (), label, line="k-failed" if self.row.live and self.row.growth.fast else "k-ink2")

    @property
    def growth(self) -> SafeString:
        return growth(self.row, self.key)

    @property
    def growth_title(self) -> str:
        return explained(self.row.growth, self.row.usual)

    @property
    def last(self) -> SafeString:
        return last(self.row, self.key)


def hidden(text: str) -> str:
    """What the index kept of a failure, masked by the rules of today: those of when it was kept may have been fewer."""
    return mask_text(text, masking.in_force())[0]


def parts(row: Row, key: str, before: Row | None = None) -> Mapping[str, str]:
    """What news may replace in the row of a group, by ids: all, or what differs from `before`. Some 15 us each."""
    had = _looks(before) if before else {}
    made = {name: count(row, name, key) for name, look in _looks(row).items() if look != had.get(name)}
    if before is None or row.growth != before.growth:
        made["growth"] = growth(row, key)
    if before is None or row.last_ms != before.last_ms:
        made["last"] = last(row, key)
    if before is None or row.life != before.life:
        made["life"] = life(row, key)
    if before is None or (row.kind, row.mixed) != (before.kind, before.mixed):
        made["kind"] = kind(row, key)
    return {f"{key}-{name}": html for name, html in made.items()}


def lost(key: str) -> Mapping[str, str]:
    """The same for a group that is no more, or part of another now: nothing is known of it."""
    return {f"{key}-{name}": part(f"{key}-{name}", UNKNOWN) for name in (*WINDOW_WORDS, "growth", "life")}


def count(row: Row, window: str, key: str) -> SafeString:
    """The count of a window."""
    value: int = getattr(row.counts, window)
    return part(f"{key}-{window}", number(value), "bad b" if _hot(row, window) else "" if value else "z")


def _looks(row: Row) -> Mapping[str, tuple[int, bool]]:
    return {name: (getattr(row.counts, name), _hot(row, name)) for name in WINDOW_WORDS}


def _hot(row: Row, window: str) -> bool:
    return window == "h1" and row.live and row.growth.fast


def growth(row: Row, key: str) -> SafeString:
    """How it grows."""
    css = "bad b" if row.growth.fast and row.growth.word is None else "warn b" if row.growth.word else "mute"
    return part(f"{key}-growth", grown(row.growth), css)


def last(row: Row, key: str) -> SafeString:
    """When it was last seen."""
    return part(f"{key}-last", moment(row.last_ms, "day"))


def life(row: Row, key: str) -> SafeString:
    """Its life as a tag."""
    glyph, css = TAGS[row.life]
    told = format_html("{}{}", icon(glyph, 9) if glyph else "", LIFE_WORDS[row.life])
    return part(f"{key}-life", told, f"tag {css}".strip())


def kind(row: Row, key: str) -> SafeString:
    """Its class, or that of most of its failures."""
    word = str(KIND_WORDS[row.kind])
    told = gettext("mostly %(kind)s") % {"kind": word} if row.mixed else word
    return part(f"{key}-kind", told, {Kind.PERMANENT: "b", Kind.UNKNOWN: "mute"}.get(row.kind, ""))


def grown(found: Growth) -> str:
    """“14×”, “new”, “back”, “rare” or a dash."""
    if found.word is GrowthWord.NEW:
        return pgettext("failures", "new")
    if found.word is GrowthWord.BACK:
        return pgettext("failures", "back")
    if found.word is GrowthWord.RARE:
        return pgettext("failures", "rare")
    if found.times is None:
        return UNKNOWN
    times = number(round(found.times)) if found.times >= HUGE else number_format(found.times, 1, use_l10n=True)
    return gettext("%(times)s×") % {"times": times}


def explained(found: Growth, usual: float | None) -> str:
    """What the growth says, in words."""
    if found.word is GrowthWord.NEW:
        return gettext("First seen within the last 24 hours")
    if found.word is GrowthWord.BACK:
        return gettext("Seen again after it was resolved")
    if found.word is GrowthWord.RARE:
        return gettext("None is usual at this hour")
    if found.times is None or usual is None:
        return gettext("Nothing to compare: none in the last hour, or this hour’s mean is not known yet")
    return gettext("Usually %(usual)s within this hour") % {"usual": number(round(usual, 1))}
