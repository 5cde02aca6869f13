"""The words for phases, places, fates, conflicts, reasons to stop, and for the lines of a plan's feed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from dashboard.words import shown
from queues.models import ReplayLine
from queues.quantities import UNKNOWN, duration, number
from queues.replay.types import Acts, Choice, From, Phase, Place, Stop, Told
from queues.sendings import Conflict, Fate

Facts = Mapping[str, Any]

PHASE_WORDS: Mapping[Phase, Promise] = {
    Phase.FREEZING: pgettext_lazy("replay", "being put together"),
    Phase.DRAFT: pgettext_lazy("replay", "draft"),
    Phase.WAITING: pgettext_lazy("replay", "waits for approval"),
    Phase.ARMED: pgettext_lazy("replay", "about to start"),
    Phase.CANARY: pgettext_lazy("replay", "canary"),
    Phase.DECIDING: pgettext_lazy("replay", "waits for a decision"),
    Phase.RUNNING: pgettext_lazy("replay", "running"),
    Phase.ENDING: pgettext_lazy("replay", "waits for the last ones"),
    Phase.PAUSED: pgettext_lazy("replay", "paused"),
    Phase.STOPPED: pgettext_lazy("replay", "stopped by itself"),
    Phase.CANCELLING: pgettext_lazy("replay", "being cancelled"),
    Phase.DONE: pgettext_lazy("replay", "done"),
    Phase.CANCELLED: pgettext_lazy("replay", "cancelled"),
    Phase.FAILED: pgettext_lazy("replay", "could not be put together"),
}
# The colour of a phase and its glyph, as job states have them: `s-<colour>` and `i-<glyph>`.
MARKS: Mapping[Phase, tuple[str, str]] = {
    Phase.FREEZING: ("waiting", "waiting"),
    Phase.DRAFT: ("waiting", "waiting"),
    Phase.WAITING: ("warn", "info"),
    Phase.ARMED: ("active", "delayed"),
    Phase.CANARY: ("active", "active"),
    Phase.DECIDING: ("warn", "warn"),
    Phase.RUNNING: ("active", "active"),
    Phase.ENDING: ("active", "active"),
    Phase.PAUSED: ("paused", "paused"),
    Phase.STOPPED: ("warn", "warn"),
    Phase.CANCELLING: ("paused", "gone"),
    Phase.DONE: ("completed", "completed"),
    Phase.CANCELLED: ("paused", "gone"),
    Phase.FAILED: ("failed", "failed"),
}
PLACE_WORDS: Mapping[Place, Promise] = {
    Place.LEFT_OUT: pgettext_lazy("replay", "left out"),
    Place.HELD: pgettext_lazy("replay", "waits for the one before it"),
    Place.READY: pgettext_lazy("replay", "to be sent"),
    Place.SENT: pgettext_lazy("replay", "sent"),
    Place.REFUSED: pgettext_lazy("replay", "refused"),
    Place.BACK: pgettext_lazy("replay", "not sent, cancelled"),
}
FATE_WORDS: Mapping[Fate, Promise] = {
    Fate.NONE: pgettext_lazy("replay", "not heard of yet"),
    Fate.WAITING: pgettext_lazy("replay", "waiting"),
    Fate.RUNNING: pgettext_lazy("replay", "running"),
    Fate.RETRYING: pgettext_lazy("replay", "retrying"),
    Fate.COMPLETED: pgettext_lazy("replay", "completed"),
    Fate.FAILED: pgettext_lazy("replay", "failed again"),
    Fate.GONE: pgettext_lazy("replay", "removed before it ended"),
    Fate.UNKNOWN: pgettext_lazy("replay", "unknown: events were lost"),
}
CONFLICT_WORDS: Mapping[Conflict, Promise] = {
    Conflict.NONE: _("Nothing is in the way"),
    Conflict.LEFT: _("No longer there as it was"),
    Conflict.GONE: _("The job is gone"),
    Conflict.TWIN: _("A newer job holds its deduplication id"),
    Conflict.ID_KEPT: _("A job with this id is there already"),
    Conflict.PARENT_FAILED: _("Parent has failed meanwhile"),
    Conflict.PARENT_GONE: _("Parent is gone, or went on without it"),
    Conflict.OTHER_PLAN: _("Another plan is to send it"),
    Conflict.SENT_BEFORE: _("A replay has sent it already"),
    Conflict.DOUBLE: _("Another letter of the same job is part of this plan"),
    Conflict.DAMAGED: _("No worker could read it"),
    Conflict.UNMAPPED: _("The letter does not tell where it came from"),
    Conflict.UNFIT: _("The edit does not fit its data"),
    Conflict.NO_KEY: _("Nothing stands at the path of the key"),
    Conflict.BEFORE_IT: _("A job before it of the same key failed again"),
    Conflict.REFUSED: _("The server refused it"),
}
# The colour of a conflict and its glyph, as `MARKS`.
CONFLICT_MARKS: Mapping[Conflict, tuple[str, str]] = {
    Conflict.LEFT: ("completed", "completed"),
    Conflict.GONE: ("paused", "gone"),
    Conflict.TWIN: ("waiting", "waiting"),
    Conflict.ID_KEPT: ("waiting", "waiting"),
    Conflict.PARENT_FAILED: ("waiting-children", "waiting-children"),
    Conflict.PARENT_GONE: ("waiting-children", "waiting-children"),
    Conflict.OTHER_PLAN: ("active", "active"),
    Conflict.SENT_BEFORE: ("completed", "completed"),
    Conflict.DOUBLE: ("waiting", "waiting"),
    Conflict.REFUSED: ("failed", "failed"),
}
DOES_SKIP: Mapping[Conflict, Promise] = {
    Conflict.LEFT: _("Skips them and lists them in the outcome: somebody else has dealt with them."),
    Conflict.GONE: _("Skips them: nothing is left to send."),
    Conflict.TWIN: _("Skips them: the newer job does the work."),
    Conflict.ID_KEPT: _("Skips them: the job that is there stays as it is."),
    Conflict.PARENT_FAILED: _("Skips them: nobody waits for what they would return."),
    Conflict.PARENT_GONE: _("Skips them: nobody waits for what they would return."),
    Conflict.OTHER_PLAN: _("Skips them: the other plan sends them."),
    Conflict.SENT_BEFORE: _("Skips them: no job is sent twice."),
    Conflict.DOUBLE: _("Skips them: the job is sent once, and these letters stay."),
    Conflict.DAMAGED: _("Skips them: look at each, and add it anew by hand."),
    Conflict.UNMAPPED: _("Skips them: say how the letters of this queue are read, or choose a queue to send them to."),
    Conflict.UNFIT: _("Skips them: their data stay as they are."),
    Conflict.NO_KEY: _("Skips them: there is no saying which job they must follow."),
    Conflict.BEFORE_IT: _("Leaves them out: to send them would break the order."),
    Conflict.REFUSED: _("Lists them in the outcome with what the server said."),
}
DOES_SEND: Mapping[Conflict, Promise] = {
    Conflict.TWIN: _("Sends them all the same: both jobs will run."),
    Conflict.ID_KEPT: _("Sends them under a new id: the job that is there stays, too."),
    Conflict.PARENT_FAILED: _("Sends them all the same, although their parent will not see what they return."),
    Conflict.PARENT_GONE: _("Sends them all the same, although no parent waits for them."),
    Conflict.SENT_BEFORE: _("Sends them a second time. What they do outside the queue happens again."),
    Conflict.NO_KEY: _("Sends them without regard to the others."),
}
ACTS_WORDS: Mapping[Acts, Promise] = {
    Acts.RETRY: pgettext_lazy("replay", "retried in place"),
    Acts.COPY: pgettext_lazy("replay", "sent as a new job"),
}
FROM_WORDS: Mapping[From, Promise] = {
    From.JOB: pgettext_lazy("replay", "a job"),
    From.SELECTION: pgettext_lazy("replay", "a selection"),
    From.GROUP: pgettext_lazy("replay", "a group of failures"),
    From.STATE: pgettext_lazy("replay", "a state of a queue"),
    From.LETTERS: pgettext_lazy("replay", "dead letters"),
}


def phase(value: Phase | str) -> str:
    """Where a plan stands, within a sentence. ValueError for what is no phase; so of all below."""
    return str(PHASE_WORDS[Phase(value)])


def mark(value: Phase | str) -> tuple[str, str]:
    """The colour of a phase (`s-...`) and its glyph (`i-...`)."""
    return MARKS[Phase(value)]


def place(value: Place | str) -> str:
    """Where a job stands in its plan."""
    return str(PLACE_WORDS[Place(value)])


def fate(value: Fate | str) -> str:
    """What became of a job that was sent."""
    return str(FATE_WORDS[Fate(value)])


def acts(value: Acts | str) -> str:
    """What sending it means."""
    return str(ACTS_WORDS[Acts(value)])


def conflict(value: Conflict | str) -> str:
    """What was found about a job."""
    return str(CONFLICT_WORDS[Conflict(value)])


def conflict_mark(value: Conflict | str) -> tuple[str, str]:
    """The colour of a conflict (`s-...`) and its glyph (`i-...`)."""
    return CONFLICT_MARKS.get(Conflict(value), ("warn", "warn"))


def does(value: Conflict | str, choice: Choice | str) -> str:
    """What the plan does about a conflict, as a sentence."""
    found = Conflict(value)
    if Choice(choice) is Choice.SEND and found in DOES_SEND:
        return str(DOES_SEND[found])
    return str(DOES_SKIP.get(found, ""))


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
    return shown(str(facts.get(name) or ""))


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
    Stop.AWAY: lambda facts: gettext("The source has not answered for long."),
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


def _done(facts: Facts) -> str:
    told = {name: _n(facts, name) for name in ("completed", "failed", "other")}
    if _figure(facts, "other"):
        said = gettext("Done: %(completed)s completed, %(failed)s failed again, %(other)s gone or unknown.")
        return said % told
    return gettext("Done: %(completed)s completed, %(failed)s failed again.") % told


_LINES: Mapping[Told, Callable[[Facts], str]] = {
    Told.FROZEN: lambda facts: gettext("Its set is frozen: %(jobs)s.") % {"jobs": _jobs(facts)},
    Told.CHANGED: lambda facts: _by(facts, gettext("%(who)s changed the plan."), gettext("The plan was changed.")),
    Told.ASKED: lambda facts: _by(
        facts, gettext("%(who)s asks for approval."), gettext("The plan waits for approval.")
    ),
    Told.APPROVED: lambda facts: _by(facts, gettext("Approved by %(who)s."), gettext("Approved.")),
    Told.REFUSED: lambda facts: _by(
        facts, gettext("%(who)s refused the approval."), gettext("The approval was refused.")
    ),
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
    Told.WENT_ON: lambda facts: _by(facts, gettext("%(who)s let it go on."), gettext("It went on.")),
    Told.STOPPED: lambda facts: _joined(gettext("Stopped by itself."), _why(facts)),
    Told.LOST: lambda facts: gettext("Its worker was lost; another one went on where it was."),
    Told.DOWN: lambda facts: gettext("The source does not answer. The replay waits for it."),
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
