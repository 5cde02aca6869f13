"""Draws what the index of failures tells, for the list of groups and for the pages of single ones.

Only what somebody shows is drawn (`dashboard.failures.keys`): of five thousand groups a few hundred stand on screens.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

from django.utils.translation import ngettext

from dashboard.failures import figures, keys, lines, sums
from dashboard.failures.chart import chart
from dashboard.failures.figures import Figures
from dashboard.live.update import Update
from queues import deploys
from queues.errors import NotFound
from queues.failures import merging
from queues.failures.about import series, whole
from queues.failures.find import Held, Known, Listing, Row, known, listing, open_groups, together
from queues.failures.find.tally import Tallies
from queues.failures.find.tally import together as added
from queues.failures.types import UNSOLVED
from queues.live import FailuresNews, News, Pulse
from queues.quantities import MINUTE, now_ms, number

LOOK_S = 5.0  # between two looks at how the index stands, and at what people changed, when no news come
SAY_EVERY_S = 10.0  # a screen reader is not told of each group


@dataclass(frozen=True, slots=True)
class State:
    """What is known of a source, replaced as a whole: drawers of other sources read it from their own threads."""

    known: Known
    tallies: Tallies
    newest: Sequence[int]  # keys of the groups that wait for somebody, in order
    back: Sequence[int]  # when those that came back failed again, in order
    any: bool  # whether there is any group


@dataclass(slots=True)
class Changed:
    """What a batch has changed. `slugs` None: any group may have."""

    slugs: Collection[str] | None = ()
    any: bool = False

    def __contains__(self, slug: str) -> bool:
        return self.slugs is None or slug in self.slugs


class Failures:
    """The `Drawer` of the failures of a source. `clock` is monotonic, in seconds.

    Queries a batch, whoever watches: none when nothing changed, two for the groups that changed; every five seconds
    four for how the index stands and one for what people did; and eight for one chart at a time.
    Sums of several sources are drawn as soon as each has such a drawer in this process.
    """

    def __init__(self, source: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.source = source
        self.state: State | None = None
        self._clock = clock
        self._held = Held(source)
        self._rows: frozenset[str] = frozenset()
        self._drawn: dict[str, Row | None] = {}  # rows that were shown by the last batch, groups as they were drawn
        self._known: Known | None = None
        self._looked_at = float("-inf")
        self._pulse: Pulse | None = None
        self._beat = 0
        self._unsaid = 0
        self._said_at = float("-inf")
        self._minute = 0
        self._charts: dict[str, None] = {}  # that are to be drawn anew
        _drawers[source] = self

    def show(self, rows: Collection[str]) -> None:
        self._rows = frozenset(rows)

    def update(self, news: News) -> Update:
        """What changed among the rows that are shown. Some 10 ms at 5,000 groups, 60 us for each row that is drawn."""
        if not isinstance(news, FailuresNews):
            return Update()
        changed = self._learn(news)
        new = self._rows - self._drawn.keys()
        self._drawn = {row: self._drawn.get(row) for row in self._rows}
        parts = self._charted(news.standing.at_ms)
        if self.state is not None and (changed.any or new):
            parts |= self._standing(self.state)
            for row in self._rows:
                parts |= self._row(self.state, row, changed, fresh=row in new)
        if changed.any:
            parts |= self._around()
        return Update(parts, say=self._say(news))

    def _learn(self, news: FailuresNews) -> Changed:
        """Read what news say that changed, and now and then what no news tell."""
        now = self._clock()
        due = now - self._looked_at >= LOOK_S
        turned, self._pulse = news.standing.pulse is not self._pulse, news.standing.pulse
        if not (due or turned or news.groups or news.fresh or news.whole):
            return Changed()
        people = self._held.changed_by_people() if due else ()
        every = news.whole or self.state is None or people is None
        slugs = {*news.groups, *(people or ())}
        self._held.read(None if every else slugs)
        if due or turned or every or self._known is None or self._known.scanning:
            self._known, self._looked_at = known([self.source]), now
        self.state = self._summed(self._known)
        return Changed(None if every else slugs, any=True)

    def _summed(self, standing: Known) -> State:
        groups = self._held.sums or {}
        newest = sorted(each.pk for each in groups.values() if each.life in UNSOLVED)
        back = sorted(self._held.regressed.values())
        return State(standing, self._held.tallies(now_ms()), newest, back, bool(groups))

    def _row(self, state: State, row: str, changed: Changed, *, fresh: bool) -> Mapping[str, str]:
        kind, _dash, slug = row.partition("-")
        if kind in ("fg", "fp"):
            return self._group(state, kind, slug) if fresh or slug in changed else {}
        if sight := keys.Sight.parse(row):
            return self._sums(sight)
        if since := keys.Since.parse(row):
            return self._news(since)
        return {}

    def _group(self, state: State, kind: str, slug: str) -> Mapping[str, str]:
        found = self._held.row(slug, state.known)
        if found is None:
            self._drawn[f"{kind}-{slug}"] = None
            if not self._held.was(slug):
                return {}
            return lines.lost(keys.row(slug)) if kind == "fg" else figures.lost(slug)
        if kind == "fp":
            return figures.pushed(Figures.of(found))
        before, self._drawn[keys.row(slug)] = self._drawn.get(keys.row(slug)), found
        return lines.parts(found, keys.row(slug), before)

    def _standing(self, state: State) -> dict[str, str]:
        """How the index stands, for the pages of groups."""
        pages = [row for row in self._rows if row.startswith("fp-") and self._held.row(row[3:], state.known)]
        if not pages:
            return {}
        told = sums.standing_of(state.known)
        return {f"{row}-index": sums.index(row, told) for row in pages}

    def _sums(self, sight: keys.Sight) -> Mapping[str, str]:
        states = _states(sight.where)
        if not states:
            return {}
        standing = together([state.known for state in states])
        nothing = not any(state.any for state in states) and sums.unread(standing)
        found: Listing = listing(added(state.tallies for state in states), sight.filters, standing)
        return sums.pushed(found, sight, unread=nothing)

    def _news(self, since: keys.Since) -> Mapping[str, str]:
        states = _states(since.where)
        new = sum(len(state.newest) - bisect_right(state.newest, since.newest) for state in states)
        back = sum(len(state.back) - bisect_left(state.back, since.read_s * 1000) for state in states)
        return {f"{since.key}-n": sums.news(since, new, back)}

    def _around(self) -> dict[str, str]:
        """What stands on every page."""
        self._beat += 1
        states = _states("")
        opened = sum(len(state.newest) for state in states) if states else open_groups(keys.sources_of(""))
        badges = {f"open-groups-{place}": sums.badge(opened, place) for place in sums.PLACES}
        return {f"{keys.BEAT}-beat": sums.beat(self._beat), **badges}

    def _charted(self, at_ms: int) -> dict[str, str]:
        """One chart anew, where a minute is over since it was drawn."""
        if at_ms // MINUTE != self._minute:
            self._charts = dict.fromkeys(row for row in self._rows if row.startswith("fc-"))
            self._minute = at_ms // MINUTE
        while self._charts:
            row = next(iter(self._charts))
            del self._charts[row]
            if row in self._rows and (parts := _chart(row, self.source)):
                return dict(parts)
        return {}

    def _say(self, news: FailuresNews) -> str:
        """What a screen reader is told: how many groups are new."""
        self._unsaid += news.fresh
        if not self._unsaid or self._clock() - self._said_at < SAY_EVERY_S:
            return ""
        said = ngettext("%(n)s new group of failures", "%(n)s new groups of failures", self._unsaid)
        told = said % {"n": number(self._unsaid)}
        self._unsaid, self._said_at = 0, self._clock()
        return told


_drawers: WeakValueDictionary[str, Failures] = WeakValueDictionary()


def _states(where: str) -> Sequence[State]:
    """What is known of these sources; nothing as long as one of them is not."""
    names = keys.sources_of(where)
    found = [drawer.state for name in names if (drawer := _drawers.get(name)) is not None]
    known_ones = [state for state in found if state is not None]
    return known_ones if len(known_ones) == len(names) else ()


def _chart(row: str, source: str) -> Mapping[str, str]:
    """A chart by its key; nothing for a group of another source, or that is no more."""
    asked = keys.charted(row)
    try:
        group = merging.current(asked[0]) if asked else None
    except NotFound:
        return {}
    if not asked or not group or group.slug != asked[0] or group.source.name != source:
        return {}
    about = whole(group)
    shown = series(about, asked[1])
    made = chart(shown, deploys.between(shown.begin_ms, shown.end_ms, source))
    return {f"{row}-drawn": figures.charted(asked[0], asked[1], made)}
