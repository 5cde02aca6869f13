"""A job made ready for its page: bodies laid out, secrets masked, and what happened said in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha1

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dashboard import kin, words
from queues import masking, payload, stack
from queues.events import Event
from queues.options import in_words
from queues.payload import Shown
from queues.quantities import UNKNOWN, number, size
from queues.text import text
from queues.timeline import Timeline, timeline
from queues.types import Body, Job, LogPage, Mark, Relative, State, Text

CHILDREN = (
    ("pending", gettext_lazy("Waits for")),
    ("processed", gettext_lazy("Children done")),
    ("ignored", gettext_lazy("Failures ignored")),
    ("failed", gettext_lazy("Children failed")),
)


# Bytes of a page as it is sent, so that no job makes a page of more than about 600 KB.
BODIES = 320 * 1024  # error, data, return value and progress, in the order in which the page shows them
DATA, BODY, LEAST = 256 * 1024, 64 * 1024, 16 * 1024  # of these at most; and at least, whatever the others take
STACKS = 64 * 1024
HASH = 48 * 1024  # the raw hash
HASH_FIELD = 2000  # characters of a value
FAMILY = 64 * 1024
RELATIVE = 500  # the markup of one
LOGS, LOGS_ALONE = 48 * 1024, 448 * 1024  # log lines on the job's page, and on their own


def fitted_logs(page: LogPage, room: int) -> LogPage:
    """A page of the log with its secrets masked; where it is too long, the longest lines are cut."""
    most = payload.level([payload.weight(line.value) for line in page.lines], room)
    return replace(page, lines=[payload.fitted(line, most) for line in page.lines])


def log_context(page: LogPage) -> dict[str, object]:
    """What the templates of a log ask for. The page that ends with the newest line is the one that can grow."""
    rows = list(enumerate(page.lines, start=page.first))
    masked = any(Mark.MASKED in line.marks for line in page.lines)
    return {"logs": page, "rows": rows, "tail": page.last >= page.total, "lines_masked": masked}


def hidden_in(job: Job, logs: LogPage) -> Mapping[str, int]:
    """How many values are hidden, by the field that holds them: of a text and a line of the log one counts for all.

    Costs as much as showing the job.
    """
    bodies = {"data": job.data, "returnvalue": job.returnvalue, "progress": job.progress, "failedReason": job.reason}
    found = {name: payload.show(body).hidden for name, body in bodies.items() if body}
    found["stacktrace"] = sum(Mark.MASKED in stack.show(body).marks for body in job.stacks)
    found["logs"] = sum(Mark.MASKED in masking.hidden_here(line).marks for line in logs.lines)
    for name, body in job.fields:
        if name.value not in found:
            found[name.value] = int(Mark.MASKED in payload.summary(body, HASH_FIELD, key=name.value).marks)
    return {name: count for name, count in found.items() if count}


def version(job: Job) -> str:
    """Stands for what a page shows of a job's bodies: when it differs, a page that was read before is out of date."""
    bodies = (job.data, job.returnvalue, job.reason, *job.stacks[:1], job.stacks_raw)
    told = [str(job.row.finished_ms), str(job.stack_count), *(str(body.size if body else None) for body in bodies)]
    digest = sha1("/".join(told).encode(), usedforsecurity=False)
    for body in bodies:
        digest.update(body.raw if body else b"")
    return digest.hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class StackView:
    """One stored stack trace. `same` is true when it equals the one above it."""

    attempt: int
    lines: Sequence[tuple[str, str]]
    size: int
    cut: bool
    same: bool
    masked: bool


