"""Draws how plans stand, for their pages and their list: what workers write is read each second while somebody watches.

Only what somebody shows is read and drawn (`dashboard.replays.keys`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from django.utils.translation import gettext as _

from dashboard.live.update import Update
from dashboard.replays import counts, ends, figures, keys, lines
from dashboard.replays.chart import charted
from dashboard.replays.seen import Seen, look
from queues.live import News, ReplaysNews
from queues.models import Replay
from queues.quantities import now_ms
from queues.registry import configured

CHART_S = 5.0  # a chart has no finer steps
CHARTS = 3  # that are drawn in one batch
NEW_MOST = 1_000  # plans that are counted as new
RECOUNT_S = 2.0  # at least, between two countings of what failed again; longer where that takes long
SHARE = 20  # of so many parts of the time, one at most is spent counting


class Replays:
    """The `Drawer` of the replays of a source. `clock` is monotonic, in seconds.

    Queries a batch: two, three where a list is shown; three more where the page of a plan is shown that has not ended,
    however many of them are, and what `look` says for each; three for each of at most three charts.
    """

    def __init__(self, source: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.source = source
        self._clock = clock
        self._rows: frozenset[str] = frozenset()
        self._before: frozenset[str] = frozenset()  # rows that were drawn by the last batch
        self._known: set[int] = set()  # plans that were listed and that there were
        self._seen: dict[int, Seen] = {}
        self._charts: dict[int, float] = {}  # when each is due
        self._recount_at = float("-inf")

    def show(self, rows: Collection[str]) -> None:
        self._rows = frozenset(rows)

    def update(self, news: News) -> Update:
        """What is shown, as it stands now. Some 2 ms for the page of a plan, and 0.2 ms for a row of the list."""
        if not isinstance(news, ReplaysNews):
            return Update()
        rows, at_ms = self._rows, now_ms()
        pages, among = keys.shown(rows, "rp"), keys.shown(rows, "rl")
        found = self._read(pages | among)
        seen, said = self._look([found[pk] for pk in pages if pk in found], at_ms), self._say(found)
        parts = dict(self._around(rows))
        for pk in pages & seen.keys():
            if self._moved(keys.page(pk), seen[pk]):
                parts |= figures.pushed(seen[pk])
        parts |= self._charted(seen)
        parts |= self._listed(among, found, at_ms)
        self._known = {pk for pk in among if pk in found or pk in self._known}
        self._seen, self._before = dict(seen), rows
        return Update(parts, say=said)

    def _read(self, wanted: Collection[int]) -> Mapping[int, Replay]:
        if not wanted:
            return {}
        found = Replay.objects.filter(source__name=self.source, pk__in=wanted).select_related("source")
        return {replay.pk: replay for replay in found}

    def _look(self, shown: Sequence[Replay], at_ms: int) -> Mapping[int, Seen]:
        """Plans with what belongs to them; of those that have ended only what is not known yet."""
        kept = {pk: seen for pk, seen in self._seen.items() if seen.ended}
        due = [each for each in shown if each.pk not in kept or kept[each.pk].replay.changed_at != each.changed_at]
        found = {replay.pk: kept[replay.pk] for replay in shown if replay not in due}
        if not due:
            return found
        began = self._clock()
        recount = began >= self._recount_at
        found |= look(due, at_ms, self._seen, recount=recount)
        if recount:
            now = self._clock()
            self._recount_at = now + max(RECOUNT_S, SHARE * (now - began))
        return found

    def _moved(self, key: str, seen: Seen) -> bool:
        """Whether a plan has to be drawn: one that goes on always, as its figures are of now."""
        before = self._seen.get(seen.replay.pk)
        return not seen.ended or key not in self._before or before is not seen

    def _charted(self, seen: Mapping[int, Seen]) -> Mapping[str, str]:
        now = self._clock()
        due = [pk for pk in seen if self._charts.get(pk, 0.0) <= now]
        parts = {}
        for pk in due[:CHARTS]:
            parts[f"{keys.page(pk)}-chart"] = charted(seen[pk])
            self._charts[pk] = now + CHART_S if not seen[pk].ended else float("inf")
        self._charts = {pk: at for pk, at in self._charts.items() if pk in seen}
        return parts

    def _listed(self, among: Iterable[int], found: Mapping[int, Replay], at_ms: int) -> Mapping[str, str]:
        parts: dict[str, str] = {}
        for pk in among:
            if pk in found:
                parts |= lines.parts(Seen(found[pk], at_ms))
            elif pk in self._known:  # others are of another source
                parts |= lines.lost(pk)
        return parts

    def _around(self, rows: Collection[str]) -> Mapping[str, str]:
        """What stands on every page, and what is new since a list was read."""
        names = [config.name for config in configured()]
        told = counts.counts(names)
        parts: dict[str, str] = {f"replays-running-{place}": counts.badge(told, place) for place in keys.PLACES}
        since = keys.shown(rows, "rn")
        if since:
            newer = Replay.objects.filter(pk__gt=min(since), source__name__in=names).order_by("pk")
            made = list(newer.values_list("pk", flat=True)[:NEW_MOST])
            for newest in since:
                parts[f"{keys.since(newest)}-n"] = lines.news(newest, sum(pk > newest for pk in made))
        return parts

    def _say(self, found: Mapping[int, Replay]) -> str:
        """What a screen reader is told: that a plan whose page is shown stands otherwise."""
        moved = [
            _("Replay %(name)s: %(phase)s.") % {"name": str(found[pk]), "phase": ends.within(found[pk])}
            for pk, seen in self._seen.items()
            if pk in found and found[pk].phase != seen.replay.phase
        ]
        return " ".join(moved)
