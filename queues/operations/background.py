"""What is done to many jobs or a whole queue: begun here, run in the background by `queues.bulk`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from django.db import transaction
from django.utils.translation import gettext as _

from queues import audit
from queues.actions import Action, Clock, Target
from queues.audit.tally import Tally
from queues.audit.types import Asked
from queues.backend import Events
from queues.bulk import indexed, starting, verbs
from queues.bulk.freezing import slugs
from queues.bulk.packing import pack
from queues.errors import WrongState
from queues.failures.occurrences import Which
from queues.models import AuditEntry, FailureGroup
from queues.operations.guard import begun, completing, ensure_few
from queues.outages import watched
from queues.quantities import instant
from queues.types import Counts, QueueRef, State

STOP = "stop"
_WAITING = (State.WAITING, State.PRIORITIZED)


def start_bulk(
    asked: Asked,
    queue: QueueRef,
    action: Action,
    targets: Sequence[Target] | None,
    *,
    state: State | None,
    name: str = "",
    expected: int | None = None,
    until_ms: int | None = None,
    parameters: Mapping[str, object] | None = None,
    group: FailureGroup | None = None,
    which: Which | None = None,
) -> AuditEntry:
    """Do `action` to these targets, or (None) to all jobs of `state` whose name holds `name`. Answers at once: running.

    `until_ms` is the server's clock when it was confirmed, and `expected` how many jobs there were then. `parameters`
    are those of the method of `queues.backend.Actions`. With `group` it is about that group of failures, and without
    targets about the jobs of its failures that are `which`, as the index knows them now. BadInput, unwritten, for what
    no form of ours asks for.
    """
    given = dict(parameters or {})
    verbs.check(action, state, given, frozen=targets is not None)
    verbs.check_name(name)
    values = {"state": state or "", "parameters": given}
    told = {"failed_reason" if each == "reason" else each: value for each, value in given.items()}
    if state:
        told["state"] = state.value
    if targets is not None:
        picked = tuple(targets)
        return _started(
            *(asked, queue, action, lambda entry: starting.frozen(entry, picked, **values)),
            jobs=slugs(queue, picked),
            number=len(picked),
            parameters=told,
            exact=pack(picked),
            group=group,
        )
    failures = indexed.frozen(group, which or Which()) if group else {}

    def begin(entry: AuditEntry) -> None:
        until = _now(queue) if until_ms is None else until_ms
        starting.matching(entry, name=name, expected=expected, until_ms=until, failures=failures, **values)

    meant = of_group(group, which or Which()) if group else selection(cast(State, state), name)
    return _started(*(asked, queue, action, begin), number=expected, parameters=told, selection=meant, group=group)


def drain(asked: Asked, queue: QueueRef, *, delayed: bool) -> AuditEntry:
    """Remove all jobs that wait, or are delayed too. Answers at once: running."""
    states = (*_WAITING, State.DELAYED) if delayed else _WAITING
    parameters = {"delayed": delayed}
    return _started(*(asked, queue, Action.DRAIN, _sweeping(queue, states, "", parameters)), parameters=parameters)


def clean(asked: Asked, queue: QueueRef, state: State, *, clock: Clock, older_ms: int) -> AuditEntry:
    """Remove the jobs of a state that are older than so many ms by a clock. Answers at once: running."""
    verbs.check_clock(state, clock)
    told = {"state": state.value, "clock": clock.value, "older_ms": older_ms}
    return _started(*(asked, queue, Action.CLEAN, _sweeping(queue, (state,), state.value, told)), parameters=told)


def obliterate(asked: Asked, queue: QueueRef, *, force: bool) -> AuditEntry:
    """Remove a paused queue with all it holds. Answers at once: running.

    WrongState where it is not paused, or, without `force`, while jobs of it are active.
    """
    parameters = {"force": force}
    begin = _sweeping(queue, tuple(State), "", parameters, check=lambda counts: _check_obliterate(counts, force))
    return _started(*(asked, queue, Action.OBLITERATE, begin), parameters=parameters)


def stop(asked: Asked, entry: AuditEntry) -> AuditEntry:
    """Ask a running action to stop after its step. Gives the entry of the asking.

    WrongState where it has ended; the entry says so then.
    """
    queue = QueueRef.from_slug(entry.source, entry.queue)
    told = {"entry": entry.pk, "action": entry.action}
    with transaction.atomic():
        if starting.ask_to_stop(entry, asked.by.name):
            return audit.record(asked.by, STOP, queue=queue, parameters=told, reason=asked.reason)
    text = _("This action has ended: there is nothing to stop.")
    audit.refused(asked.by, STOP, queue=queue, reason=asked.reason, note=text)
    raise WrongState(text)


def _started(
    asked: Asked,
    queue: QueueRef,
    action: Action,
    begin: Callable[[AuditEntry], None],
    **told: Any,
) -> AuditEntry:
    """The entry, then everything that may refuse, then the rows that a worker takes up."""
    start = begun(asked, action, queue, **told)
    if not start.again:
        with completing(start.entry, Tally(), when_done=None):
            begin(start.entry)
    return start.entry


def _sweeping(
    queue: QueueRef,
    states: Sequence[State],
    state: str,
    parameters: Mapping[str, object],
    *,
    check: Callable[[Counts], None] = lambda counts: None,
) -> Callable[[AuditEntry], None]:
    """Begins a sweep over the jobs that are in these states now."""

    def begin(entry: AuditEntry) -> None:
        with watched(queue.source) as reader:
            counts = reader.counts([queue])[queue]
        until, given = _now(queue), dict(parameters)
        check(counts)
        expected = _sum(counts, states)
        AuditEntry.objects.filter(pk=entry.pk).update(asked=expected)
        entry.asked = expected
        ensure_few(expected)
        if "older_ms" in given:
            given["before_ms"] = until - int(cast(int, given["older_ms"]))
        starting.sweep(entry, state=state, expected=expected, until_ms=until, parameters=given)

    return begin


def _check_obliterate(counts: Counts, force: bool) -> None:
    if not counts.paused:
        raise WrongState(_("Only a paused queue can be removed: pause it first."))
    if not force and counts[State.ACTIVE]:
        raise WrongState(_("Jobs of this queue are active: wait for them, or remove them by force."))


def _sum(counts: Counts, states: Sequence[State]) -> int | None:
    found = [counts[state] for state in states]
    return None if None in found else sum(count or 0 for count in found)


def _now(queue: QueueRef) -> int:
    with watched(queue.source) as reader:
        return cast(Events, reader).server_ms()


def of_group(group: FailureGroup, which: Which) -> str:
    """All of a group, in words."""
    parts = [
        _("all failed jobs of the group “%(title)s” (%(slug)s)") % {"title": group.title[:200], "slug": group.slug}
    ]
    told = ((which.since_ms, _("failed since %(at)s")), (which.until_ms, _("failed before %(at)s")))
    parts += [text % {"at": f"{at:%Y-%m-%d %H:%M:%S} UTC"} for ms, text in told if (at := instant(ms))]
    if which.name is not None:
        parts.append(_("named “%(name)s”") % {"name": which.name[:200]})
    if which.worker is not None:
        parts.append(_("by the worker “%(worker)s”") % {"worker": which.worker[:200]})
    return ", ".join(parts)


def selection(state: State, name: str) -> str:
    """All that match, in words."""
    if name:
        return _("all %(state)s jobs whose name holds “%(name)s”") % {"state": state.value, "name": name[:200]}
    return _("all %(state)s jobs") % {"state": state.value}
