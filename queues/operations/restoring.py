"""Bringing back a removed job, as a new one."""

from __future__ import annotations

import logging
from contextlib import suppress

from django.db import OperationalError
from django.utils import timezone
from django.utils.translation import gettext as _

from queues import undo
from queues.actions import Action, NewJob, Outcome, Result
from queues.audit.found import label
from queues.audit.tally import Tally
from queues.audit.types import Asked
from queues.backend import Actions
from queues.errors import BadInput, NotFound, WrongState
from queues.models import AuditEntry, RemovedJob
from queues.names import decode_part
from queues.operations.copying import copy_of, custom_id
from queues.operations.guard import Begun, act
from queues.quantities import now_ms
from queues.types import JobRef, QueueRef, State

logger = logging.getLogger(__name__)


def restore(asked: Asked, removed: RemovedJob) -> AuditEntry:
    """A new job with the name, data and options of a removed one, without its attempts and result; once only.

    It has no parent and no children. A delayed one is due when it was; any other waits. An id that somebody chose is
    kept where it is text and free; otherwise the new job has a new number. `audit.made(entry)` is its slug. WrongState
    when it was restored before, and the text says as what. The outcome is `CHANGED` where another job holds its
    deduplication id by now.
    """
    queue = QueueRef.from_slug(removed.source, removed.queue)
    job = decode_part(removed.job, colon=True)

    def do(actions: Actions, tally: Tally, start: Begun) -> None:
        copy = _fresh(removed)
        if copy.removed_at is None and actions.stored(queue, [job], most=undo.CHUNK_MAX):
            raise WrongState(_("The job is still there: it was not removed."))
        result = _added(actions, queue, copy, job)
        outcome = result.outcome
        if outcome is Outcome.DONE and not _mark(copy, JobRef(queue, result.made).slug):
            outcome = Outcome.ALREADY  # somebody else pressed at the same moment
        why = result.why
        if outcome is Outcome.CHANGED and not why:
            why = _("Another job has its deduplication id by now.")
        tally.add([Result(job, outcome, result.state, why=why, made=result.made)])

    told = {"removed": removed.pk}
    return act(asked, Action.RESTORE, queue, do, jobs=[removed.job], parameters=told)


def _added(actions: Actions, queue: QueueRef, copy: RemovedJob, job: bytes) -> Result:
    """The new job. The tokens are of the copy, so that whoever presses, and however often, adds one job."""
    token = f"restore-{copy.pk}-{copy.copied_at.timestamp():.0f}"
    state = State(copy.state) if copy.state else State.WAITING
    stored = undo.unpack(bytes(copy.stored))

    def new(chosen: bytes) -> NewJob:
        return copy_of(stored, state=state, now_ms=now_ms(), id=chosen)

    with suppress(BadInput):  # an id that cannot be given by hand: its bytes are no text, say
        if custom_id(job):
            result = actions.add(queue, new(job), token=token)
            if result.made or result.outcome is not Outcome.ALREADY:  # else somebody else has that id by now
                return _own(result)
    return _own(actions.add(queue, new(b""), token=f"{token}-n"))


def _own(result: Result) -> Result:
    """That our token was used before means that an earlier try has restored it, and its answer was lost."""
    if result.outcome is Outcome.ALREADY and result.made:
        return Result(result.id, Outcome.DONE, result.state, why=result.why, made=result.made)
    return result


def _fresh(removed: RemovedJob) -> RemovedJob:
    copy = RemovedJob.objects.filter(pk=removed.pk).first()
    if copy is None or copy.expires_at <= timezone.now():
        raise NotFound(_("The copy of this job is not kept any more."))
    if copy.restored_at:
        raise WrongState(_("It was restored already, as job %(job)s.") % {"job": label(copy.restored_as)})
    return copy


def _mark(copy: RemovedJob, slug: str) -> bool:
    """Restored, and its bytes go. False when somebody else was first.

    Should our database be too busy, the token still keeps it from being added twice.
    """
    mine = RemovedJob.objects.filter(pk=copy.pk, restored_at__isnull=True)
    try:
        return bool(mine.update(restored_at=timezone.now(), restored_as=slug, stored=b"", size=0))
    except OperationalError as error:
        logger.warning("That copy %s was restored could not be written: %s", copy.pk, error)
        return True
