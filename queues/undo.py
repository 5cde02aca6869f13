"""Copies of removed jobs, kept for a while so that they can be restored as new ones.

A copy is made before the removal and confirmed after it. Copies hold the exact bytes of a job, secrets too: that is
what they are for. They are bounded by their age (`MIRANTE_UNDO_HOURS`), a job's size, and the room that all of them
may take (`MIRANTE_UNDO_MB`), of which a single action may fill a quarter.
"""

from __future__ import annotations

import logging
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta

from django.conf import settings
from django.db import OperationalError, transaction
from django.db.models import Q, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import ngettext

from queues.actions import Outcome, Result, Stored
from queues.audit.clean import line
from queues.backend import Actions
from queues.errors import LimitExceeded, QueueError, Unsure
from queues.models import AuditEntry, RemovedJob
from queues.names import visible
from queues.passing import in_passing
from queues.quantities import number
from queues.types import JobRef, QueueRef, State

JOB_MAX = 1024 * 1024  # bytes as kept, of one job
LEAST = 1024  # bytes: with less room nothing is copied any more
CHUNK = 100  # jobs copied at once
CHUNK_MAX = 16 * 1024 * 1024  # bytes as stored in the queue
SHARE = 4  # an action may fill one part in so many
UNCONFIRMED = timedelta(minutes=1)  # older ones belong to a removal whose end is not known
EVICTED_AT_ONCE = 500

logger = logging.getLogger(__name__)

Settle = Callable[[Sequence[Result]], int]  # gives how many copies are confirmed


@contextmanager
def kept_back(
    entry: AuditEntry,
    queue: QueueRef,
    actions: Actions,
    ids: Sequence[bytes],
    state: State | None,
    *,
    below: bool = False,
) -> Iterator[Settle]:
    """Copies of jobs, made before what is within removes them; it calls what it is given with the results.

    With `below`, of all that hangs below them too, in whichever queue. Copies of jobs that were not removed go again;
    when it breaks off, those of jobs whose end is not known stay. One call for every 100 jobs, and with `below` two or
    more for each. OperationalError while our database is busy: nothing is to be removed then.
    """
    rows = _rows(entry, queue, actions, ids, state, below=below and settings.MIRANTE_UNDO_HOURS > 0)
    try:
        yield lambda results: _settle(rows, results)
    except Unsure as error:
        _settle(rows, [result for result in error.results if isinstance(result, Result)], others_stay=True)
        raise
    except QueueError:
        _settle(rows, ())  # nothing was removed
        raise
    with in_passing():
        _make_room()


def kept(queue: QueueRef | None = None, entry: AuditEntry | None = None) -> QuerySet[RemovedJob]:
    """Copies that have not expired, newest first, restored ones too; without their bytes."""
    found = RemovedJob.objects.filter(expires_at__gt=timezone.now()).filter(_confirmed())
    if queue is not None:
        found = found.filter(source=queue.source, queue=queue.slug)
    if entry is not None:
        found = found.filter(entry=entry)
    return found.order_by("-pk").defer("stored")


def unkept(count: int) -> str:
    """That of so many removed jobs there is no copy, in a sentence."""
    text = ngettext("Of %(number)s removed job no copy is kept.", "Of %(number)s removed jobs no copy is kept.", count)
    return text % {"number": number(count)}


def forget_old(most: int = 1_000) -> int:
    """Delete copies that have expired, at most so many; gives how many."""
    old = list(RemovedJob.objects.filter(expires_at__lte=timezone.now()).values_list("pk", flat=True)[:most])
    if old:
        RemovedJob.objects.filter(pk__in=old).delete()
    return len(old)


def pack(stored: Stored) -> bytes:
    """A copy as it is kept: compressed, to the byte."""
    frames = [struct.pack(">II", len(stored.fields), len(stored.logs))]
    for part in (*(each for pair in stored.fields.items() for each in pair), *stored.logs):
        frames += (struct.pack(">I", len(part)), part)
    return zlib.compress(b"".join(frames), 3)


def unpack(raw: bytes) -> Stored:
    """The inverse of `pack`."""
    data = zlib.decompress(raw)
    fields, logs = struct.unpack_from(">II", data)
    parts, at = [], 8
    for _number in range(2 * fields + logs):
        (length,) = struct.unpack_from(">I", data, at)
        parts.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    pairs = parts[: 2 * fields]
    return Stored(dict(zip(pairs[::2], pairs[1::2], strict=True)), parts[2 * fields :])


