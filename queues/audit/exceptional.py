"""The jobs to which something else happened than was asked for, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy, pgettext_lazy

from queues.actions import MOVES, Action, Outcome
from queues.audit.found import Exceptional, exceptions, label, made
from queues.models import AuditEntry
from queues.quantities import duration, number
from queues.types import State

_STATE = {
    State.WAITING: pgettext_lazy("state of jobs", "waiting"),
    State.PRIORITIZED: pgettext_lazy("state of jobs", "waiting by priority"),
    State.ACTIVE: pgettext_lazy("state of jobs", "running"),
    State.DELAYED: pgettext_lazy("state of jobs", "delayed"),
    State.WAITING_CHILDREN: pgettext_lazy("state of jobs", "waiting for children"),
    State.COMPLETED: pgettext_lazy("state of jobs", "completed"),
    State.FAILED: pgettext_lazy("state of jobs", "failed"),
}
_SOME = {
    Outcome.ALREADY: ngettext_lazy("%(number)s was so already", "%(number)s were so already", "count"),
    Outcome.GONE: ngettext_lazy("%(number)s was gone", "%(number)s were gone", "count"),
    Outcome.WRONG_STATE: ngettext_lazy(
        "%(number)s was in another state by then", "%(number)s were in another state by then", "count"
    ),
    Outcome.LOCKED: ngettext_lazy("%(number)s is held by a worker", "%(number)s are held by workers", "count"),
    Outcome.SCHEDULED: ngettext_lazy(
        "%(number)s is a scheduler’s next run and was kept",
        "%(number)s are schedulers’ next runs and were kept",
        "count",
    ),
    Outcome.CHILDREN: ngettext_lazy(
        "%(number)s has children that have not ended", "%(number)s have children that have not ended", "count"
    ),
    Outcome.CHANGED: ngettext_lazy(
        "%(number)s was changed by somebody else meanwhile",
        "%(number)s were changed by somebody else meanwhile",
        "count",
    ),
    Outcome.UNSUPPORTED: ngettext_lazy(
        "it cannot be done to %(number)s of them", "it cannot be done to %(number)s of them", "count"
    ),
}
# Of jobs that had left their state and were back in it.
_BACK = {
    State.FAILED: ngettext_lazy(
        "%(number)s had failed again since the list was read",
        "%(number)s had failed again since the list was read",
        "count",
    ),
    State.COMPLETED: ngettext_lazy(
        "%(number)s had completed again since the list was read",
        "%(number)s had completed again since the list was read",
        "count",
    ),
}
_BACK_ELSEWHERE = ngettext_lazy(
    "%(number)s was %(state)s again since the list was read",
    "%(number)s were %(state)s again since the list was read",
    "count",
)
_WAITED = ngettext_lazy("%(number)s was already waiting", "%(number)s were already waiting", "count")
_ELSEWHERE = ngettext_lazy("%(number)s was already %(state)s", "%(number)s were already %(state)s", "count")


def left(entry: AuditEntry, told: Mapping[Outcome, int], *, lone: bool) -> list[str]:
    """What became of the jobs that were not done, a part of a sentence each. `lone`: of the one that it is about."""
    kept = exceptions(entry)
    if lone and kept and Outcome.DONE not in told:
        return [_lone(entry, kept[0])]
    return [
        part
        for outcome, count in told.items()
        if outcome is not Outcome.DONE
        for part in _some(entry, outcome, count, kept)
    ]


def _some(entry: AuditEntry, outcome: Outcome, count: int, kept: Sequence[Exceptional]) -> list[str]:
    these = [each for each in kept if each.outcome is outcome]
    if outcome is Outcome.WRONG_STATE and len(these) == count and all(each.state for each in these):
        by_state = Counter(each.state for each in these if each.state)
        return [_elsewhere(entry, state, some) for state, some in by_state.most_common()]
    phrase = _WAITED if outcome is Outcome.ALREADY and entry.action in MOVES else _SOME[outcome]
    part = str(phrase % {"count": count, "number": number(count)})
    return [part + _why(these) + _by(these)]


def _elsewhere(entry: AuditEntry, state: State, some: int) -> str:
    phrase = _BACK.get(state, _BACK_ELSEWHERE) if state == entry.parameters.get("state") else _ELSEWHERE
    return str(phrase % {"count": some, "number": number(some), "state": _STATE[state]})


def is_back(entry: AuditEntry, told: Exceptional) -> bool:
    """Whether a job had left the state in which it was seen, and was there again: what was seen is over."""
    return (
        told.outcome is Outcome.WRONG_STATE and told.state is not None and told.state == entry.parameters.get("state")
    )


def besides(entry: AuditEntry) -> str:
    """What there is to know about jobs that were done, where it is the same for all of those."""
    reasons = {each.why for each in exceptions(entry) if each.outcome is Outcome.DONE}
    return f". {reasons.pop()}" if len(reasons) == 1 and "" not in reasons else ""


def _why(these: Sequence[Exceptional]) -> str:
    """The reason, where all have the same."""
    reasons = {each.why for each in these if each.outcome is not Outcome.SCHEDULED}
    return f" ({reasons.pop().rstrip('.')})" if len(reasons) == 1 and "" not in reasons else ""


def _by(these: Sequence[Exceptional]) -> str:
    """Who had done it, where that was one person."""
    found = {each.by for each in these}
    if len(found) != 1 or "" in found or these[0].at is None:
        return ""
    return _(" (by %(name)s at %(time)s)") % {"name": these[0].by, "time": moment(these[0].at)}


def _lone(entry: AuditEntry, told: Exceptional) -> str:
    job = _short(told.label)
    state = _STATE[told.state] if told.state else ""
    sentences = {
        Outcome.ALREADY: _("Job %(job)s was so already: nothing was done"),
        Outcome.GONE: _("Job %(job)s is gone"),
        Outcome.WRONG_STATE: _("Job %(job)s is in another state by now: nothing was done"),
        Outcome.LOCKED: _("Job %(job)s is held by a worker: nothing was done"),
        Outcome.SCHEDULED: _("Job %(job)s is a scheduler’s next run and was kept"),
        Outcome.CHILDREN: _("Job %(job)s has children that have not ended: nothing was done"),
        Outcome.CHANGED: _("Job %(job)s was changed by somebody else meanwhile: nothing was done"),
        Outcome.UNSUPPORTED: _("This cannot be done to job %(job)s"),
    }
    sentence = sentences[told.outcome]
    if told.outcome is Outcome.ALREADY and entry.action in MOVES:
        sentence = _("Job %(job)s is already waiting")
    elif is_back(entry, told):
        sentence = _back(told.state)
    elif told.outcome is Outcome.WRONG_STATE and state:
        sentence = _("Job %(job)s is %(state)s by now: nothing was done")
    elif told.outcome is Outcome.LOCKED and told.lock_ms:
        sentence = _("Job %(job)s is held by a worker, for %(span)s more unless renewed: nothing was done")
    elif told.outcome is Outcome.CHANGED and entry.action == Action.RESTORE:
        sentence = _("Job %(job)s was not restored")
    elif told.outcome is Outcome.ALREADY and entry.action == Action.RESTORE and made(entry):
        sentence = _("Job %(job)s was restored already, as job %(made)s")
    about = {"job": job, "made": _short(label(made(entry))), "state": state, "span": duration(told.lock_ms, whole=True)}
    why = f". {told.why}" if told.why and told.outcome is not Outcome.SCHEDULED else ""
    return sentence % about + _by([told]) + why


def _back(state: State | None) -> str:
    if state is State.FAILED:
        return _("Job %(job)s was run again since the page was read, and has failed again: nothing was done")
    if state is State.COMPLETED:
        return _("Job %(job)s was run again since the page was read, and has completed again: nothing was done")
    return _("Job %(job)s was in another state since the page was read, and is %(state)s again: nothing was done")


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def moment(at: datetime) -> str:
    """A moment within a sentence: the time of day, with its date when that is not today's."""
    at = timezone.localtime(at)
    day = "" if at.date() == timezone.localdate() else date_format(at, "j M ")
    return f"{day}{date_format(at, 'H:i')} {at.tzname() or ''}".strip()
