"""Sentences about what happened to a replay: why it stopped or holds, and the lines of its feed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext, ngettext

from dashboard.words import shown
from queues.models import ReplayLine
from queues.names import show_controls
from queues.quantities import UNKNOWN, duration, number
from queues.replay.types import Stop, Told

Facts = Mapping[str, Any]


def stop(value: Stop | str, facts: Facts) -> str:
    """Why a plan stopped by itself, or holds, as a sentence with the figures that are known; "" for NONE."""
    why = Stop(value)
    return _STOPS[why](facts) if why in _STOPS else ""


def line(told: ReplayLine) -> str:
    """A line of a plan's feed, as text. One of a kind that this version does not know is its kind."""
    try:
        say = _LINES[Told(told.kind)]
    except ValueError:
        return shown(told.kind)
    return say({**told.facts, "who": told.who})


def _figure(facts: Facts, name: str) -> float | None:
    value = facts.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _n(facts: Facts, name: str = "number") -> str:
    return number(_figure(facts, name))


def _t(facts: Facts, name: str, *, ms: int = 1000) -> str:
    value = _figure(facts, name)
    return UNKNOWN if value is None else duration(value * ms, whole=True)


def _text(facts: Facts, name: str) -> str:
    """A text that stands within a sentence: on one line, and without what moves the words around it."""
    return show_controls(shown(str(facts.get(name) or "")), keep="")


def pace(value: float | None) -> str:
    """Jobs a second: 20 a second, or as fast as the server takes them."""
    if value is None:
        return gettext("as fast as the server takes them")
    return gettext("%(pace)s a second") % {"pace": number(round(value, 2))}


def _jobs(facts: Facts, name: str = "number") -> str:
    value = _figure(facts, name)
    if value is None:
        return gettext("an unknown number of jobs")
    return ngettext("%(n)s job", "%(n)s jobs", int(value)) % {"n": number(value)}


def _stopped_by_canary(facts: Facts) -> str:
    if _figure(facts, "failed") is None:
        return gettext("Too many of the canary failed again.")
    if _figure(facts, "limit") is None:
        return gettext("%(failed)s of the canary failed again.") % {"failed": _n(facts, "failed")}
    told = {"failed": _n(facts, "failed"), "limit": _n(facts, "limit")}
    return gettext("%(failed)s of the canary failed again; at most %(limit)s may.") % told


def _stopped_by_failing(facts: Facts) -> str:
    if _figure(facts, "failed") is None:
        return gettext("Too many of the last ones failed again.")
    told = {"failed": _n(facts, "failed"), "of": _n(facts, "number"), "percent": _n(facts, "limit")}
    if _figure(facts, "limit") is None:
        return gettext("%(failed)s of the last %(of)s failed again.") % told
    return gettext("%(failed)s of the last %(of)s failed again; at most %(percent)s %% may.") % told


def _of_queue(facts: Facts, named: str, unnamed: str) -> str:
    queue = _text(facts, "queue")
    return named % {"queue": queue} if queue else unnamed


def _holds_by_depth(facts: Facts) -> str:
    told = {"n": _n(facts, "backlog"), "limit": _n(facts, "limit")}
    if _figure(facts, "backlog") is None:
        return gettext("More jobs wait in the target queue than you allow.")
    return gettext("%(n)s jobs wait in the target queue; you allow %(limit)s.") % told


def _holds_by_age(facts: Facts) -> str:
    told = {"age": _t(facts, "age_s"), "limit": _t(facts, "limit_s")}
    if _figure(facts, "age_s") is None:
        return gettext("The oldest waiting job of the target queue is older than you allow.")
    return gettext("The oldest waiting job of the target queue has waited for %(age)s; you allow %(limit)s.") % told


def _unwell(facts: Facts) -> str:
    note = _text(facts, "note")
    return gettext("The server is not well: %(note)s") % {"note": note} if note else gettext("The server is not well.")


def _away(facts: Facts) -> str:
    if _figure(facts, "seconds") is None:
        return gettext("The source has not answered for long.")
    return gettext("The source has not answered for %(time)s.") % {"time": _t(facts, "seconds")}


_STOPS: Mapping[Stop, Callable[[Facts], str]] = {
    Stop.CANARY: _stopped_by_canary,
    Stop.FAILING: _stopped_by_failing,
    Stop.PAUSED: lambda facts: _of_queue(
        facts, gettext("The queue %(queue)s is paused."), gettext("The target queue is paused.")
    ),
    Stop.NO_WORKER: lambda facts: _of_queue(
        facts, gettext("The queue %(queue)s has no worker."), gettext("The target queue has no worker.")
    ),
    Stop.UNWELL: _unwell,
    Stop.AWAY: _away,
    Stop.LOST: lambda facts: gettext("Its worker was lost, and you wanted to look first."),
    Stop.BLOCKED: lambda facts: gettext("What is left waits behind jobs of the same key that failed again."),
    Stop.DEPTH: _holds_by_depth,
    Stop.AGE: _holds_by_age,
    Stop.HOURS: lambda facts: gettext("It is outside of the hours in which jobs may be sent."),
}


def _by(facts: Facts, sentence: str, nobody: str) -> str:
    """A sentence about who did it, and to how many; `nobody` where no name is known."""
    who = _text(facts, "who")
    return (sentence if who else nobody) % {"who": who, "jobs": _jobs(facts)}


def _why(facts: Facts) -> str:
    try:
        return stop(str(facts.get("why") or ""), facts)
    except ValueError:
        return _text(facts, "why")


