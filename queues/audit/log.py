"""Writing the log of actions."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence

from django.db import DatabaseError, OperationalError
from django.utils import timezone
from django.utils.translation import gettext as _

from queues.actions import Result
from queues.audit.before import name_those_before
from queues.audit.clean import clean, line, short_slug
from queues.audit.tally import Tally
from queues.audit.types import Actor, Status
from queues.errors import OutOfMemory as NoMemory
from queues.errors import QueueError, Unreachable, Unsure
from queues.models import AuditEntry, FailureGroup
from queues.types import QueueRef

JOBS_KEPT = 1_000
PAUSES_S = (0.2, 1.0, 3.0)  # before the next try to complete an entry
FREED = (Status.REFUSED, Status.FAILED, Status.UNSURE)  # whoever sends the form again means it

logger = logging.getLogger(__name__)


def draft(
    by: Actor,
    action: str,
    *,
    queue: QueueRef | None = None,
    source: str = "",
    jobs: Sequence[str] = (),
    parameters: Mapping[str, object] | None = None,
    reason: str = "",
    group: FailureGroup | None = None,
) -> AuditEntry:
    """An entry that is not written yet, with everything in it fit to be kept: bounded, without control characters."""
    return AuditEntry(
        who=by.name[:150],
        role=by.role[:20],
        address=line(by.address, 100),
        action=action,
        source=queue.source if queue else source,
        queue=queue.slug[:2000] if queue else "",
        jobs=[short_slug(slug) for slug in jobs[:JOBS_KEPT]],
        asked=len(jobs) or None,
        parameters=clean(parameters or {}),
        reason=line(reason, 1_000),
        group=group,
    )


def record(
    by: Actor,
    action: str,
    *,
    queue: QueueRef | None = None,
    source: str = "",
    jobs: Sequence[str] = (),
    parameters: Mapping[str, object] | None = None,
    reason: str = "",
    note: str = "",
    group: FailureGroup | None = None,
    key: str | None = None,
) -> AuditEntry:
    """Write down an act that is done already or takes no time: signing in, revealing, downloading, pinning.

    `jobs` are slugs, `group` is that of failures that it is about, `key` what `once.token` made. OperationalError while
    the database is busy: then the act must not be carried out.
    """
    entry = draft(by, action, queue=queue, source=source, jobs=jobs, parameters=parameters, reason=reason, group=group)
    entry.key = key
    return _written(entry, Status.DONE, note)


def refused(
    by: Actor,
    action: str,
    *,
    queue: QueueRef | None = None,
    source: str = "",
    jobs: Sequence[str] = (),
    parameters: Mapping[str, object] | None = None,
    selection: str = "",
    asked: int | None = None,
    reason: str = "",
    note: str = "",
) -> AuditEntry:
    """Write down that somebody was refused, and in `note` why. Never raises while the database is busy: logged then.

    `selection` and `asked` are which jobs it was about and how many, where it names none.
    """
    entry = draft(by, action, queue=queue, source=source, jobs=jobs, parameters=parameters, reason=reason)
    entry.selection, entry.asked = line(selection, 1_000), entry.asked if asked is None else asked
    try:
        return _written(entry, Status.REFUSED, note)
    except DatabaseError as error:
        logger.warning("A refusal could not be written: %s, %s (%s)", entry.who, entry.action, error)
        return entry


def ended(entry: AuditEntry, status: Status, tally: Tally, *, error: Exception | None = None) -> None:
    """Complete an entry. While the database is busy it is tried again a little, then left as it was and logged."""
    if isinstance(error, Unsure):
        tally.add([result for result in error.results if isinstance(result, Result)])
    try:
        name_those_before(entry, tally)
    except DatabaseError as odd:
        logger.warning("Who did the same before could not be looked up: %s", odd)
    now = timezone.now()
    changes: dict[str, object] = {
        "status": status,
        "outcomes": dict(tally.outcomes),
        "exceptions": list(tally.exceptions),
        "parameters": entry.parameters | tally.told,
        "note": note_of(error) or line(tally.note, 2_000),
        "ended_at": now,
        "duration_ms": max(0, round((now - entry.at).total_seconds() * 1000)),
    }
    if status in FREED:
        changes["key"] = None
    for name, value in changes.items():
        setattr(entry, name, value)
    _persist(entry, changes)


def status_of(error: Exception, tally: Tally) -> Status:
    """What an action that broke off by this error has come to."""
    if isinstance(error, Unsure):
        return Status.UNSURE
    if isinstance(error, QueueError) and not isinstance(error, (Unreachable, NoMemory)) and not tally.outcomes:
        return Status.REFUSED
    return Status.FAILED


def note_of(error: Exception | None) -> str:
    """Why it ended so, without secrets: an error that is none of ours is named, but not quoted."""
    if error is None:
        return ""
    if isinstance(error, QueueError):
        return line(str(error), 2_000)
    if isinstance(error, OperationalError):
        return _("Our own database was busy.")
    return _("It broke off by an error of ours (%(kind)s).") % {"kind": type(error).__name__}


def _persist(entry: AuditEntry, changes: Mapping[str, object]) -> None:
    for pause in (*PAUSES_S, None):
        try:
            AuditEntry.objects.filter(pk=entry.pk).update(**changes)
        except OperationalError as error:
            if pause is None:
                logger.warning("The end of the action %s could not be written: %s", entry.pk, error)
                return
            time.sleep(pause)
        else:
            return


def _written(entry: AuditEntry, status: Status, note: str) -> AuditEntry:
    entry.status, entry.note = status, line(note, 2_000)
    entry.ended_at, entry.duration_ms = timezone.now(), 0
    entry.save(force_insert=True)
    return entry
