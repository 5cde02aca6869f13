"""What stands around the list of groups and is live: its sentences, sums, choices, how the index stands, what is new.

Each is an inert part, made here for the first render and for every push alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import ngettext

from dashboard.failures.columns import kinds, states
from dashboard.failures.keys import BEAT, Sight, Since
from dashboard.failures.lede import Scope, lede
from dashboard.failures.lines import WINDOW_WORDS
from dashboard.live.parts import part
from dashboard.templatetags.mirante import moment
from queues.failures.find import Known, Listing
from queues.quantities import number, spelled

PLACES = ("rail", "top")  # of the navigation
Parts: TypeAlias = Mapping[str, SafeString | str]


def drawn(found: Listing, sight: Sight, *, unread: bool) -> Parts:
    """By name all that is live of these sums. `unread`: nothing can be said, as no failure was ever read."""
    key = sight.key
    made = {
        "lede": _lede(found, sight, unread=unread),
        "upto": moment(found.known.windows_ms),
        "matching": _matching(found.matching),
        **{name: number(getattr(found.totals, name)) for name in WINDOW_WORDS},
    }
    return {
        **{name: part(f"{key}-{name}", told) for name, told in made.items()},
        **{choice.name: choice.shown for choice in (*states(sight, found), *kinds(sight, found)) if choice.shown},
        "index": index(key, standing_of(found.known)),
    }


def pushed(found: Listing, sight: Sight, *, unread: bool) -> Parts:
    """The same by ids."""
    return {f"{sight.key}-{name}": html for name, html in drawn(found, sight, unread=unread).items()}


def standing_of(known: Known) -> SafeString:
    """How the index stands, where there is something to say."""
    return render_to_string("failures/standing.html", {"known": known})


def index(key: str, standing: SafeString) -> SafeString:
    """The part with that."""
    return format_html('<div id="{}-index" data-part>{}</div>', key, standing)


def news(since: Since, new: int, back: int) -> SafeString:
    """How many groups are new, and how many came back, since a list was read. Empty: none."""
    said = [ngettext("%(n)s new group", "%(n)s new groups", new) % {"n": number(new)}] if new else []
    if back:
        said.append(ngettext("%(n)s came back", "%(n)s came back", back) % {"n": number(back)})
    return part(f"{since.key}-n", ", ".join(said))


def badge(opened: int | None, place: str) -> SafeString:
    """How many groups are open, beside a link to them in the navigation at `place`. Empty: none, or nobody knows."""
    text = ngettext("%(n)s open", "%(n)s open", opened) % {"n": number(opened)} if opened else ""
    return part(f"open-groups-{place}", text, "hot")


def beat(count: int) -> SafeString:
    """That something changed, for pages which nobody draws anew."""
    return format_html('<span id="{}-beat" data-part data-n="{}" hidden></span>', BEAT, count)


def stale_ms(known: Known) -> int | None:
    """The moment of which the page tells where that is not now; None: now."""
    held = [each.at_ms for each in (*known.blind.values(), *known.silent.values()) if each.at_ms is not None]
    return min(held, default=known.windows_ms if known.late else None)


def unread(known: Known) -> bool:
    """Whether of sources without any group nothing can be said: something may have failed there."""
    return bool(known.blind or known.silent or known.scanning or len(known.never) == len(known.standings))


def _lede(found: Listing, sight: Sight, *, unread: bool) -> str:
    scope = Scope.SOME if sight.filtered else Scope.ALL if sight.state == "all" else Scope.OPEN
    told = {
        "found": found,
        "lede": "" if unread else lede(found, scope),
        "stale_ms": None if unread else stale_ms(found.known),
        "fresh": spelled(found.fresh).capitalize(),
    }
    return render_to_string("failures/lede.html", told)


def _matching(count: int) -> str:
    return ngettext("%(number)s group", "All %(number)s groups", count) % {"number": number(count)}
