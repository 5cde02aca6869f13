"""Jobs that are sent again, each exactly once: in place or as copies, with the receipts that make it so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from typing import cast

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from queues.actions import BATCH, NewJob, Outcome
from queues.backends.bullmq import newjobs
from queues.backends.bullmq.keys import base
from queues.backends.bullmq.replies import Part, Reply, array, blob, blobs, integer
from queues.backends.bullmq.steering import on_4
from queues.backends.bullmq.writer import STATES, Writer, answers
from queues.errors import BadInput, LimitExceeded, QueueError, Unsure
from queues.sendings import Conflict, Copy, InPlace, Letter, Original, Receipt, Sent
from queues.text import text
from queues.types import QueueRef, State

SCRIPT_BYTES = 2_000_000  # of new jobs in one script, unless one alone has more
NOTE_SHOWN = 300  # characters
CONFLICTS: Mapping[bytes, Conflict] = {
    b"damaged": Conflict.DAMAGED,
    b"twin": Conflict.TWIN,
    b"id": Conflict.ID_KEPT,
    b"parent-failed": Conflict.PARENT_FAILED,
    b"parent-gone": Conflict.PARENT_GONE,
    b"parent-gone-on": Conflict.PARENT_GONE,
}
_OUTCOMES: Mapping[Conflict, Outcome] = {Conflict.GONE: Outcome.GONE, Conflict.LEFT: Outcome.WRONG_STATE}
_NOTES: Mapping[bytes, Promise] = {
    b"children": gettext_lazy("Children of it have not ended: it fails again unless its processor waits for them."),
}
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,80}")


@dataclass(frozen=True, slots=True)
class How:
    """How jobs are sent in place, see `queues.sendings.Replays.send`."""

    state: State
    reset: bool
    twins: bool
    orphans: bool


@dataclass(frozen=True, slots=True)
class Named:
    """What copies do about ids that are taken, see `queues.sendings.Replays.send_copies`."""

    new_ids: bool
    twins: bool


def send(
    writer: Writer,
    queue: QueueRef,
    jobs: Sequence[InPlace],
    how: How,
    *,
    plan: str,
    until_ms: int | None,
    drop: Sequence[str],
) -> list[Sent]:
    """See `queues.sendings.Replays.send`. About 11 µs of the server for a plain job, its receipt included."""
    ensure_few(jobs)
    ids = [job.target.id for job in jobs]
    letters = any(job.letter is not None for job in jobs)
    rows = [_in_place_row(job, letters=letters) for job in jobs]
    arguments = (how.state.value, _token(plan), int(how.reset), int(how.twins), int(how.orphans), int(letters))
    _ensure_writable(writer, [job.letter.queue for job in jobs if job.letter])
    sending = _Sending(writer, queue, "send", arguments, drop, until_ms)
    return sending.send(rows, lambda at, now, answer: _in_place(ids[at], now, answer))


def send_copies(
    writer: Writer,
    queue: QueueRef,
    copies: Sequence[Copy],
    named: Named,
    *,
    plan: str,
    until_ms: int | None,
    drop: Sequence[str],
) -> list[Sent]:
    """See `queues.sendings.Replays.send_copies`. What BullMQ's own library would not add is REFUSED, that alone."""
    ensure_few(copies)
    known: dict[int, Sent] = {}
    rows: dict[int, Sequence[Part]] = {}
    for number, copy in enumerate(copies):
        try:
            rows[number] = _copy_row(copy, new_ids=named.new_ids)
        except BadInput as error:
            known[number] = Sent(copy.job.id, Outcome.UNSUPPORTED, conflict=Conflict.REFUSED, note=str(error))
    numbers = list(rows)
    _ensure_writable(writer, [each.queue for copy in copies for each in (copy.original, copy.letter) if each])
    arguments = (_token(plan), int(named.new_ids), int(named.twins))
    sending = _Sending(writer, queue, "send_copies", arguments, drop, until_ms)
    try:
        told = sending.send(
            list(rows.values()), lambda at, now, answer: _as_copy(copies[numbers[at]].job.id, now, answer)
        )
    except Unsure as error:
        known |= zip(numbers, cast("Sequence[Sent]", error.results), strict=False)
        raise Unsure(str(error), source=error.source, results=_from_first(known)) from error
    return _from_first(known | dict(zip(numbers, told, strict=False)))


