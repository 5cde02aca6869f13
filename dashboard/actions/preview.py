"""What cleaning would remove, before it does: how many, and some of them. Bounded reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.actions.ask import named, say
from dashboard.actions.forms.sweeps import CLOCK_WORDS
from dashboard.templatetags.mirante import moment
from dashboard.words import STATE_WORDS, shown
from queues import outages
from queues.actions import Clock
from queues.quantities import duration, now_ms, number
from queues.types import Delay, JobRow, Order, QueueRef, State

LOOKED_AT, PAGE, SAMPLES = 1_000, 200, 8


@dataclass(frozen=True, slots=True)
class Preview:
    """`count` is None where nobody counted; then `found` of the `looked` oldest jobs match. `total` is of the state."""

    state: State
    clock: Clock
    older_ms: int
    total: int
    count: int | None
    looked: int
    found: int
    kept: int
    samples: Sequence[JobRow]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to remove, as far as that is known."""
        return self.count == 0 or (self.count is None and not self.found and self.looked >= self.total)

    @property
    def sentence(self) -> str:
        """How many jobs, of which state, by which clock."""
        parts = {
            "n": number(self.found if self.count is None else self.count),
            "looked": number(self.looked),
            "total": number(self.total),
            "state": str(STATE_WORDS[self.state]).lower(),
            "clock": str(CLOCK_WORDS[self.clock]),
            "age": duration(self.older_ms),
        }
        if self.empty and not self.kept:
            told = _("None of {total} jobs ({state}) is older than {age} {clock}.")
        elif self.count is not None or self.looked >= self.total:
            told = ngettext(
                "{n} of {total} jobs ({state}) is older than {age} {clock}.",
                "{n} of {total} jobs ({state}) are older than {age} {clock}.",
                self.found if self.count is None else self.count,
            )
        else:
            told = _(
                "{n} of the {looked} jobs that were looked at are older than {age} {clock}. "
                "There are {total} ({state}), and all are looked at when it runs."
            )
        return say(told, **parts)

    @property
    def kept_sentence(self) -> str:
        """How many next runs of schedules stay, as far as they were looked at."""
        if not self.kept:
            return ""
        told = ngettext(
            "{n} next run of a schedule is among them and stays.",
            "{n} next runs of schedules are among them and stay.",
            self.kept,
        )
        return say(told, n=number(self.kept))

    @property
    def lines(self) -> Sequence[str]:
        """Some of them: id, name, and since when by the clock."""
        return [self._line(row) for row in self.samples]

    def _line(self, row: JobRow) -> str:
        when = moment(stands(row, self.clock))
        return say("{job} · {name} · {when}", job=named(row.ref.label), name=named(shown(row.name, 60)), when=when)


def preview(queue: QueueRef, state: State, clock: Clock, older_ms: int) -> Preview:
    """At most 1,000 of the oldest jobs are looked at. Unreachable."""
    before = now_ms() - older_ms
    rows: list[JobRow] = []
    with outages.watched(queue.source) as reader:
        count = reader.older(queue, state, clock, before)
        cursor, total = "", 0
        while len(rows) < LOOKED_AT:
            page = reader.jobs(queue, [state], size=PAGE, order=Order.OLDEST, cursor=cursor)
            rows, cursor, total = [*rows, *page.rows], page.next, page.total
            if not cursor:
                break
    old = [row for row in rows if (at := stands(row, clock)) is not None and at < before]
    kept = sum(row.kind is Delay.SCHEDULE for row in old)
    samples = [row for row in old if row.kind is not Delay.SCHEDULE]
    counted = None if count is None else max(0, count - kept)
    return Preview(state, clock, older_ms, total, counted, len(rows), len(samples), kept, samples[:SAMPLES])


def stands(row: JobRow, clock: Clock) -> int | None:
    """Where a clock of a job stands, in ms since 1970."""
    if clock is Clock.FINISHED:
        return row.finished_ms
    return row.run_at_ms if clock is Clock.DUE else row.timestamp_ms
