"""Sending what is ready, a batch at a time, and writing down what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from functools import partial

from queues.actions import BATCH
from queues.models import ReplayJob
from queues.replay.run import facts
from queues.replay.run.calls import Answer, Came, Retry
from queues.replay.run.copying import copy
from queues.replay.run.recording import record, remove_due
from queues.replay.run.rows import Cursor, Part, next_rows, parts
from queues.replay.run.run import Run
from queues.replay.types import Acts
from queues.replay.watching import begin
from queues.types import QueueRef

COPYING_S = 2.0  # then what was copied is written down, and others may say that enough is enough


@dataclass(frozen=True, slots=True)
class _Flight:
    """A batch that the server works on meanwhile."""

    rows: Sequence[ReplayJob]
    answer: Answer
    ends: Future[None]


@dataclass
class Sending:
    """Sends rows in their order. What is sent and not written down is asked for again by whoever goes on.

    `note` is told what came of rows before that is written down.
    """

    run: Run
    note: Callable[[Sequence[Came]], None] = lambda _came: None
    _flight: _Flight | None = None
    _pending: list[Came] = field(default_factory=list)
    _cursor: Cursor | None = None  # the last row that was sent, while the database calls it ready
    _begun: set[QueueRef] = field(default_factory=set)
    _drops: dict[QueueRef, list[str]] = field(default_factory=dict)

    def next(self, most: int, *, canary: bool) -> list[ReplayJob]:
        """The next rows to send, at most so many. Raises what the backend raises."""
        rows = next_rows(self.run, min(most, BATCH), canary=canary, after=self._cursor)
        if not rows and self._cursor is not None:
            self.rest()
            rows = next_rows(self.run, min(most, BATCH), canary=canary)
        return rows

    def send(self, rows: Sequence[ReplayJob], *, ahead: bool = False) -> None:
        """Send rows, and write down what came of them: of copies, which are read first, as many as some seconds are
        enough for. With `ahead` what is sent in place is still under way when this returns: the next ones are read and
        prepared meanwhile, and those before are written down. None are sent where nothing came of some before them:
        those are the next ones then.

        Raises what the backend raises, with what is known by then written down.
        """
        self.run.alive()
        groups = parts(self.run, rows)
        begin_at = [part.queue for part in groups if part.queue not in self._begun]
        if begin_at:
            if not self.rest():
                return
            begin(self.run, list(dict.fromkeys(begin_at)))
            self._begun.update(begin_at)
        if ahead and all(part.acts is Acts.RETRY for part in groups):
            self._fly(rows, groups)
        elif self.rest():
            answer = Answer()
            try:
                self._through(groups, answer)
            finally:
                self._came(answer)
            self.rest()
        if self.run.facts.get(facts.ORIGINALS):
            self.rest()
            remove_due(self.run)

    def found(self, came: Sequence[Came]) -> None:
        """Write down what a lost worker had sent."""
        self._pending += came
        self.rest()

    def rest(self) -> bool:
        """Write down what was sent; gives whether the rows behind it are still the next ones.

        Waits for what is under way, and raises what that has met, once it is written.
        """
        try:
            return self._land()
        finally:
            self._write()
            self._cursor = None

    def close(self) -> None:
        """Remove what was copied, and forget the receipts of what is written down; those that a loss leaves expire.

        Raises what the backend raises.
        """
        remove_due(self.run)
        drops, self._drops = self._drops, {}
        for queue, names in drops.items():
            for first in range(0, len(names), BATCH):
                self.run.actions.drop_receipts(queue, names[first : first + BATCH])

    def _fly(self, rows: Sequence[ReplayJob], groups: Sequence[Part]) -> None:
        """Send once the batch before has come to its end, which is then written down while the server works."""
        calls = [Retry.of(self.run, part, self._dropped(part)) for part in groups]
        if not self._land():
            self.rest()
            return
        answer = Answer()
        self._flight = _Flight(rows, answer, self.run.meanwhile(partial(_call, self.run, calls, answer)))
        self._cursor = rows[-1].rank, rows[-1].pk
        self._write()

    def _land(self) -> bool:
        """Wait for what is under way. False where others go before the rows behind it, though nothing went wrong.

        Those are rows that nothing came of, and such as waited for one that was refused: what is under way must be
        among the first that are ready, where a loss would have it looked for.
        """
        flight, self._flight = self._flight, None
        if flight is None:
            return True
        wait([flight.ends])
        self._came(flight.answer)
        flight.ends.result()
        came = flight.answer.came
        lets_go = bool(self.run.terms.key) and not all(each.sent for each in came)
        return len(came) == len(flight.rows) and not lets_go

    def _came(self, answer: Answer) -> None:
        """Told and kept, to be written with what comes next; after an error at once, which is raised."""
        self._pending += answer.came
        self.note(answer.came)
        if answer.unsure:
            self.run.facts |= {facts.UNSETTLED: True, facts.LATE_MS: self.run.until_ms}
        if answer.error is not None:
            self._write()
            raise answer.error

    def _write(self) -> None:
        came, self._pending = self._pending, []
        record(self.run, came)
        for each in came:
            # One that was sent in place is told from a later stay by its score; of a copy nothing else tells.
            if each.sent and each.row.acts == Acts.RETRY:
                self._drops.setdefault(self.run.ref(each.row.queue_id), []).append(each.receipt)

    def _through(self, groups: Sequence[Part], answer: Answer) -> None:
        until, asked = time.monotonic() + COPYING_S, 0
        for part in groups:
            if part.acts is Acts.COPY:
                copy(self.run, part, answer, self._dropped(part), until=until)
            else:
                Retry.of(self.run, part, self._dropped(part)).call(self.run, answer)
            asked += len(part.rows)
            if answer.error is not None or len(answer.came) < asked or time.monotonic() >= until:
                return

    def _dropped(self, part: Part) -> Sequence[str]:
        """The receipts that the next call to a queue drops."""
        names = self._drops.get(part.queue, [])
        self._drops[part.queue] = names[BATCH:]
        return names[:BATCH]


def _call(run: Run, calls: Sequence[Retry], answer: Answer) -> None:
    for each in calls:
        each.call(run, answer)
        if answer.error is not None:
            return