def _from_first(known: Mapping[int, Sent]) -> list[Sent]:
    """What is known, from the first on without a gap."""
    return [known[number] for number in takewhile(known.__contains__, count())]


def receipts(writer: Writer, queue: QueueRef, receipts: Sequence[str]) -> list[Receipt | None]:
    """See `queues.sendings.Replays.receipts`. One script."""
    ensure_few(receipts)
    if not receipts:
        return []
    told = array(writer.asked("receipts", queue, *map(_token, receipts)), len(receipts))
    return [None if said is None else _receipt(said) for said in told]


def drop_receipts(writer: Writer, queue: QueueRef, receipts: Sequence[str]) -> None:
    """See `queues.sendings.Replays.drop_receipts`. One script for every 1,000."""
    for first in range(0, len(receipts), BATCH):
        writer.timed("drop_receipts", queue, *map(_token, receipts[first : first + BATCH]))


def ensure_few(jobs: Sequence[object]) -> None:
    """LimitExceeded for more than one call may take."""
    if len(jobs) > BATCH:
        raise LimitExceeded(_("This can be done to at most %(most)d jobs at once.") % {"most": BATCH})


def conflict_of(outcome: Outcome, code: bytes) -> Conflict:
    """What a script's outcome and reason mean."""
    if outcome is Outcome.GONE:
        return Conflict.GONE
    return CONFLICTS.get(code, Conflict.LEFT)


def state_shown(where: bytes) -> str:
    """The state in which a script found a job; empty where it is in none."""
    state = STATES.get(where.decode("ascii", errors="replace"))
    return state.value if state else ""


def shown(named: bytes) -> str:
    """What a reason names, for eyes."""
    return text(named, cap=NOTE_SHOWN).value if named else ""  # mostly there is nothing in the way


@dataclass(frozen=True, slots=True)
class _Sending:
    """The script `name` with what it is told besides the jobs. `drop` are receipts for it to forget.

    After `until_ms` by the server's clock nothing is sent: None is whenever that is.
    """

    writer: Writer
    queue: QueueRef
    name: str
    arguments: Sequence[Part]
    drop: Sequence[str]
    until_ms: int | None

    def send(
        self, rows: Sequence[Sequence[Part]], read: Callable[[int, int | None, Sequence[Reply]], Sent]
    ) -> list[Sent]:
        """What came of each row, in as many scripts as they take; `read` gets its number, the server's ms, an answer.

        Those that it was too late for are not in the answer.
        Whatever goes wrong after the first script is `Unsure`, with the results so far.
        """
        with_first = BATCH if rows else 0  # receipts that the first script forgets
        drop_receipts(self.writer, self.queue, self.drop[with_first:])
        drop = [_token(each) for each in self.drop[:with_first]]
        pace, results = self.writer.pace(self.name), list[Sent]()
        while len(results) < len(rows):
            part = _portion(rows[len(results) : len(results) + pace.size])
            try:
                now, answered, ms = self._once(part, drop)
            except QueueError as error:
                if not results:
                    raise
                raise Unsure(str(error), source=self.writer.connection.source, results=results) from error
            if not answered:
                break
            pace.took(len(answered), ms)
            results += [read(len(results) + at, now, array(answer)) for at, answer in enumerate(answered)]
            drop = []
        return results

    def _once(self, part: Sequence[Sequence[Part]], drop: Sequence[str]) -> tuple[int | None, list[Reply], float]:
        flat = [piece for row in part for piece in row]
        until = "" if self.until_ms is None else self.until_ms
        reply, ms = self.writer.timed(self.name, self.queue, len(drop), *drop, until, *self.arguments, *flat)
        now, said = array(reply, 2)
        late = self.until_ms is not None and not array(said)
        return integer(now), [] if late else answers(said, most=len(part)), ms


def _portion(rows: Sequence[Sequence[Part]]) -> Sequence[Sequence[Part]]:
    """The first of these, at most `SCRIPT_BYTES` in all."""
    total = 0
    for number, row in enumerate(rows):
        total += sum(len(piece) for piece in row if isinstance(piece, bytes))
        if number and total > SCRIPT_BYTES:
            return rows[:number]
    return rows


