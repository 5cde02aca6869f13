"""What came of an action on a queue itself, in words."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, ngettext_lazy

from queues.actions import Action, Outcome
from queues.audit.found import exceptions, label, made, took_along
from queues.models import AuditEntry
from queues.quantities import duration, number

_AT_ONCE = ngettext_lazy("At most %(most)s job runs at once now", "At most %(most)s jobs run at once now", "count")
_IN_TIME = ngettext_lazy(
    "At most %(most)s job starts in %(span)s now", "At most %(most)s jobs start in %(span)s now", "count"
)


def steered(entry: AuditEntry, told: Mapping[Outcome, int]) -> str:
    """What an action on a queue, or one that is none of `Action`, came to; "" where there is nothing to say."""
    if entry.action == "replay":
        return ""  # its outcomes are others than those of actions: its note tells them
    done = told.get(Outcome.DONE, 0)
    if not done and told:
        return _undone(entry, told)
    if entry.action == Action.REMOVE_CHILDREN:
        along = took_along(entry)
        text = ngettext("Removed %(number)s child", "Removed %(number)s children", along)
        return text % {"number": number(along)}
    if entry.action == Action.ADD:
        return _("Added job %(job)s") % {"job": label(made(entry))}
    if entry.action == Action.CONCURRENCY:
        return _limit(entry, _AT_ONCE, _("Any number of jobs may run at once now"))
    if entry.action == Action.RATE_LIMIT:
        return _limit(entry, _IN_TIME, _("Any number of jobs may start in any time now"))
    if entry.action == Action.RELEASE_DEDUPLICATION:
        why = next((each.why for each in exceptions(entry) if each.why), "")
        return ". ".join(filter(None, (_("The deduplication id is free again"), why.rstrip("."))))
    if entry.action == Action.TRIM_EVENTS:
        return ngettext("Removed %(number)s event", "Removed %(number)s events", done) % {"number": number(done)}
    if entry.action == "failure-ignore":
        return _ignored(entry)
    plain: Mapping[str, str] = {
        "failure-resolve": _("Resolved"),
        "failure-reopen": _("Open again"),
        Action.PAUSE: _("Paused"),
        Action.RESUME: _("Resumed"),
        Action.RELEASE_LIMIT: _("The wait for the rate limit has ended: workers take jobs within 30 seconds"),
        "sign-in": _("Signed in"),
        "sign-out": _("Signed out"),
        "plan-replay": _("A plan was made; nothing was sent"),
        "replay-approve": _("Approved"),
        "replay-refuse": _("Not approved"),
        "replay-take-back": _("Taken back before anything was sent"),
        "replay-pause": _("Paused"),
        "replay-go-on": _("Goes on"),
        "replay-change": _("The plan was changed"),
        "replay-pace": _("The pace was changed"),
        "replay-cancel": _("Cancelled: nothing more is sent"),
        "replay-discard": _("Discarded"),
        "replay-limits": _("Set"),
    }
    return plain.get(entry.action, "")


def _ignored(entry: AuditEntry) -> str:
    """Until when a group of failures is ignored."""
    until, total, rate = (entry.parameters.get(name) for name in ("until", "total", "rate"))
    ends = []
    if until:
        ends.append(_("%(time)s UTC") % {"time": str(until)[:16].replace("T", " ")})
    if isinstance(total, int):
        ends.append(_("%(number)s failures in all") % {"number": number(total)})
    if isinstance(rate, int):
        ends.append(_("%(number)s failures within an hour") % {"number": number(rate)})
    return _("Ignored until %(ends)s") % {"ends": _(" or ").join(ends)} if ends else _("Ignored")


def _undone(entry: AuditEntry, told: Mapping[Outcome, int]) -> str:
    why = next((each.why for each in exceptions(entry) if each.why), "")
    if why:
        return why.rstrip(".")
    if Outcome.ALREADY in told:
        return _already(entry)
    plain = {
        Outcome.GONE: _("There is nothing left to do this to"),
        Outcome.WRONG_STATE: _("It is in another state by now: nothing was done"),
        Outcome.LOCKED: _("A worker holds it: nothing was done"),
        Outcome.UNSUPPORTED: _("This cannot be done here"),
        Outcome.CHANGED: _("Something else is in its place: nothing was done"),
    }
    return next((plain[outcome] for outcome in told if outcome in plain), _("Nothing was done"))


def _already(entry: AuditEntry) -> str:
    plain: Mapping[str, str] = {
        Action.PAUSE: _("It was paused already"),
        Action.RESUME: _("It was running already"),
        Action.ADD: _("There is a job with this id already: nothing was added"),
        Action.RELEASE_LIMIT: _("No rate limit was waited for"),
        Action.RELEASE_DEDUPLICATION: _("The deduplication id was free already"),
    }
    return plain.get(entry.action, _("It was so already: nothing was done"))


def _limit(entry: AuditEntry, limited: Promise, unlimited: str) -> str:
    most, span = entry.parameters.get("most"), entry.parameters.get("duration_ms")
    if most is None:
        return unlimited
    return str(limited % {"count": most, "most": number(most), "span": duration(span)})
