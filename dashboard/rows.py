"""The rows of the overview: a queue's reading and its verdict, made ready for the table and for pushes.

Everything live in a row is an inert part, made here for the first render and for every push alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from dashboard import cells, words
from dashboard.live.parts import row_key
from queues import attention, listing
from queues.events import EventKind
from queues.facts import Level, Why
from queues.failures.tops import Top
from queues.types import Counts, QueueRef, State

SHORT = {State.WAITING_CHILDREN: gettext_lazy("Children")}
# Columns that narrower tables drop, the last ones first: what they say stands in the bar, too.
MINOR = dict.fromkeys((State.COMPLETED, State.PRIORITIZED, State.WAITING_CHILDREN), " mi")
MINOR |= dict.fromkeys((State.ACTIVE, State.DELAYED), " mid")
MUTE = {State.COMPLETED: "mute"}
MARKS = {Level.CRIT: ("crit", "bad"), Level.WARN: ("warn", "warn"), Level.UNKNOWN: ("unknown", "s-unknown")}
UNMANNED = (Why.NO_WORKER, Why.STRANDED)
NAMES = ("mark", "note", "bar", *(state.value for state in State), "workers", "oldest", "spark", "rate", "failing")

Parts = Mapping[str, SafeString]


@dataclass(slots=True)
class Row:
    """A queue in the table: the cells beside its name, and what its name needs."""

    row: listing.Row
    parts: Parts
    cells: SafeString
    heading: str = ""  # the group that begins with this row
    members: int = 0
    top: Top | None = None  # the group of most of its newest letters

    @property
    def key(self) -> str:
        return f"{self.row.ref.source}/{self.row.ref.slug}"

    @property
    def id(self) -> str:
        return row_key(self.row.ref)

    @property
    def url(self) -> str:
        return reverse("queue", args=[self.row.ref.source, self.row.ref.slug])

    @property
    def label(self) -> str:
        return self.row.ref.label

    @property
    def source(self) -> str:
        return self.row.ref.source

    @property
    def pinned(self) -> bool:
        return self.row.queue.pinned

    @property
    def gone(self) -> bool:
        return self.row.gone

    @property
    def level(self) -> str:
        return str(self.row.verdict.level)


def row(found: listing.Row, *, manned: bool = True) -> Row:
    """A row; without `manned` there is no column of workers."""
    language = get_language() or ""
    made = parts(found, language)
    drawn: list[SafeString | str] = [made["bar"]]
    for name in NAMES[3:]:
        if manned or name != "workers":
            drawn += [_groups(found.ref), made[name]] if name == State.FAILED else [made[name]]
    return Row(found, made, format_html(_cells(language, manned), *drawn))


def parts(found: listing.Row, language: str, before: listing.Row | None = None) -> Parts:
    """The live parts of a row by their names, the last of their ids; `language` is the active one. 50 to 100 µs.

    With `before`, the row as it was drawn last, parts that cannot have changed are left out.
    """
    rests = _now(found, language, before)
    if before is None or not _same_hour(found, before):
        rests |= _hour(found, language)
    opened = _opened(found.ref)
    return {name: opened[name] + rest for name, rest in rests.items()}


def _now(found: listing.Row, language: str, before: listing.Row | None) -> dict[str, SafeString]:
    """What the last reading says."""
    counts, verdict, workers = found.queue.counts, found.verdict, found.queue.workers
    numbers, paused = _numbers(counts), counts is not None and counts.paused
    aged = any(fact.age_ms is not None and fact.level in MARKS for fact in verdict.facts)
    unmanned = workers == 0 and verdict.why in UNMANNED and verdict.level in attention.URGENT
    made = {
        "mark": cells.mark(*_mark(found, paused)),
        "note": _note(found, language),
        "workers": cells.number(workers, "warn b" if unmanned else "", "workers", language),
        "oldest": cells.oldest(counts.oldest if counts else None, "warn b" if aged else "", language),
    }
    old = before.queue.counts if before else None
    drawn = _numbers(old)
    if old is None or counts is None or drawn != numbers or old.paused != paused:
        made["bar"] = cells.bar(numbers, paused) if counts else cells.no_bar()
    for state, number, was in zip(State, numbers, drawn, strict=True):
        if number != was or old is None:
            made[state.value] = cells.number(number, MUTE.get(state, ""), "count", language)
    return made


def _numbers(counts: Counts | None) -> tuple[int | None, ...]:
    held: Mapping[State, int] = counts.by_state if counts else {}
    return tuple(map(held.get, State))


def _same_hour(found: listing.Row, before: listing.Row) -> bool:
    """Whether the whole minutes of a row say what they said. The minute that runs is not among them."""
    now, old = found.history, before.history
    if now is None or old is None:
        return now is old
    if found.upto != before.upto or found.verdict.holds(Why.FAILING) is not before.verdict.holds(Why.FAILING):
        return False
    return now is old or (
        (now.known_from, now.lost) == (old.known_from, old.lost)
        and all(old.counts.get(minute) == row for minute, row in now.counts.items() if minute <= found.upto)
    )


def _hour(found: listing.Row, language: str) -> dict[str, SafeString]:
    """What the last 60 whole minutes say: it changes once a minute."""
    history, upto = found.history, found.upto
    finished = failed = cells.UNKNOWN
    if history is not None:
        finished = tuple(history.series(EventKind.COMPLETED, upto))
        failed = tuple(history.series(EventKind.FAILED, upto))
    hot = "warn b" if found.verdict.holds(Why.FAILING) else ""
    lost = None in finished and finished != cells.UNKNOWN
    drawn = cells.hour(finished, failed, upto if lost else 0, hot, language)
    return dict(zip(("spark", "rate", "failing"), drawn, strict=True))


def _mark(found: listing.Row, paused: bool) -> tuple[str, str]:
    """The glyph beside the name, and its colour."""
    level = found.verdict.level
    if level in MARKS:
        return MARKS[level]
    if paused:
        return "paused", "s-paused"
    return ("gone", "mute") if found.gone else ("", "")


def _note(found: listing.Row, language: str) -> SafeString:
    """The gravest fact in a few words; the number of failed jobs has its own column."""
    for fact in found.verdict.facts:
        if fact.why is not Why.FAILED:
            return cells.note(fact.why, fact.number, fact.total, language)
    return cells.note(None, 0, 0, language)


def label(state: State) -> Promise | str:
    """A state as a column is headed."""
    return SHORT.get(state) or words.STATE_WORDS[state]


@lru_cache(maxsize=5_000)
def _opened(ref: QueueRef) -> Mapping[str, SafeString]:
    """The beginning of each part of a row; it is closed by what the part says."""
    return {name: format_html('<span id="{}-{}" data-part', row_key(ref), name) for name in NAMES}


@lru_cache(maxsize=5_000)
def _groups(ref: QueueRef) -> str:
    """Where the groups of what failed in a queue are listed."""
    return reverse("failures") + "?" + urlencode({"source": ref.source, "queue": ref.slug})


@lru_cache(maxsize=32)
def _cells(language: str, manned: bool) -> str:
    """The cells of a row with a place for each part, that of failed jobs in a link to their groups.

    Escaped once, and not for each row.
    """
    labels = {state.value: str(label(state)) for state in State}
    labels |= {"workers": _("Workers"), "oldest": _("Oldest waiting")}
    labels |= {"rate": _("Finished"), "failing": _("Failing, 1 h")}
    made = ['<td role="cell" class="bar full">{}</td>']
    for name in NAMES[3:]:
        if name == "spark":
            made.append('<td role="cell" class="sp">{}</td>')
        elif manned or name != "workers":
            css, data = (MINOR.get(State(name), ""), f' data-state="{name}"') if name in set(State) else ("", "")
            opened = format_html('<td role="cell" class="r q{}" data-l="{}"', css, labels[name])
            place = '<a href="{}">{}</a>' if name == State.FAILED else "{}"
            made.append(str(opened).replace("{", "{{").replace("}", "}}") + data + f">{place}</td>")
    return "".join(made)