def _rows(
    entry: AuditEntry, queue: QueueRef, actions: Actions, ids: Sequence[bytes], state: State | None, *, below: bool
) -> dict[bytes, set[int]]:
    """The rows written, by the id of the job with which they go. Each job is copied once, however many name it."""
    at = {JobRef(queue, job): pk for job, pk in _copied(entry, queue, actions, ids, state).items()}
    rows = {job.id: {pk} for job, pk in at.items()}
    for job in ids if below else ():
        tree = _tree(actions, JobRef(queue, job))
        for other in {each.queue for each in tree}:
            new = [each.id for each in tree if each.queue == other and each not in at]
            at |= {JobRef(other, child): pk for child, pk in _copied(entry, other, actions, new, None).items()}
        rows[job] = rows.get(job, set()) | {at[each] for each in tree if each in at}
    return rows


def _tree(actions: Actions, job: JobRef) -> Sequence[JobRef]:
    """What goes with a job; nothing of a tree that is too large, as that stays."""
    try:
        return [each.job for each in actions.below(job)]
    except LimitExceeded:
        return []


def _copied(
    entry: AuditEntry, queue: QueueRef, actions: Actions, ids: Sequence[bytes], state: State | None
) -> dict[bytes, int]:
    """The rows written, by the id of the job. Unconfirmed ones of an earlier try give way to them."""
    if not settings.MIRANTE_UNDO_HOURS:
        return {}
    unconfirmed = RemovedJob.objects.filter(entry=entry, queue=queue.slug, removed_at__isnull=True)
    earlier = dict(unconfirmed.values_list("job", "pk"))
    room = _budget() // SHARE - _size(RemovedJob.objects.filter(entry=entry))
    rows: dict[bytes, int] = {}
    for at in range(0, len(ids), CHUNK):
        if room < LEAST:
            break
        found = actions.stored(queue, ids[at : at + CHUNK], most=CHUNK_MAX)
        fitting: dict[bytes, RemovedJob] = {}
        for job, stored in found.items():
            row = _row(entry, JobRef(queue, job), stored, state)
            if row.size <= min(JOB_MAX, room):
                fitting[job] = row
                room -= row.size
        if found and not fitting and room < JOB_MAX:
            break  # of a million jobs not all are read for the few that would fit still
        written = RemovedJob.objects.bulk_create(fitting.values())
        replaced = {earlier[row.job] for row in written if row.job in earlier}
        if replaced:
            RemovedJob.objects.filter(pk__in=replaced).delete()
        rows |= {job: row.pk for job, row in zip(fitting, written, strict=True)}
    return rows


def _row(entry: AuditEntry, job: JobRef, stored: Stored, state: State | None) -> RemovedJob:
    packed = pack(stored)
    return RemovedJob(
        source=job.queue.source,
        queue=job.queue.slug,
        job=job.slug,
        name=line(visible(stored.fields.get(b"name", b"")[:1000]), 200),
        state=_state(stored, state),
        entry=entry,
        expires_at=timezone.now() + timedelta(hours=settings.MIRANTE_UNDO_HOURS),
        stored=packed,
        size=len(packed),
    )


def _state(stored: Stored, state: State | None) -> str:
    """Where it was. Of one that went along nobody knows, but one that has a delay is delayed, and due later."""
    if state is not None:
        return state.value
    return State.DELAYED.value if stored.fields.get(b"delay", b"0").lstrip(b"0").isdigit() else ""


def _settle(rows: Mapping[bytes, set[int]], results: Sequence[Result], *, others_stay: bool = False) -> int:
    """Confirm or delete copies. While the database is busy they stay as they are: the jobs are gone all the same."""
    gone = _of(rows, [result.id for result in results if result.outcome is Outcome.DONE])
    left = _of(rows, [result.id for result in results] if others_stay else rows) - gone
    try:
        with transaction.atomic():
            if gone:
                RemovedJob.objects.filter(pk__in=gone).update(removed_at=timezone.now())
            if left:
                RemovedJob.objects.filter(pk__in=left).delete()
    except OperationalError as error:
        logger.warning("Copies of removed jobs stay unconfirmed: %s", error)
    return len(gone)


def _of(rows: Mapping[bytes, set[int]], jobs: Iterable[bytes]) -> set[int]:
    return {pk for job in jobs for pk in rows.get(job, ())}


def _make_room() -> None:
    """Let the oldest go while all together take more than they may."""
    over = _size(RemovedJob.objects.all()) - _budget()
    while over > 0:
        oldest = list(RemovedJob.objects.order_by("pk").values_list("pk", "size")[:EVICTED_AT_ONCE])
        going = []
        for pk, size in oldest:
            going.append(pk)
            over -= size
            if over <= 0:
                break
        if not going:
            return
        RemovedJob.objects.filter(pk__in=going).delete()


def _confirmed() -> Q:
    return Q(removed_at__isnull=False) | Q(copied_at__lt=timezone.now() - UNCONFIRMED)


def _size(rows: QuerySet[RemovedJob]) -> int:
    return int(rows.aggregate(sum=Sum("size"))["sum"] or 0)


def _budget() -> int:
    return int(settings.MIRANTE_UNDO_MB) * 1024 * 1024
