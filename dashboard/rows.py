"""The rows of the overview: a queue's reading and its verdict, made ready for the table and for pushes.

Everything live in a row is an inert part, made here for the first render and for every push alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from dashboard import cells, words
from dashboard.live.parts import row_key
from queues import listing
from queues.events import EventKind
from queues.facts import Level, Why
from queues.types import QueueRef, State

SHORT = {State.WAITING_CHILDREN: gettext_lazy("Children")}
# Columns that narrow tables drop: what they say stands in the bar, too.
MINOR = {State.COMPLETED: " mi", State.PRIORITIZED: " mi", State.WAITING_CHILDREN: " mi"}
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
    made = parts(found)
    language = get_language() or ""
    drawn = [made["bar"]]
    names = [name for name in NAMES[3:] if manned or name != "workers"]
    drawn += [made[name] for name in names]
    return Row(found, made, format_html(_cells(language, manned), *drawn))


def parts(found: listing.Row) -> Parts:
    """Every live part of a row by its name, the last of its id. About 50 µs, less where it was drawn before."""
    language = get_language() or ""
    start, rests = _start(found.ref), _now(found, language) | _hour(found, language)
    return {name: start + _OPEN[name] + rests[name] for name in NAMES}


def _now(found: listing.Row, language: str) -> dict[str, SafeString]:
    """What the last reading says."""
    counts, verdict, workers = found.queue.counts, found.verdict, found.queue.workers
    numbers = tuple(counts[state] if counts else None for state in State)
    paused = counts is not None and counts.paused
    aged = any(fact.age_ms is not None and fact.level in MARKS for fact in verdict.facts)
    unmanned = workers == 0 and verdict.why in UNMANNED and verdict.level in (Level.WARN, Level.CRIT)
    made = {
        "mark": _inner(cells.mark(*_mark(found, paused))),
        "note": _inner(_note(found, language)),
        "bar": _inner(cells.bar(numbers, paused, language) if counts else ""),
        "workers": cells.number(workers, "warn b" if unmanned else "", "workers", language),
        "oldest": cells.oldest(counts.oldest if counts else None, "warn b" if aged else "", language),
    }
    for state, number in zip(State, numbers, strict=True):
        made[state.value] = cells.number(number, MUTE.get(state, ""), "count", language)
    return made


def _hour(found: listing.Row, language: str) -> dict[str, SafeString]:
    """What the last 60 whole minutes say: it changes once a minute."""
    history, upto = found.history, found.upto
    if history is None:
        finished = failed = cells.UNKNOWN
    else:
        finished = tuple(history.series(EventKind.COMPLETED, upto))
        failed = tuple(history.series(EventKind.FAILED, upto))
    lost = finished.count(None)
    lose, win = cells.known(failed), cells.known(finished)
    hot = "warn b" if found.verdict.holds(Why.FAILING) else ""
    # The end of the hour belongs to the drawing only where it says a time: else all idle queues share one.
    return {
        "spark": _inner(cells.spark(finished, failed, upto if 0 < lost < len(finished) else 0, language)),
        "rate": cells.rate(finished[-1], language),
        "failing": cells.share(lose, lose + win, len(finished) - lost, hot, language),
    }


def _mark(found: listing.Row, paused: bool) -> tuple[str, str]:
    """The glyph beside the name, and its colour."""
    level = found.verdict.level
    if level in MARKS:
        return MARKS[level]
    if paused:
        return "paused", "s-paused"
    return ("gone", "mute") if found.gone else ("", "")


def _note(found: listing.Row, language: str) -> str:
    """The gravest fact in a few words; the number of failed jobs has its own column."""
    for fact in found.verdict.facts:
        if fact.why is not Why.FAILED:
            return cells.note(fact.why, fact.number, fact.total, language)
    return ""


def label(state: State) -> Promise | str:
    """A state as a column is headed."""
    return SHORT.get(state) or words.STATE_WORDS[state]


_OPEN = {name: format_html('{}" data-part', name) for name in NAMES}


def _inner(content: SafeString | str) -> SafeString:
    """The rest of a part without a class of its own."""
    return format_html(">{}</span>", content)


@lru_cache(maxsize=20_000)
def _start(ref: QueueRef) -> SafeString:
    return format_html('<span id="{}-', row_key(ref))


@lru_cache(maxsize=32)
def _cells(language: str, manned: bool) -> str:
    """The cells of a row with a place for each part. Escaped once, and not for each row."""
    labels = {state.value: str(label(state)) for state in State}
    labels |= {"workers": _("Workers"), "oldest": _("Oldest waiting")}
    labels |= {"rate": _("Finished"), "failing": _("Failing, 1 h")}
    made = ['<td role="cell" class="bar full">{}</td>']
    for name in NAMES[3:]:
        if name == "spark":
            made.append('<td role="cell" class="sp full">{}</td>')
        elif manned or name != "workers":
            css, data = (MINOR.get(State(name), ""), f' data-state="{name}"') if name in set(State) else ("", "")
            opened = format_html('<td role="cell" class="r q{}" data-l="{}"', css, labels[name])
            made.append(str(opened).replace("{", "{{").replace("}", "}}") + data + ">{}</td>")
    return "".join(made)
