"""What is done to one job only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from django.utils.translation import gettext as _

from queues.actions import Action, Result
from queues.audit.clean import body, line
from queues.audit.tally import Tally
from queues.audit.types import Asked
from queues.backend import Actions
from queues.errors import BadInput, NotFound
from queues.models import AuditEntry
from queues.operations.copying import copy_of
from queues.operations.guard import Begun, act
from queues.operations.steering import JOB_MAX, ensure_fits
from queues.types import JobRef

LINE_MAX = 64 * 1024  # characters of a log line

Do = Callable[[Actions, Begun], Result]


def edit(asked: Asked, job: JobRef, data: bytes, *, was: bytes) -> AuditEntry:
    """Other data for a job. `was` is what its editor began with; the outcome is `CHANGED` where that is no more."""
    ensure_fits(data)
    return _one(
        *(asked, Action.EDIT, job),
        lambda actions, start: actions.edit(job, data, was=was),
        exact=data + was,
        bytes=len(data),
        bytes_before=len(was),
        data=body(data),
    )


def duplicate(asked: Asked, job: JobRef, data: bytes | None = None) -> AuditEntry:
    """A new job with the name, options and data of this one, or with other data. `audit.made(entry)` is its slug.

    It has no parent, no schedule and no deduplication id, and an id of its own.
    """
    ensure_fits(data or b"")

    def do(actions: Actions, start: Begun) -> Result:
        stored = actions.stored(job.queue, [job.id], most=2 * JOB_MAX).get(job.id)
        if stored is None:
            raise NotFound(_("The job is gone, or too large to be copied."))
        new = copy_of(stored, data=data, without=("de", "debounce", "deduplication"))
        added = actions.add(job.queue, new, token=start.token)
        return replace(added, id=job.id)  # which it is about, whatever stood in the way

    told = {} if data is None else {"bytes": len(data), "data": body(data)}
    return _one(asked, Action.DUPLICATE, job, do, exact=data or b"", **told)


def log(asked: Asked, job: JobRef, text: str) -> AuditEntry:
    """One more line in the job's log."""
    if not text.strip() or len(text) > LINE_MAX:
        raise BadInput(_("A log line holds 1 to 65,536 characters."))
    return _one(
        *(asked, Action.LOG, job),
        lambda actions, start: actions.log(job, text, token=start.token),
        exact=text.encode("utf-8", errors="replace"),
        line=line(text),
    )


def remove_children(asked: Asked, job: JobRef) -> AuditEntry:
    """The children of a job that have not been worked on; `audit.took_along(entry)` tells how many."""
    return _one(asked, Action.REMOVE_CHILDREN, job, lambda actions, start: actions.remove_children(job))


def _one(asked: Asked, action: Action, job: JobRef, do: Do, *, exact: bytes = b"", **told: object) -> AuditEntry:
    def work(actions: Actions, tally: Tally, start: Begun) -> None:
        tally.add([do(actions, start)])

    return act(asked, action, job.queue, work, jobs=[job.slug], parameters=told, exact=exact)
