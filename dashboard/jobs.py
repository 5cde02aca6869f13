"""A job made ready for its page: bodies laid out, secrets masked, and what happened said in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dashboard import words
from queues import payload, stack
from queues.options import in_words
from queues.payload import Shown
from queues.quantities import UNKNOWN, duration, number, size
from queues.text import text
from queues.timeline import Timeline, timeline
from queues.types import Job, Relative, State, Text

CHILDREN = (
    ("pending", gettext_lazy("Waits for")),
    ("processed", gettext_lazy("Children done")),
    ("ignored", gettext_lazy("Failures ignored")),
    ("failed", gettext_lazy("Children failed")),
)


@dataclass(frozen=True, slots=True)
class StackView:
    """One stored stack trace. `same` is true when it equals the one above it."""

    attempt: int
    lines: Sequence[tuple[str, str]]
    size: int
    cut: bool
    same: bool


class JobView:
    """What the templates of a job's page ask for; each part is made once, when it is asked for."""

    def __init__(self, job: Job, now_ms: float) -> None:
        self.job = job
        self.row = job.row
        self.now_ms = now_ms

    @cached_property
    def name(self) -> str:
        return words.shown(self.row.name, 500) if self.row.name else _("(no name)")

    @cached_property
    def state(self) -> State | None:
        return self.job.states[0] if self.job.states else None

    @cached_property
    def headline(self) -> str:
        """The state in a few words, with the attempts where they tell something."""
        made, most = self.row.attempts_made, self.row.attempts_max
        if self.row.missing:
            return _("Removed: its id stands in a list, its data is gone")
        if self.state is None:
            return _("In no list: no worker will take it")
        if self.state is State.FAILED and made is not None:
            most = most or 1
            text = ngettext("Failed after %(n)s of %(max)s attempt", "Failed after %(n)s of %(max)s attempts", most)
            return text % {"n": number(made), "max": number(most)}
        if self.state is State.ACTIVE and self.row.attempts_started:
            return _("Active, attempt %(n)s") % {"n": number(self.row.attempts_started)}
        if self.state is State.DELAYED and self.row.kind:
            return _("Delayed, %(why)s") % {"why": words.DELAY_WORDS[self.row.kind]}
        return str(words.STATE_WORDS[self.state])

    @property
    def ended_ms(self) -> int | None:
        return self.row.finished_ms if self.state in (State.FAILED, State.COMPLETED) else None

    @property
    def age_ms(self) -> float:
        return max(0.0, self.now_ms - (self.ended_ms or self.now_ms))

    @cached_property
    def summary(self) -> str:
        """A sentence that explains what the state alone does not."""
        if self.state is State.FAILED and self.job.ended_by_stall:
            return _("Its worker died or hung too often; that ends a job whatever attempts it has left.")
        if self.state is State.ACTIVE and self.job.lock_ttl_ms is None:
            return _("No worker holds its lock: it will be found stalled and run again.")
        return ""

    @cached_property
    def notes(self) -> list[str]:
        notes = []
        if self.job.state_inferred:
            notes.append(_("Its list is too long to look through: the state is judged from what else is known of it."))
        if len(self.job.states) > 1:
            states = ", ".join(str(words.STATE_WORDS[state]) for state in self.job.states)
            notes.append(_("It stands in several lists at once: %(states)s.") % {"states": states})
        if self.row.damaged:
            fields = ", ".join(self.row.damaged)
            notes.append(_("Fields that are not what BullMQ writes: %(fields)s.") % {"fields": fields})
        return notes

    @cached_property
    def timeline(self) -> Timeline:
        return timeline(self.job, self.now_ms)

    @cached_property
    def data(self) -> Shown | None:
        return payload.show(self.job.data) if self.job.data else None

    @cached_property
    def returnvalue(self) -> Shown | None:
        return payload.show(self.job.returnvalue) if self.job.returnvalue else None

    @cached_property
    def progress_body(self) -> Shown | None:
        """The progress in full, where a line does not hold it."""
        value = self.job.progress
        return payload.show(value) if value and value.raw.lstrip()[:1] in (b"{", b"[") else None

    @cached_property
    def reason(self) -> Text | None:
        return payload.plain_text(self.job.reason) if self.job.reason and self.job.reason.raw else None

    @cached_property
    def stacks(self) -> list[StackView]:
        views: list[StackView] = []
        above = b""
        for index, body in enumerate(self.job.stacks):
            shown = stack.show(body)
            lines = [(line.kind, line.text) for line in shown.lines]
            attempt = self.job.stack_count - index
            views.append(StackView(attempt, lines, body.size, shown.cut, bool(index) and body.raw == above))
            above = body.raw
        return views

    @cached_property
    def stacks_raw(self) -> Shown | None:
        return payload.show(self.job.stacks_raw) if self.job.stacks_raw else None

    @cached_property
    def options(self) -> Sequence[tuple[str, str]]:
        return in_words(self.job.options)

    @cached_property
    def facts(self) -> list[tuple[str, str]]:
        """The small fields that are set, in words."""
        row, job = self.row, self.job
        limit = row.attempts_max or 1
        made = _("%(n)s of %(max)s") % {"n": number(row.attempts_made), "max": number(limit)}
        found = [
            (_("Attempts finished"), made if row.attempts_made is not None else UNKNOWN),
            (_("Attempts started"), number(row.attempts_started)),
            (_("Times stalled"), number(job.stalled_count) if job.stalled_count else ""),
            (_("Worker"), words.shown(row.worker)),
            (_("Lock"), self._lock()),
            (_("Scheduler"), words.shown(text(job.scheduler_id)) if job.scheduler_id else ""),
            (_("Deduplication"), words.shown(text(job.deduplication_id)) if job.deduplication_id else ""),
            (_("Deferred failure"), words.shown(job.deferred_failure)),
            (_("Data"), size(row.size)),
        ]
        return [(label, value) for label, value in found if value]

    def _lock(self) -> str:
        if self.state is not State.ACTIVE:
            return ""
        if self.job.lock_ttl_ms is None:
            return _("none")
        return _("for %(span)s more") % {"span": duration(self.job.lock_ttl_ms)}

    @cached_property
    def children(self) -> list[tuple[str, Sequence[Relative], int]]:
        family = self.job.family
        found = [(str(label), getattr(family, kind), getattr(family, f"{kind}_count")) for kind, label in CHILDREN]
        return [(label, relatives, count) for label, relatives, count in found if count]

    @cached_property
    def fields(self) -> list[tuple[str, Text]]:
        """The raw hash, each value on its own, secrets masked by the field's name and within."""
        return [(words.shown(name), payload.summary(body, 2000, key=name.value)) for name, body in self.job.fields]

    @property
    def hash_size(self) -> int:
        return sum(body.size for _name, body in self.job.fields)
