"""The rows of the overview: a queue's reading and its verdict, made ready for the table."""

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

from dashboard import words
from dashboard.charts import bar
from queues import quantities
from queues.attention import Verdict
from queues.facts import Level, Why
from queues.readings import QueueReading
from queues.types import State

# Completed jobs are a record, not work: they would drown everything else in a bar.
IN_BAR = (State.WAITING, State.PRIORITIZED, State.ACTIVE, State.DELAYED, State.WAITING_CHILDREN, State.FAILED)
SHORT = {State.WAITING_CHILDREN: gettext_lazy("Children")}
MINOR = {State.COMPLETED: " mute lo"}  # columns that narrow screens drop
MARKS = {Level.CRIT: ("crit", "bad"), Level.WARN: ("warn", "warn"), Level.UNKNOWN: ("unknown", "s-unknown")}


@dataclass(slots=True)
class Row:
    """A queue in the table."""

    reading: QueueReading
    verdict: Verdict
    bar: SafeString | str
    cells: SafeString
    heading: str = ""  # the group that begins with this row
    members: int = 0

    @property
    def key(self) -> str:
        return f"{self.reading.ref.source}/{self.reading.ref.slug}"

    @property
    def url(self) -> str:
        return reverse("queue", args=[self.reading.ref.source, self.reading.ref.slug])

    @property
    def label(self) -> str:
        return self.reading.ref.label

    @property
    def source(self) -> str:
        return self.reading.ref.source

    @property
    def pinned(self) -> bool:
        return self.reading.pinned

    @property
    def gone(self) -> bool:
        return self.reading.gone_since is not None

    @property
    def level(self) -> str:
        return str(self.verdict.level)

    @property
    def mark(self) -> str:
        if self.reading.counts and self.reading.counts.paused and self.verdict.level not in MARKS:
            return "paused"
        return "gone" if self.gone else MARKS.get(self.verdict.level, ("", ""))[0]

    @property
    def mark_css(self) -> str:
        return MARKS.get(self.verdict.level, ("", "s-paused" if self.mark == "paused" else "mute"))[1]

    @property
    def note(self) -> str:
        """The gravest fact in a few words; the number of failed jobs has its own column."""
        return next((fact.title for fact in self.verdict.facts if fact.why is not Why.FAILED), "")

    @property
    def workers(self) -> str:
        return "" if self.reading.workers is None else str(self.reading.workers)

    @property
    def workers_text(self) -> str:
        return quantities.number(self.reading.workers)

    @property
    def workers_css(self) -> str:
        short = self.reading.workers == 0 and self.verdict.level in (Level.WARN, Level.CRIT)
        return (
            " warn b" if short and str(self.verdict.why) in ("no-worker", "stranded") else _zero(self.reading.workers)
        )

    @property
    def oldest(self) -> str:
        oldest = self.reading.counts.oldest if self.reading.counts else None
        if oldest is None or self.reading.read_at is None:
            return quantities.UNKNOWN
        age = quantities.duration(max(0.0, self.reading.read_at.timestamp() * 1000 - oldest.created_ms), whole=True)
        return _("≥ %(age)s") % {"age": age} if oldest.at_least else age

    @property
    def oldest_css(self) -> str:
        if self.oldest == quantities.UNKNOWN:
            return " z"
        return " warn b" if any(fact.age_ms is not None and fact.level in MARKS for fact in self.verdict.facts) else ""


def row(reading: QueueReading, verdict: Verdict, scale: int) -> Row:
    """A row; `scale` is the largest number of jobs of any row, so that bars compare."""
    counts = reading.counts
    numbers = {state: counts[state] if counts else None for state in State}
    parts = [(_bar_name(state, reading), number or 0) for state, number in numbers.items() if state in IN_BAR]
    said, heads = _state_words(get_language() or "")
    told = ", ".join(f"{quantities.number(number)} {said[state]}" for state, number in numbers.items() if number)
    drawn = bar(parts, told or _("no jobs"), scale) if counts else ""
    cells = [_cell(state, number, heads[state]) for state, number in numbers.items()]
    return Row(reading, verdict, drawn, format_html("{}" * len(cells), *cells))


def label(state: State) -> Promise | str:
    """A state as a column is headed."""
    return SHORT.get(state) or words.STATE_WORDS[state]


@lru_cache(maxsize=32)
def _state_words(language: str) -> tuple[Mapping[State, str], Mapping[State, str]]:
    """States in the running text and in the heads of the columns, translated once and not for each row."""
    return {state: str(words.STATE_WORDS[state]) for state in State}, {state: str(label(state)) for state in State}


def size(reading: QueueReading) -> int:
    """The jobs that a row's bar stands for."""
    return sum(number for state, number in reading.counts.by_state.items() if state in IN_BAR) if reading.counts else 0


def _bar_name(state: State, reading: QueueReading) -> str:
    paused = reading.counts is not None and reading.counts.paused
    return "paused" if paused and state in (State.WAITING, State.PRIORITIZED) else str(state)


@lru_cache(maxsize=10_000)
def _cell(state: State, number: int | None, label: str) -> SafeString:
    """A number in the table; for scripts the exact one, nothing when unknown.

    Not in the template and kept, because a page has seven hundred of them, most of which are alike.
    """
    return format_html(
        '<td role="cell" class="r q{}{}" data-l="{}" data-state="{}" data-count="{}">{}</td>',
        _zero(number),
        MINOR.get(state, ""),
        label,
        state,
        "" if number is None else number,
        quantities.number(number),
    )


def _zero(number: int | None) -> str:
    return "" if number else " z"
