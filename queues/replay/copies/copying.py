"""One new job out of what is stored of an old one, as a plan's terms want it."""

from __future__ import annotations

import re
from dataclasses import replace

from django.utils.translation import gettext as _

from queues.actions import NewJob, Stored
from queues.failures.letters.mapping import mapping_of
from queues.models import ReplayJob
from queues.operations.copying import custom_id
from queues.replay.copies import options
from queues.replay.copies.letter import Unmapped, told_by
from queues.replay.naming import is_exact, job_id
from queues.replay.patching import Patcher
from queues.replay.terms import Terms
from queues.types import QueueRef, State

_ENDED = frozenset({State.FAILED, State.COMPLETED})
_NUMBER = re.compile(rb"-?\d+|NaN")
_LONGEST = 1_000  # bytes of an id that BullMQ takes


def copied(
    row: ReplayJob, stored: Stored, terms: Terms, patcher: Patcher | None = None, *, queue: QueueRef | None = None
) -> NewJob:
    """The job to add for a row that acts by copy: of a letter what it tells of, else the job itself.

    The name, the bytes of the data and the options stay, but for what `options` says; a copy has made no attempts. An
    id that somebody chose stays where nothing of ours holds it: a letter's job, or a job that goes to another queue.
    Raises Unmapped for a letter that does not tell, and `patching.Unfit` where the edit does not fit. Linear in the
    data. `queue` is the one of the row, where it is known: else a query or two find it.
    """
    if row.target_id is None:
        raise Unmapped(_("Nobody said to which queue it belongs."))
    if row.state in _ENDED:
        own = job_id(row.job) if row.target_id != row.queue_id and is_exact(row.job) else b""
        new = options.same(stored, stored.fields.get(b"data", b"{}"))
    else:
        new, own = _of_letter(stored, queue or _queue(row), row.job)
    data = patcher(new.data) if patcher is not None else new.data
    return replace(new, data=data, id=own if _can_stay(own) else b"")


def _of_letter(stored: Stored, queue: QueueRef, job: str) -> tuple[NewJob, bytes]:
    """The job that a letter tells of, and the id that it had."""
    raw = stored.fields.get(b"data", b"{}")
    told = told_by(raw, mapping_of(queue))
    if told.itself:
        return options.same(stored, raw), job_id(job) if is_exact(job) else b""
    name = told.name or stored.fields.get(b"name", b"")
    new = options.told(told.opts, name, told.data) if told.opts is not None else None
    return new or options.of_letter(stored, name, told.data), told.job or b""


def _can_stay(job: bytes) -> bool:
    """Whether BullMQ's library takes this id from a person; what it gave out itself it gives out anew."""
    colons = job.count(b":")
    return (
        0 < len(job) <= _LONGEST
        and custom_id(job)
        and not _NUMBER.fullmatch(job)
        and colons in (0, 2)
        and not job.startswith(b"0:")
    )


def _queue(row: ReplayJob) -> QueueRef:
    return QueueRef.from_slug(row.queue.source.name, row.queue.slug)
