"""The way into every action: claimed once, refused where it must be, written down before anything is sent."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from queues import readonly
from queues.actions import Action
from queues.audit import log
from queues.audit.clean import line
from queues.audit.tally import Tally
from queues.audit.types import Asked, Status
from queues.backend import Actions
from queues.errors import LimitExceeded, ReadOnly, Unsupported
from queues.models import AuditEntry, FailureGroup
from queues.operations.sending import writer
from queues.quantities import number as figure
from queues.registry import backend
from queues.types import Capability, QueueRef

TRIES = 3


@dataclass(frozen=True, slots=True)
class Begun:
    """An action that may go on. `again`: this form was sent before, `entry` is that of then, and nothing is to be done.

    `token` is the same whenever the same form is sent: for scripts that must not do something twice.
    """

    entry: AuditEntry
    again: bool
    token: str


def begun(
    asked: Asked,
    action: Action,
    queue: QueueRef,
    *,
    jobs: Sequence[str] = (),
    number: int | None = None,
    selection: str = "",
    parameters: Mapping[str, object] | None = None,
    exact: bytes = b"",
    group: FailureGroup | None = None,
) -> Begun:
    """Write the entry (committed when this returns) and check everything that may refuse; raises as the entry says.

    `jobs` are slugs; `number` is how many jobs it is about, where those are not all. `parameters` must be masked
    already; `exact` is what they do not tell apart, and is not kept. `group` is that of failures that it is about.
    OperationalError while the database is busy: nothing may be done then.
    """
    token = _token(asked, [action, queue.source, queue.slug, jobs, number, selection, parameters], exact)
    draft = log.draft(asked.by, action, queue=queue, jobs=jobs, parameters=parameters, reason=asked.reason, group=group)
    draft.asked = len(jobs) if number is None and jobs else number
    draft.selection = line(selection, 1_000)
    draft.key = token if asked.key else None
    draft.status = Status.STARTED
    entry, again = _claimed(draft)
    if not again:
        with completing(entry, Tally(), when_done=None):
            _check(queue, action, draft.asked)
    return Begun(entry, again, token)


def act(
    asked: Asked,
    action: Action,
    queue: QueueRef,
    do: Callable[[Actions, Tally, Begun], None],
    *,
    jobs: Sequence[str] = (),
    parameters: Mapping[str, object] | None = None,
    exact: bytes = b"",
) -> AuditEntry:
    """Begin, let `do` add what it comes to, and complete the entry. The rest as in `begun`."""
    start = begun(asked, action, queue, jobs=jobs, parameters=parameters, exact=exact)
    if not start.again:
        tally = Tally()
        with completing(start.entry, tally), writer(queue.source) as actions:
            do(actions, tally, start)
    return start.entry


@contextmanager
def completing(entry: AuditEntry, tally: Tally, *, when_done: Status | None = Status.DONE) -> Iterator[None]:
    """Write into the entry how it ended: as `when_done` (None: not yet), or by which error, which goes on.

    A process that dies within leaves the entry as it was.
    """
    try:
        yield
    except Exception as error:
        log.ended(entry, log.status_of(error, tally), tally, error=error)
        raise
    if when_done is not None:
        log.ended(entry, when_done, tally)


def ensure_writable(queue: QueueRef) -> None:
    """ReadOnly where nothing may be written to a queue, by the settings or by the server. Cheap: kept for a minute."""
    if forbidden := readonly.by_setting(queue.source):
        raise ReadOnly(forbidden)
    if Capability.ACTIONS not in backend(queue.source).capabilities:
        raise Unsupported(_("Nothing can be changed on the source “%(source)s”.") % {"source": queue.source})
    with writer(queue.source) as actions:
        forbidden = readonly.why(queue, actions)
    if forbidden:  # not within, where it would be taken for a write that was refused
        raise ReadOnly(forbidden)


def ensure_few(number: int | None) -> None:
    """LimitExceeded where an action is about more jobs than the settings permit."""
    most = settings.MIRANTE_BULK_MAX
    if most and number is not None and number > most:
        raise LimitExceeded(
            _("%(number)s jobs are more than one action may be about here: %(most)s (MIRANTE_BULK_MAX).")
            % {"number": figure(number), "most": figure(most)}
        )


def _check(queue: QueueRef, action: Action, number: int | None) -> None:
    ensure_few(number)
    ensure_writable(queue)
    with writer(queue.source) as actions:
        unable = actions.unable(queue)
    if action in unable:
        raise Unsupported(unable[action])


def _token(asked: Asked, told: Sequence[object], exact: bytes) -> str:
    """The same for the same form with the same content, for this user alone."""
    if not asked.key:
        return secrets.token_hex(32)
    parts = [asked.key, asked.by.name, *told, hashlib.sha256(exact).hexdigest()]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _claimed(draft: AuditEntry) -> tuple[AuditEntry, bool]:
    """The entry, written; or the one that has this key already, and True."""
    for _again in range(TRIES):
        try:
            with transaction.atomic(durable=True):
                draft.save(force_insert=True)
        except IntegrityError:
            draft.pk = None
            if draft.key is None:
                raise
            if first := AuditEntry.objects.filter(key=draft.key).first():
                return first, True
        else:
            return draft, False
    raise IntegrityError("the key of an action is taken and free at once")
