"""Draws one job for its page: its state, timeline and progress, what happens to it, and the end of its log."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from dashboard.jobs import JobView, fitted_logs
from dashboard.live.job_feed import SHOWN, entries_of, happened
from dashboard.live.job_log import Grown, LogTail
from dashboard.live.update import Update
from queues import masking, notables, outages
from queues.backend import Backend, Events
from queues.errors import NotFound
from queues.events import Event, EventKind
from queues.live import JobNews, News
from queues.quantities import now_ms
from queues.types import Capability, Job, JobRef, LogPage, State

WHOLE_EVERY_S = 0.45  # at most: a batch comes twice a second, give or take
LOOK_EVERY_S = 0.9  # while it runs or may run at any moment
IDLE_EVERY_S = 4.5
RESTLESS = frozenset({State.ACTIVE, State.WAITING, State.PRIORITIZED})
SEEN = 100  # events that are kept for the timeline
UNFED = 500  # and for the feed, until there is a reading that explains them
LOG_ROOM = 32 * 1024  # bytes of the lines of one update: with their markup they shall fit into a frame

# The parts that one reading of the job fills.
PARTS: Mapping[str, str] = {
    "job-state": "jobs/state.html",
    "job-notes": "jobs/notes.html",
    "job-timeline": "jobs/timeline.html",
    "job-progress": "jobs/progress.html",
    "job-facts": "jobs/facts.html",
    "job-times": "jobs/times.html",
    "job-changed": "jobs/version.html",
}


@dataclass(frozen=True, slots=True)
class Removed:
    """How a job went while it was watched. `as_of_ms` is when it was last read; `ended` its last state, if it ended."""

    at_ms: int
    as_of_ms: int | None
    ended: str = ""


class JobPage:
    """The `Drawer` of a job's page. `clock` is monotonic, in seconds.

    Reads the whole job when something happened to it, at most twice a second; besides that its log and its small
    fields, two commands, each second while it runs or waits and each five seconds else.
    """

    def __init__(self, ref: JobRef, clock: Callable[[], float] = time.monotonic) -> None:
        self.ref = ref
        self._clock = clock
        self._log = LogTail(ref)
        self._job: Job | None = None
        self._read_ms: int | None = None  # when the job was last read whole, by the clock that pages show
        self._stale = True  # something happened that we have not read yet
        self._whole_at = self._looked_at = float("-inf")
        self._glance: tuple[int | None, ...] | None = None
        self._seen: list[Event] = []  # for the timeline, oldest first
        self._unfed: list[Event] = []  # events that no update has brought yet
        self._redraw = False  # the job was read, or is gone, since it was drawn
        self._drawn: dict[str, str] = {}
        self._said = ""
        self._removed: Removed | None = None

    def update(self, news: News) -> Update:
        """What this batch changes. Nothing for news of other kinds, and once the job is gone."""
        if not isinstance(news, JobNews):
            return Update()
        if self._removed:
            return Update()
        self._note(news.events)
        grown = self._read()
        with masking.within(self.ref.queue):
            return self._changes(grown)

    def _note(self, events: Sequence[Event]) -> None:
        self._unfed = [*self._unfed, *entries_of(events)][-UNFED:]
        self._seen = [*self._seen, *entries_of(events)][-SEEN:]
        self._stale = self._stale or bool(events)

    def _read(self) -> Grown:
        """Read what is due. QueueError when it could not: what is unread stays so."""
        now = self._clock()
        whole = self._stale and now - self._whole_at >= WHOLE_EVERY_S
        if not whole and now - self._looked_at < self._patience():
            return Grown()
        with outages.watched(self.ref.queue.source) as reader:
            try:
                if whole or self._differs(reader):
                    self._whole(reader, now)
            except NotFound:
                self._gone()
                return Grown()
            grown = self._log.look(reader) if Capability.LOGS in reader.capabilities else Grown()
        self._looked_at = now
        return grown

    def _patience(self) -> float:
        restless = self._job is not None and RESTLESS.intersection(self._job.states)
        return LOOK_EVERY_S if restless else IDLE_EVERY_S

    def _differs(self, reader: Backend) -> bool:
        """Whether the job's small fields are others than those that were drawn, or it is gone. One command."""
        row = self._job.row if self._job else None
        if row is None or row.missing or Capability.EVENTS not in reader.capabilities:
            return False
        glance = cast(Events, reader).glances([self.ref]).get(self.ref)
        if glance is None:
            return True
        told = (glance.attempts_made, glance.attempts_started, glance.processed_ms, glance.finished_ms)
        drawn = (row.attempts_made, row.attempts_started, row.processed_ms, row.finished_ms)
        before, self._glance = self._glance, told
        return told not in (before, drawn)

    def _whole(self, reader: Backend, now: float) -> None:
        if self._job is None:
            self._seen = [*notables.of_job(self.ref), *self._seen]
        self._job = reader.job(self.ref)
        self._read_ms, self._whole_at, self._stale, self._redraw = now_ms(), now, False, True
        self._remember_start()

    def _remember_start(self) -> None:
        """The hash tells the start of the last attempt only: it is kept for when there is a later one."""
        row = self._job.row if self._job else None
        if row is None or row.processed_ms is None or row.state is not State.ACTIVE:
            return
        if not any(event.kind is EventKind.ACTIVE for event in self._seen):
            start = Event(
                self.ref.queue, f"{row.processed_ms}-0", EventKind.ACTIVE, job=self.ref.id, previous="waiting"
            )
            self._seen = sorted([*self._seen, start], key=lambda event: event.at_ms)

    def _gone(self) -> None:
        last = next((event for event in reversed(self._seen) if event.kind is not EventKind.REMOVED), None)
        removed = next((event for event in reversed(self._seen) if event.kind is EventKind.REMOVED), None)
        ends = {EventKind.COMPLETED: "completed", EventKind.FAILED: "failed", EventKind.RETRIES_EXHAUSTED: "failed"}
        ended = ends.get(last.kind, "") if last else ""
        self._removed = Removed(removed.at_ms if removed else now_ms(), self._read_ms, ended)
        self._redraw = True

    def _changes(self, grown: Grown) -> Update:
        drawn = self._parts()
        fresh = {name: html for name, html in drawn.items() if self._drawn.get(name) != html}
        self._drawn |= fresh
        events, self._unfed = ([], self._unfed) if self._stale and not self._removed else (self._unfed, [])
        return Update(
            parts=fresh,
            feed=happened(events, self._job),
            entries=min(len(events), SHOWN),
            log=_lines(grown),
            say=self._say(),
        )

    def _parts(self) -> Mapping[str, str]:
        return {**(self._about_job() if self._redraw else {}), **self._about_log()}

    def _about_job(self) -> Mapping[str, str]:
        self._redraw = False
        if self._removed:
            return {"job-removed": _part("jobs/removed.html", removed=self._removed)}
        if self._job is None:
            return {}
        view = JobView(self._job, now_ms(), self._seen)
        return {name: _part(template, view=view, job=self._job) for name, template in PARTS.items()}

    def _about_log(self) -> Mapping[str, str]:
        if self._log.total is None:
            return {}
        return {
            "log-total": _part("jobs/log_total.html", total=self._log.total),
            "log-note": _part("jobs/log_note.html", cut_ms=self._log.cut_ms or ""),
        }

    def _say(self) -> str:
        """The state, when it is another."""
        now = _("The job was removed.") if self._removed else JobView(self._job, 0).headline if self._job else ""
        before, self._said = self._said, now
        return now if before and now != before else ""


def _lines(grown: Grown) -> str:
    """The lines as a page shows them, with one in place of those that are left out."""
    if not grown.lines:
        return ""
    page = fitted_logs(LogPage(grown.lines, grown.first, 0), LOG_ROOM)
    html = _part("jobs/log_rows.html", rows=list(enumerate(page.lines, start=page.first)))
    if grown.left_out:
        html = _part("jobs/log_skipped.html", number=grown.first - 1, left_out=grown.left_out) + html
    return html


def _part(template: str, **context: object) -> str:
    return render_to_string(template, context).strip()
