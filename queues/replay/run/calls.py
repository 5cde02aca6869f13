"""Sending the rows of a part: in place, or as copies. What is interrupted is asked for again, and not sent again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from queues.actions import Outcome, Target
from queues.errors import QueueError, Unsure
from queues.models import ReplayJob
from queues.replay.naming import is_exact, job_id, job_text, target_of
from queues.replay.originals import goes_at_once
from queues.replay.receipts import receipt
from queues.replay.run.rows import ORPHANS, Part
from queues.replay.run.run import Run
from queues.replay.terms import Terms
from queues.replay.types import Choice
from queues.sendings import Conflict, InPlace, Letter, Sent
from queues.types import QueueRef

# What an answer without a conflict of its own means.
_WHY: Mapping[Outcome, Conflict] = {
    Outcome.ALREADY: Conflict.SENT_BEFORE,
    Outcome.GONE: Conflict.GONE,
    Outcome.WRONG_STATE: Conflict.LEFT,
    Outcome.LOCKED: Conflict.LEFT,
}


@dataclass(frozen=True, slots=True)
class Came:
    """What came of a row: sent (`conflict` NONE), or refused and why. `plan` is the token of the one that sent it."""

    row: ReplayJob
    receipt: str = ""
    made: str = ""
    at_ms: int | None = None
    again: bool = False
    was: bytes | None = None
    conflict: Conflict = Conflict.NONE
    note: str = ""
    plan: str = ""
    away: bool = False  # what was to go with it is gone

    @property
    def sent(self) -> bool:
        return self.conflict is Conflict.NONE


@dataclass
class Answer:
    """What came of rows, as far as that is known; `error` broke it off. `unsure`: more may have been sent."""

    came: list[Came] = field(default_factory=list)
    error: QueueError | None = None

    @property
    def unsure(self) -> bool:
        return isinstance(self.error, Unsure)


def receipt_of(run: Run, row: ReplayJob) -> str:
    """The receipt of a row; of one that another plan had sent, and that is to be sent all the same, one of its own."""
    return _named(run, row, target_of(row))


def _named(run: Run, row: ReplayJob, target: Target) -> str:
    again = run.replay.token if row.conflict == Conflict.SENT_BEFORE else ""
    return receipt(run.ref(row.queue_id), target.id, target.seen, plan=again)


def letter_of(run: Run, row: ReplayJob) -> Letter | None:
    """The letter beside a row that goes with it."""
    if row.letter_queue_id is None or not is_exact(row.letter) or not goes_at_once(row, run.terms):
        return None
    return Letter(run.ref(row.letter_queue_id), job_id(row.letter)) if row.letter else None


def inexact(part: Part) -> tuple[list[ReplayJob], list[Came]]:
    """The rows whose jobs can be named, and the others refused."""
    named = [row for row in part.rows if is_exact(row.job)]
    if len(named) == len(part.rows):
        return named, []
    return named, [Came(row, conflict=Conflict.DAMAGED) for row in part.rows if not is_exact(row.job)]


@dataclass(frozen=True, slots=True)
class Retry:
    """Rows to be sent in place. Prepared where the database is, and called where it is not: `call` uses the server."""

    queue: QueueRef
    part: Part
    rows: Sequence[ReplayJob]
    jobs: Sequence[InPlace]
    refused: Sequence[Came]
    drop: Sequence[str]
    token: str
    terms: Terms
    until_ms: int

    @classmethod
    def of(cls, run: Run, part: Part, drop: Sequence[str]) -> Retry:
        rows, refused = inexact(part)
        targets = [target_of(row) for row in rows]
        jobs = [
            InPlace(target, _named(run, row, target), letter_of(run, row))
            for row, target in zip(rows, targets, strict=True)
        ]
        return cls(part.queue, part, rows, jobs, refused, drop, run.replay.token, run.terms, run.until_ms)

    def call(self, run: Run, answer: Answer) -> None:
        """Add what came of them. Never raises a QueueError: the answer holds it."""
        answer.came += self.refused
        if not self.rows:
            return
        found = self._asked(run, answer, range(len(self.rows)), orphans=self._orphans, drop=self.drop)
        held = [at for at, sent in found.items() if sent.conflict in ORPHANS and self._goes(sent.conflict)]
        if held and answer.error is None:
            found = {at: sent for at, sent in found.items() if at not in held}
            found |= self._asked(run, answer, held, orphans=True)
        rows = [(self.rows[at], self.jobs[at].receipt, sent) for at, sent in sorted(found.items())]
        answer.came += [_came(row, name, sent, copy=False) for row, name, sent in rows]

    @property
    def _orphans(self) -> bool:
        return self.part.orphans or all(self._goes(conflict) for conflict in ORPHANS)

    def _goes(self, conflict: Conflict) -> bool:
        return self.terms.choice(conflict) is Choice.SEND

    def _asked(
        self, run: Run, answer: Answer, which: Sequence[int], *, orphans: bool, drop: Sequence[str] = ()
    ) -> dict[int, Sent]:
        """The answers by their places; those of an interrupted call as far as they are known."""
        terms = self.terms
        twins = terms.choice(Conflict.TWIN) is Choice.SEND
        told: Sequence[object]
        try:
            told = run.actions.send(
                self.queue,
                [self.jobs[at] for at in which],
                state=self.part.state,
                plan=self.token,
                reset=terms.reset,
                twins=twins,
                orphans=orphans,
                until_ms=self.until_ms,
                drop=drop,
            )
        except QueueError as error:
            answer.error, told = error, known(error)
        return {at: sent for at, sent in zip(which, told, strict=False) if isinstance(sent, Sent)}


def known(error: QueueError) -> Sequence[object]:
    """What an error tells of what was done before it."""
    return error.results if isinstance(error, Unsure) else ()


def came_of_copy(row: ReplayJob, name: str, sent: Sent) -> Came:
    """What came of a row that was sent as a copy."""
    return _came(row, name, sent, copy=True)


def _came(row: ReplayJob, name: str, sent: Sent, *, copy: bool) -> Came:
    if sent.outcome is Outcome.DONE:
        made = job_text(sent.made) if copy else ""
        return Came(row, name, made, sent.at_ms, sent.again, sent.was, note=sent.note, away=sent.away)
    why = sent.conflict
    if why is Conflict.NONE:
        why = _WHY.get(sent.outcome, Conflict.REFUSED)
    return Came(row, conflict=why, note=sent.note, plan=sent.plan)
