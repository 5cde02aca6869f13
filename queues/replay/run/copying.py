"""Sending rows as copies: each original looked at, read, and its copy added, in bounded memory."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence

from django.utils.translation import gettext as _

from queues.actions import NewJob, Stored
from queues.errors import QueueError
from queues.models import ReplayJob
from queues.quantities import size
from queues.replay.copies import Unmapped, copied
from queues.replay.naming import job_text, target_of
from queues.replay.originals import goes_at_once
from queues.replay.patching import Patcher, Unfit
from queues.replay.run.calls import Answer, Came, came_of_copy, inexact, known, letter_of, receipt_of
from queues.replay.run.rows import Part
from queues.replay.run.run import Run
from queues.replay.types import Choice
from queues.sendings import Conflict, Copy, Original, Receipt, Sent
from queues.types import QueueRef, State

CHUNK = 100  # originals that are read together
CHUNK_MAX = 16 * 1024 * 1024  # bytes of them
ALONE_MAX = 128 * 1024 * 1024  # bytes of one that is read alone

_LEFT = (Conflict.LEFT, Conflict.GONE)


def copy(run: Run, part: Part, answer: Answer, drop: Sequence[str], *, until: float = math.inf) -> None:
    """Add what came of the rows of a part. Never raises a QueueError of the server: the answer holds it.

    Those that it does not come to until a moment (monotonic) are not in the answer, nor from the first one on that the
    server finds too late. Four calls for every hundred, and one for each of the larger ones. BadInput for an edit that
    cannot be read.
    """
    patcher = run.patcher
    rows, refused = inexact(part)
    answer.came += refused
    try:
        for first in range(0, len(rows), CHUNK):
            some = _there(run, part, rows[first : first + CHUNK], answer)
            for copies in _batches(run, some, answer, patcher):
                run.alive()  # what is large takes long to read
                whole = _send(run, part.queue, copies, answer, drop)
                drop = ()
                if not whole or time.monotonic() >= until:
                    return
    except QueueError as error:
        answer.error = error


def _there(run: Run, part: Part, rows: Sequence[ReplayJob], answer: Answer) -> list[ReplayJob]:
    """The rows whose originals are still what was meant. Others were sent before by this plan, or are refused."""
    left: dict[int, Conflict] = {}
    for queue, some in _by_origin(run, rows).items():
        looked = run.actions.look(queue, [target_of(row) for row in some], state=part.state)
        left |= {row.pk: one.conflict for row, one in zip(some, looked, strict=True) if one.conflict in _LEFT}
    for queue, missing in _by_origin(run, [row for row in rows if row.pk in left]).items():
        names = [receipt_of(run, row) for row in missing]
        told = run.actions.receipts(queue, names)
        answer.came += [
            _left(run, row, name, left[row.pk], held) for row, name, held in zip(missing, names, told, strict=True)
        ]
    return [row for row in rows if row.pk not in left]


def _left(run: Run, row: ReplayJob, name: str, conflict: Conflict, held: Receipt | None) -> Came:
    if held is None:
        return Came(row, conflict=conflict)
    if held.plan == run.replay.token:
        return copied_before(row, name, held)
    return Came(row, conflict=Conflict.SENT_BEFORE, plan=held.plan)


def copied_before(row: ReplayJob, name: str, held: Receipt) -> Came:
    """What came of a row that this plan had sent, by the receipt of that."""
    return Came(row, name, job_text(held.made), held.at_ms, again=True)


def _batches(
    run: Run, rows: Sequence[ReplayJob], answer: Answer, patcher: Patcher | None
) -> Iterator[Sequence[tuple[ReplayJob, Copy]]]:
    """Copies that can be sent together; a large one is sent alone, in its turn."""
    read: dict[int, Stored] = {}
    for queue, some in _by_origin(run, rows).items():
        found = run.actions.stored(queue, [target_of(row).id for row in some], most=CHUNK_MAX)
        read |= {row.pk: found[job] for row in some if (job := target_of(row).id) in found}
    ready: list[tuple[ReplayJob, Copy]] = []
    for row in rows:
        stored = read.pop(row.pk, None)
        if stored is not None:
            ready += _made(run, row, stored, answer, patcher)
            continue
        if ready:
            yield ready
        ready = []
        if alone := _alone(run, row, answer, patcher):
            yield alone
    if ready:
        yield ready


def _alone(run: Run, row: ReplayJob, answer: Answer, patcher: Patcher | None) -> list[tuple[ReplayJob, Copy]]:
    job = target_of(row).id
    found = run.actions.stored(run.ref(row.queue_id), [job], most=ALONE_MAX)
    if job not in found:
        note = _("It is gone, or larger than %(size)s.") % {"size": size(ALONE_MAX)}
        answer.came.append(Came(row, conflict=Conflict.REFUSED, note=note))
        return []
    return _made(run, row, found[job], answer, patcher)


def _made(
    run: Run, row: ReplayJob, stored: Stored, answer: Answer, patcher: Patcher | None
) -> list[tuple[ReplayJob, Copy]]:
    """The copy of one, or none where it cannot be made."""
    try:
        job: NewJob = copied(row, stored, run.terms, patcher, queue=run.ref(row.queue_id))
    except Unmapped as error:
        answer.came.append(Came(row, conflict=Conflict.UNMAPPED, note=str(error)))
    except Unfit as error:
        answer.came.append(Came(row, conflict=Conflict.UNFIT, note=str(error)))
    else:
        return [(row, Copy(job, receipt_of(run, row), _original(run, row), letter_of(run, row)))]
    return []


def _original(run: Run, row: ReplayJob) -> Original:
    # A letter is meant wherever it waits: what was seen of it says that it is the same.
    state = State(row.state) if row.state in (State.FAILED, State.COMPLETED) else None
    return Original(run.ref(row.queue_id), target_of(row), state, goes=goes_at_once(row, run.terms))


def _send(
    run: Run, queue: QueueRef, copies: Sequence[tuple[ReplayJob, Copy]], answer: Answer, drop: Sequence[str]
) -> bool:
    """Send copies together; gives whether it was not too late for any of them."""
    new_ids, twins = (run.terms.choice(each) is Choice.SEND for each in (Conflict.ID_KEPT, Conflict.TWIN))
    jobs = [each for _row, each in copies]
    told: Sequence[object]
    failed: QueueError | None = None
    try:
        told = run.actions.send_copies(
            queue, jobs, plan=run.replay.token, new_ids=new_ids, twins=twins, until_ms=run.until_ms, drop=drop
        )
    except QueueError as error:
        failed, told = error, known(error)
    answer.came += [
        came_of_copy(row, each.receipt, sent)
        for (row, each), sent in zip(copies, told, strict=False)
        if isinstance(sent, Sent)
    ]
    if failed is not None:
        raise failed
    return len(told) == len(copies)


def _by_origin(run: Run, rows: Sequence[ReplayJob]) -> Mapping[QueueRef, Sequence[ReplayJob]]:
    found: dict[QueueRef, list[ReplayJob]] = {}
    for row in rows:
        found.setdefault(run.ref(row.queue_id), []).append(row)
    return found