def _joined(first: str, second: str) -> str:
    return f"{first} {second}".rstrip()


def _changed_pace(facts: Facts) -> str:
    begin, end = _figure(facts, "pace_from"), _figure(facts, "pace_to")
    if begin is None or end is None or begin == end:
        told = {"who": _text(facts, "who"), "pace": pace(end)}
        return gettext("%(who)s set the pace: %(pace)s.") % told
    told = {"who": _text(facts, "who"), "from": number(begin), "to": number(end)}
    return gettext("%(who)s set the pace: from %(from)s to %(to)s a second.") % told


def _canary_passed(facts: Facts) -> str:
    told = {"ended": _n(facts, "ended"), "failed": _n(facts, "failed"), "limit": _n(facts, "limit")}
    return gettext("The canary passed: %(ended)s ended, %(failed)s of them failed again; at most %(limit)s may.") % told


def _canary_late(facts: Facts) -> str:
    told = {"ended": _n(facts, "ended"), "n": _n(facts), "failed": _n(facts, "failed")}
    said = gettext("The canary’s time is over: %(ended)s of %(n)s have ended, %(failed)s failed again.") % told
    return _joined(said, gettext("A person decides."))


def _paused(facts: Facts) -> str:
    return _by(facts, gettext("Paused by %(who)s."), _joined(gettext("Paused."), _why(facts)))


def _blind(facts: Facts) -> str:
    if _figure(facts, "number") is None:
        return gettext("Events were lost before they were read; jobs are looked at one by one.")
    return gettext("%(n)s events were lost before they were read; jobs are looked at one by one.") % {"n": _n(facts)}


def _refused(facts: Facts) -> str:
    said = _by(facts, gettext("%(who)s refused the approval."), gettext("The approval was refused."))
    reason = _text(facts, "reason")
    return _joined(said, gettext("“%(reason)s”") % {"reason": reason} if reason else "")


def _went_on(facts: Facts) -> str:
    said = _by(facts, gettext("%(who)s let it go on."), gettext("It went on."))
    if facts.get("rest") is True:
        said = _joined(said, gettext("The rest is sent, whatever came of the canary."))
    if facts.get("blocked") is True:
        said = _joined(said, gettext("What waits behind jobs that failed again is sent, too."))
    return said


def _down(facts: Facts) -> str:
    said = gettext("The source does not answer. The replay waits for it.")
    return _joined(said, _text(facts, "error"))


def _done(facts: Facts) -> str:
    told = {name: _n(facts, name) for name in ("completed", "failed", "other")}
    if _figure(facts, "other"):
        said = gettext("Done: %(completed)s completed, %(failed)s failed again, %(other)s gone or unknown.")
        return said % told
    if _figure(facts, "failed") and _figure(facts, "completed") == 0:
        return gettext("Ended: none completed, %(failed)s failed again.") % told
    return gettext("Done: %(completed)s completed, %(failed)s failed again.") % told


_LINES: Mapping[Told, Callable[[Facts], str]] = {
    Told.FROZEN: lambda facts: gettext("Its set is frozen: %(jobs)s.") % {"jobs": _jobs(facts)},
    Told.CHANGED: lambda facts: _by(facts, gettext("%(who)s changed the plan."), gettext("The plan was changed.")),
    Told.ASKED: lambda facts: _by(
        facts, gettext("%(who)s asks for approval."), gettext("The plan waits for approval.")
    ),
    Told.APPROVED: lambda facts: _by(facts, gettext("Approved by %(who)s."), gettext("Approved.")),
    Told.REFUSED: _refused,
    Told.ARMED: lambda facts: _by(
        facts,
        gettext("%(who)s started the replay of %(jobs)s."),
        gettext("The replay of %(jobs)s was started."),
    ),
    Told.TAKEN_BACK: lambda facts: _by(
        facts, gettext("%(who)s took the start back. Nothing was sent."), gettext("The start was taken back.")
    ),
    Told.STARTED: lambda facts: gettext("Sending began: %(jobs)s.") % {"jobs": _jobs(facts)},
    Told.CANARY_SENT: lambda facts: (
        gettext("The canary is sent: %(jobs)s. Their end is awaited.") % {"jobs": _jobs(facts)}
    ),
    Told.CANARY_PASSED: _canary_passed,
    Told.CANARY_LATE: _canary_late,
    Told.CLIMBED: lambda facts: gettext("The pace is now %(pace)s.") % {"pace": pace(_figure(facts, "pace"))},
    Told.PACE: _changed_pace,
    Told.HELD: lambda facts: _joined(gettext("Holds for now, and goes on by itself."), _why(facts)),
    Told.FREE: lambda facts: gettext("Goes on sending."),
    Told.PAUSED: _paused,
    Told.WENT_ON: _went_on,
    Told.STOPPED: lambda facts: _joined(gettext("Stopped by itself."), _why(facts)),
    Told.LOST: lambda facts: gettext("Its worker was lost; another one went on where it was."),
    Told.DOWN: _down,
    Told.UP: lambda facts: gettext("The source answers again."),
    Told.BLIND: _blind,
    Told.ALL_SENT: lambda facts: gettext("All are sent: %(jobs)s. Their end is awaited.") % {"jobs": _jobs(facts)},
    Told.CANCELLED: lambda facts: _by(
        facts,
        gettext("%(who)s cancelled the rest: %(jobs)s were not sent."),
        gettext("The rest was cancelled: %(jobs)s were not sent."),
    ),
    Told.DONE: _done,
}