class JobView:
    """What the templates of a job's page ask for; each part is made once, when it is asked for.

    `seen` are events of the job that were seen while it was watched, or kept, oldest first.
    """

    def __init__(self, job: Job, now_ms: float, seen: Sequence[Event] = ()) -> None:
        self.job = job
        self._seen = seen
        self._bodies = BODIES
        self._family = FAMILY
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
            if made > most:  # each retry by hand is one more, whatever was allowed
                return _("Failed after %(n)s attempts") % {"n": number(made)}
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

    @cached_property
    def summary(self) -> str:
        """A sentence that explains what the state alone does not."""
        made, most = self.row.attempts_made, self.row.attempts_max or 1
        if self.state is State.FAILED and self.job.ended_by_stall:
            return _("Its worker died or hung too often; that ends a job whatever attempts it has left.")
        if self.state is State.FAILED and made is not None and made > most:
            text = _("Its options allow %(max)s; each retry or replay added to them.")
            return text % {"max": number(most)}
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
        if in_vain := kin.waits_in_vain(self.job):
            notes.append(in_vain)
        return notes

    @cached_property
    def parent_left(self) -> kin.ParentLeft | None:
        return kin.parent_left(self.job)

    @cached_property
    def version(self) -> str:
        return version(self.job)

    @cached_property
    def timeline(self) -> Timeline:
        return timeline(self.job, self.now_ms, self._seen)

    def _shown(self, body: Body | None, most: int = BODY) -> Shown | None:
        """A body within the room that is left for bodies."""
        if body is None:
            return None
        shown = payload.show(body, limit=max(LEAST, min(most, self._bodies)))
        self._bodies -= payload.sent(shown.tokens)
        return shown

    @cached_property
    def data(self) -> Shown | None:
        return self._shown(self.job.data, DATA)

    @cached_property
    def returnvalue(self) -> Shown | None:
        return self._shown(self.job.returnvalue)

    @cached_property
    def progress_body(self) -> Shown | None:
        """The progress in full, where a line does not hold it."""
        value = self.job.progress
        return self._shown(value) if value and value.raw.lstrip()[:1] in (b"{", b"[") else None

    @cached_property
    def reason(self) -> Text | None:
        if not self.job.reason or not self.job.reason.raw:
            return None
        shown = payload.plain_text(self.job.reason, limit=BODY)
        self._bodies -= payload.weight(shown.value)
        return shown

    @cached_property
    def stacks(self) -> list[StackView]:
        views: list[StackView] = []
        above, left = b"", STACKS
        for index, body in enumerate(self.job.stacks):
            last = index + 1 == len(self.job.stacks)
            shown = stack.show(body, limit=left if last else left // 2)  # older ones shall find some room too
            left -= sum(stack.LINE_MARKUP + payload.weight(line.text) for line in shown.lines)
            lines = [(line.kind, line.text) for line in shown.lines]
            attempt = self.job.stack_count - index
            same, masked = bool(index) and body.raw == above, Mark.MASKED in shown.marks
            views.append(StackView(attempt, lines, body.size, shown.cut, same, masked))
            above = body.raw
        return views

    @cached_property
    def error_masked(self) -> bool:
        """Whether a secret is hidden in the reason or a stack."""
        raw = self.stacks_raw
        reason = self.reason is not None and Mark.MASKED in self.reason.marks
        return reason or any(view.masked for view in self.stacks) or bool(raw and raw.hidden)

    @cached_property
    def stacks_raw(self) -> Shown | None:
        return self._shown(self.job.stacks_raw)

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
        return _("none") if self.job.lock_ttl_ms is None else _("held")

    @cached_property
    def children(self) -> list[tuple[str, Sequence[Relative], int]]:
        family = self.job.family
        found = [(str(label), getattr(family, kind), getattr(family, f"{kind}_count")) for kind, label in CHILDREN]
        return [(label, self._fitting(relatives), count) for label, relatives, count in found if count]

    def _fitting(self, relatives: Sequence[Relative]) -> Sequence[Relative]:
        """The first ones, as far as there is room."""
        shown = []
        for relative in relatives:
            address = len(relative.ref.slug) + len(relative.ref.queue.slug) if relative.ref else 0
            texts = relative.key[:120] + (words.shown(relative.outcome, 120) if relative.outcome else "")
            self._family -= RELATIVE + address + payload.weight(texts)
            if self._family < 0:
                break
            shown.append(relative)
        return shown

    @cached_property
    def fields(self) -> list[tuple[str, Text]]:
        """The raw hash, each value on its own, secrets masked by the field's name and within."""
        names = [payload.fit(words.shown(name, 120), 240) for name, _body in self.job.fields]
        values = [payload.summary(body, HASH_FIELD, key=name.value) for name, body in self.job.fields]
        most = payload.level([payload.weight(value.value) for value in values], HASH - payload.weight("".join(names)))
        return [(name, payload.cut(value, most)) for name, value in zip(names, values, strict=True)]

    @cached_property
    def hash_masked(self) -> bool:
        return any(Mark.MASKED in value.marks for _name, value in self.fields)

    @property
    def hash_size(self) -> int:
        return sum(body.size for _name, body in self.job.fields)
