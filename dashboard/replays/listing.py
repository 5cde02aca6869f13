"""The list of plans: what a query string asks of it, and one page of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Max, Q, QuerySet
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext, pgettext_lazy

from dashboard.replays.counts import RUNNING, WAITS
from dashboard.replays.lines import Line
from dashboard.replays.seen import Seen
from queues.errors import BadInput
from queues.models import Replay
from queues.replay.steering.drafts import DISCARDED
from queues.replay.types import Phase

PAGE = 50

# How a choice of phases is called in the query string.
SHOWS: Mapping[str, tuple[frozenset[Phase], Promise]] = {
    "": (frozenset(Phase), pgettext_lazy("replays", "all")),
    "running": (RUNNING, pgettext_lazy("replays", "running")),
    "waiting": (WAITS, pgettext_lazy("replays", "waiting for somebody")),
    "drafts": (frozenset({Phase.FREEZING, Phase.DRAFT, Phase.FAILED}), pgettext_lazy("replays", "drafts")),
    "ended": (frozenset({Phase.DONE, Phase.CANCELLED}), pgettext_lazy("replays", "ended")),
}


class ReplaysQuery:
    """Which plans, and from where on. What is none of the choices means all; an odd cursor is BadInput."""

    def __init__(self, params: QueryDict, sources: Sequence[str], me: str) -> None:
        self.sources, self.me = sources, me
        self.show = params.get("show", "") if params.get("show") in SHOWS else ""
        self.source = params.get("source", "") if params.get("source") in sources else ""
        self.mine = params.get("mine", "") == "1"
        self.older, self.newer = _cursor(params, "older"), _cursor(params, "newer")

    @property
    def watched(self) -> Sequence[str]:
        """The sources of which it shows something."""
        return [self.source] if self.source else self.sources

    @property
    def filtered(self) -> bool:
        return bool(self.show or self.source or self.mine)

    @property
    def first(self) -> bool:
        """Whether it is the top of all: then what is new can be told."""
        return not self.filtered and self.older is None and self.newer is None

    @property
    def shows(self) -> Sequence[tuple[str, Promise]]:
        return [(name, words) for name, (_phases, words) in SHOWS.items()]


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of plans, newest first. `newest` is the key of the newest of all, 0 for none."""

    lines: Sequence[Line]
    newest: int
    older: str = ""
    newer: str = ""


def listing(query: ReplaysQuery, now_ms: int) -> Listing:
    """Two queries, whatever the number of plans."""
    newest = plans().aggregate(Max("pk"))["pk__max"] or 0
    found = _matching(query)
    if query.newer is not None:
        rows = list(found.filter(pk__gt=query.newer).order_by("pk")[: PAGE + 1])
        more, rows = len(rows) > PAGE, rows[:PAGE][::-1]
        return Listing(_lines(rows, now_ms), newest, _end(rows, -1), _end(rows, 0) if more else "")
    if query.older is not None:
        found = found.filter(pk__lt=query.older)
    rows = list(found.order_by("-pk")[: PAGE + 1])
    more, rows = len(rows) > PAGE, rows[:PAGE]
    back = _end(rows, 0) if query.older is not None else ""
    return Listing(_lines(rows, now_ms), newest, _end(rows, -1) if more else "", back)


def plans() -> QuerySet[Replay]:
    """All that were not discarded."""
    return Replay.objects.exclude(step=DISCARDED)


def _matching(query: ReplaysQuery) -> QuerySet[Replay]:
    found = plans().select_related("source", "group")
    if query.show:
        found = found.filter(phase__in=SHOWS[query.show][0])
    if query.source:
        found = found.filter(source__name=query.source)
    if query.mine:
        found = found.filter(Q(made_by=query.me) | Q(started_by=query.me) | Q(approved_by=query.me))
    return found


def _lines(rows: Sequence[Replay], now_ms: int) -> Sequence[Line]:
    return [Line(Seen(replay, now_ms)) for replay in rows]


def _end(rows: Sequence[Replay], at: int) -> str:
    return str(rows[at].pk) if rows else ""


def _cursor(params: QueryDict, name: str) -> int | None:
    text = params.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise BadInput(gettext("This link into the list cannot be read."))
    return int(text)
