"""What came of an action, in words that a person understands."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy, pgettext_lazy

from queues.actions import Action, Outcome
from queues.audit.exceptional import besides, left
from queues.audit.found import counts, label, made, took_along
from queues.audit.steered import steered
from queues.audit.types import Status
from queues.models import AuditEntry
from queues.quantities import number

LOST_AFTER = timedelta(minutes=5)  # what was begun so long ago and has not ended lost its process
ID = 60  # characters of an id within a sentence

# Of one job, of several, and of some out of several; each with its own words, as languages join them differently.
_ONE: Mapping[str, Promise] = {
    Action.RETRY: gettext_lazy("Retried job %(job)s"),
    Action.PROMOTE: gettext_lazy("Promoted job %(job)s"),
    Action.DELAY: gettext_lazy("Rescheduled job %(job)s"),
    Action.PRIORITY: gettext_lazy("Changed the priority of job %(job)s"),
    Action.EDIT: gettext_lazy("Changed the data of job %(job)s"),
    Action.REMOVE: gettext_lazy("Removed job %(job)s"),
    Action.FAIL: gettext_lazy("Failed job %(job)s"),
    Action.REQUEUE: gettext_lazy("Put job %(job)s back in line"),
    Action.LOG: gettext_lazy("Added a line to the log of job %(job)s"),
    Action.DUPLICATE: gettext_lazy("Added job %(made)s as a copy of job %(job)s"),
    Action.RESTORE: gettext_lazy("Restored job %(job)s as job %(made)s"),
}
_ALL: Mapping[str, Promise] = {
    Action.RETRY: ngettext_lazy("Retried %(number)s job", "Retried %(number)s jobs", "count"),
    Action.PROMOTE: ngettext_lazy("Promoted %(number)s job", "Promoted %(number)s jobs", "count"),
    Action.DELAY: ngettext_lazy("Rescheduled %(number)s job", "Rescheduled %(number)s jobs", "count"),
    Action.PRIORITY: ngettext_lazy(
        "Changed the priority of %(number)s job", "Changed the priority of %(number)s jobs", "count"
    ),
    Action.REMOVE: ngettext_lazy("Removed %(number)s job", "Removed %(number)s jobs", "count"),
    Action.DRAIN: ngettext_lazy("Removed %(number)s job", "Removed %(number)s jobs", "count"),
    Action.CLEAN: ngettext_lazy("Removed %(number)s job", "Removed %(number)s jobs", "count"),
    Action.OBLITERATE: ngettext_lazy("Removed %(number)s job", "Removed %(number)s jobs", "count"),
    Action.FAIL: ngettext_lazy("Failed %(number)s job", "Failed %(number)s jobs", "count"),
    Action.REQUEUE: ngettext_lazy("Put %(number)s job back in line", "Put %(number)s jobs back in line", "count"),
}
_PART: Mapping[str, Promise] = {
    Action.RETRY: gettext_lazy("Retried %(done)s of %(asked)s"),
    Action.PROMOTE: gettext_lazy("Promoted %(done)s of %(asked)s"),
    Action.DELAY: gettext_lazy("Rescheduled %(done)s of %(asked)s"),
    Action.PRIORITY: gettext_lazy("Changed the priority of %(done)s of %(asked)s"),
    Action.REMOVE: gettext_lazy("Removed %(done)s of %(asked)s"),
    Action.FAIL: gettext_lazy("Failed %(done)s of %(asked)s"),
    Action.REQUEUE: gettext_lazy("Put %(done)s of %(asked)s back in line"),
}
_NONE = pgettext_lazy("how many jobs", "none")


def in_words(entry: AuditEntry) -> str:
    """One or two sentences in the active language: “Retried 41 of 50; 9 were already running”. Plain text."""
    if entry.status == Status.STARTED:
        return _begun(entry)
    if entry.status == Status.RUNNING:
        return _("It is under way")
    came_to = _outcome(entry)
    ends: Mapping[str, str] = {
        Status.REFUSED: _("Refused: %(why)s"),
        Status.FAILED: _("It failed: %(why)s"),
        Status.UNSURE: _("It is not known whether all of it was done: %(why)s"),
    }
    end = ends.get(entry.status, "%(why)s") % {"why": entry.note.strip()}
    if came_to and entry.note.strip().rstrip(".") in came_to:
        return came_to
    if not came_to or not end.strip():
        return came_to or end.strip()
    return _("%(came_to)s. %(end)s") % {"came_to": came_to, "end": end.strip()}


def _begun(entry: AuditEntry) -> str:
    if timezone.now() - entry.at > LOST_AFTER:
        return _("It was begun, and it is not known how it ended")
    return _("It was begun, and its end is not known yet")


def _outcome(entry: AuditEntry) -> str:
    """What it came to by its counts; "" where it has none."""
    told = counts(entry)
    if entry.action not in _ONE and entry.action not in _ALL:
        return steered(entry, told) if told or entry.status == Status.DONE else ""
    if not told:
        return _all(entry.action, 0, 0) if entry.status == Status.DONE else ""
    asked = sum(told.values())
    done = told.get(Outcome.DONE, 0)
    parts = [] if _lone(entry, asked) and not done else [_done(entry, done, asked)]
    parts += left(entry, told, lone=_lone(entry, asked))
    if along := took_along(entry):
        with_it = ngettext("%(number)s child went with it", "%(number)s children went with it", along)
        parts.append(with_it % {"number": number(along)})
    return "; ".join(parts) + besides(entry)


def _lone(entry: AuditEntry, asked: int) -> bool:
    """Whether the entry is about one job that it names."""
    return asked == 1 and len(entry.jobs) == 1


def _done(entry: AuditEntry, done: int, asked: int) -> str:
    if _lone(entry, asked) and entry.action in _ONE:
        ids = {"job": short(label(entry.jobs[0])), "made": short(label(made(entry)))}
        return str(_ONE[entry.action]) % ids
    return _all(entry.action, done, asked)


def _all(action: str, done: int, asked: int) -> str:
    if action in _PART and done < asked:
        return str(_PART[action]) % {"done": number(done) if done else str(_NONE), "asked": number(asked)}
    if action not in _ALL:
        return ""
    return str(_ALL[action] % {"count": done, "number": number(done)})


def short(text: str) -> str:
    return text if len(text) <= ID else text[: ID - 1] + "…"