def _copy_row(copy: Copy, *, new_ids: bool) -> Sequence[Part]:
    asked = newjobs.checked(copy.job)
    unnamed = newjobs.checked(_unnamed(copy.job)).opts if new_ids and asked.id else b""
    stored: Iterable[Part] = (asked.id, asked.name, asked.data, asked.opts, unnamed)
    further: Iterable[Part] = (asked.timestamp, asked.delay, asked.priority, int(asked.lifo))
    named = (asked.deduplication, asked.deduplication_ms)
    return (_token(copy.receipt), *stored, *further, *named, *_original_row(copy.original), *_letter_row(copy.letter))


def _in_place_row(job: InPlace, *, letters: bool) -> Sequence[Part]:
    row = (job.target.id, job.target.seen, _token(job.receipt))
    return (*row, *_letter_row(job.letter)) if letters else row


def _original_row(original: Original | None) -> Sequence[Part]:
    if original is None:
        return (b"", b"", b"", b"", 0)
    state = original.state.value if original.state else ""
    return (base(original.queue), original.target.id, original.target.seen, state, int(original.goes))


def _letter_row(letter: Letter | None) -> Sequence[Part]:
    return (b"", b"") if letter is None else (base(letter.queue), letter.id)


def _ensure_writable(writer: Writer, queues: Iterable[QueueRef]) -> None:
    """ReadOnly where our user may not write to one of the queues beside that to which jobs are sent."""
    for queue in dict.fromkeys(queues):
        writer.rights.ensure(queue)


def _unnamed(job: NewJob) -> NewJob:
    return NewJob(job.name, b"null", job.opts)


def _in_place(job: bytes, at_ms: int | None, answer: Sequence[Reply]) -> Sent:
    if answer[0] != b"done":
        return _not_sent(job, answer)
    _word, was, reason, away = answer
    note = _NOTES.get(blob(reason) or b"", "")
    return Sent(job, Outcome.DONE, made=job, at_ms=at_ms, was=blob(was), note=str(note), away=away == b"1")


def _as_copy(job: bytes, at_ms: int | None, answer: Sequence[Reply]) -> Sent:
    if answer[0] != b"done":
        return _not_sent(job, answer)
    _word, made, away = answer
    return Sent(job, Outcome.DONE, made=blob(made) or b"", at_ms=at_ms, away=away == b"1")


def _not_sent(job: bytes, answer: Sequence[Reply]) -> Sent:
    word = blob(answer[0]) or b""
    if len(answer) == 5:  # what a receipt says
        return _sent_before(job, word, blobs(list(answer)))
    where, code, named = ((blob(part) or b"") for part in (*answer[1:], b"", b"")[:3])
    if code == b"four":
        return Sent(job, Outcome.UNSUPPORTED, conflict=Conflict.REFUSED, note=on_4())
    conflict = conflict_of(Outcome(word.decode("ascii")), code)
    outcome = _OUTCOMES.get(conflict, Outcome.UNSUPPORTED)
    return Sent(job, outcome, conflict=conflict, note=state_shown(where) if conflict is Conflict.LEFT else shown(named))


def _sent_before(job: bytes, word: bytes, said: Sequence[bytes]) -> Sent:
    _word, plan, made, at, was = said
    if word == b"again":
        return Sent(job, Outcome.DONE, made=made, again=True, at_ms=integer(at), was=was or None)
    told = plan.decode("ascii", errors="replace")
    conflict = Conflict.SENT_BEFORE
    return Sent(job, Outcome.ALREADY, made=made, plan=told, at_ms=integer(at), conflict=conflict)


def _receipt(said: Reply) -> Receipt:
    plan, made, at = blobs(array(said, 3))
    return Receipt(plan.decode("ascii", errors="replace"), made, integer(at))


def _token(token: str) -> str:
    """A token that may stand in a key; ValueError for any other, since people do not write these."""
    if not _TOKEN.fullmatch(token):
        raise ValueError("a receipt or plan is named by letters, digits, - and _")
    return token
