"""What a person must know before something is done to a queue, in sentences and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.actions.ask import say
from dashboard.actions.subject import QueueSubject
from dashboard.words import STATE_WORDS
from queues.actions import Action
from queues.quantities import duration, number
from queues.types import QueueRef, State

IN_LINE = (State.WAITING, State.PRIORITIZED)


def says(action: Action, about: QueueSubject) -> Sequence[str]:
    """What will happen, each in a sentence."""
    return [said for said in _SAYS.get(action, _nothing)(about) if said]


def warnings(action: Action, about: QueueSubject) -> Sequence[str]:
    """What may be unexpected about it."""
    return [said for said in _WARNS.get(action, _nothing)(about) if said]


def off(action: Action, about: QueueSubject) -> str:
    """Why it cannot be done to the queue as it is now; "" when it can."""
    if action is Action.OBLITERATE and not about.info.counts.paused:
        return _("The queue is not paused. Pause it first, so that no worker takes a job meanwhile.")
    return ""


def facts(action: Action, about: QueueSubject) -> Sequence[tuple[str, object]]:
    """The depths that an action is about, as they are now."""
    states = _DEPTHS.get(action, ())
    return [(str(STATE_WORDS[state]), number(about.info.counts[state])) for state in states]


def links(action: Action, ref: QueueRef) -> Sequence[tuple[str, str]]:
    """Pages that help to choose: address and words."""
    if action is not Action.RELEASE_DEDUPLICATION:
        return []
    return [(reverse("deduplication", args=[ref.source, ref.slug]), _("Look which ids are held, and which are stale"))]


def _nothing(about: QueueSubject) -> Sequence[str]:
    return ()


def _waits(about: QueueSubject) -> str:
    waits = about.info.counts.backlog
    said = ngettext("{n} job waits now.", "{n} jobs wait now.", waits)
    return say(said, n=number(waits))


def _pause(about: QueueSubject) -> Sequence[str]:
    active = about.info.counts[State.ACTIVE]
    held = (
        _("No job is being worked on.")
        if active == 0
        else say(
            ngettext(
                "{n} job is being worked on and will finish.",
                "{n} jobs are being worked on and will finish.",
                active or 2,
            ),
            n=number(active),
        )
    )
    return (
        _("Workers take no more jobs until the queue is resumed. Jobs can still be added."),
        held,
        _waits(about),
    )


def _resume(about: QueueSubject) -> Sequence[str]:
    return (_("Workers take jobs again at once, in the order in which they wait."), _waits(about))


def _idle(about: QueueSubject) -> Sequence[str]:
    return (_("No worker is connected to this queue: its jobs wait until one is."),) if about.workers == 0 else ()


def _add_warns(about: QueueSubject) -> Sequence[str]:
    paused = _("The queue is paused: the job will wait until it is resumed.") if about.info.counts.paused else ""
    return (paused, *_idle(about))


def _concurrency(about: QueueSubject) -> Sequence[str]:
    most = about.info.counts.concurrency
    now = say(_("Now: at most {n} at once."), n=number(most)) if most else _("Now: no limit.")
    return (now, _("It holds from the next job on; jobs being worked on will finish."))


def _rate(about: QueueSubject) -> Sequence[str]:
    counts = about.info.counts
    if not counts.rate_max:
        return (_("Now: no limit for the whole queue. Workers may have one of their own, which stays."),)
    span = duration(counts.rate_duration_ms)
    return (say(_("Now: at most {n} in {span}."), n=number(counts.rate_max), span=span),)


def _release(about: QueueSubject) -> Sequence[str]:
    left = about.info.limited_for_ms
    if not left:
        return (_("The queue is not held by a rate limit now: there is nothing to release."),)
    said = _("No worker takes a job for {span} more. After this, they take jobs again; the limit itself stays.")
    late = _("A worker that has been told to wait sleeps for up to 30 seconds before it looks again.")
    return (say(said, span=duration(left)), late)


def _deduplication(about: QueueSubject) -> Sequence[str]:
    return (
        _("While a job holds a deduplication id, others with the same id are not added."),
        _("It is released only where the job that holds it is gone or has ended. No job is changed."),
        _(
            "Where a further job was to follow the holder, as “keep last if active” has it, that one is kept. It runs "
            "after the next job of this id has ended."
        ),
    )


def _drain(about: QueueSubject) -> Sequence[str]:
    return (
        _("All waiting jobs are removed, with their data and logs. Jobs being worked on will finish."),
        _("Jobs added after you confirm stay. It runs in the background and can be stopped."),
    )


def _undoable(about: QueueSubject) -> Sequence[str]:
    return (_("This cannot be undone: no copies are kept."),)


def _drain_warns(about: QueueSubject) -> Sequence[str]:
    parents = about.info.counts[State.WAITING_CHILDREN]
    families = _("Parents whose children are removed no longer wait for them.") if parents else ""
    return (*_undoable(about), families)


def _clean(about: QueueSubject) -> Sequence[str]:
    schedules = about.info.schedulers
    said = ngettext("The next run of {n} schedule stays.", "The next runs of {n} schedules stay.", schedules)
    return (
        _("You are shown what would go first: nothing is removed yet."),
        say(said, n=number(schedules)) if schedules else "",
    )


def _obliterate(about: QueueSubject) -> Sequence[str]:
    return (
        _("Every job in every state goes, with its data and logs, and so do schedules, events, metrics and limits."),
        _("If something still adds jobs, the queue comes back with them."),
    )


def _obliterate_warns(about: QueueSubject) -> Sequence[str]:
    active = about.info.counts[State.ACTIVE] or 0
    held = ngettext(
        "{n} job is being worked on: nothing is removed unless you tick the box below.",
        "{n} jobs are being worked on: nothing is removed unless you tick the box below.",
        active,
    )
    return (
        *_undoable(about),
        say(held, n=number(active)) if active else "",
    )


def _trim(about: QueueSubject) -> Sequence[str]:
    length = about.info.events_length
    said = ngettext("The queue keeps {n} event now.", "The queue keeps {n} events now.", length)
    return (
        say(said, n=number(length)),
        _("The oldest go: listeners that have not read them yet never will. Jobs are not changed."),
    )


Said = Callable[[QueueSubject], Sequence[str]]
_SAYS: Mapping[Action, Said] = {
    Action.PAUSE: _pause,
    Action.RESUME: _resume,
    Action.CONCURRENCY: _concurrency,
    Action.RATE_LIMIT: _rate,
    Action.RELEASE_LIMIT: _release,
    Action.RELEASE_DEDUPLICATION: _deduplication,
    Action.DRAIN: _drain,
    Action.CLEAN: _clean,
    Action.OBLITERATE: _obliterate,
    Action.TRIM_EVENTS: _trim,
}
_WARNS: Mapping[Action, Said] = {
    Action.ADD: _add_warns,
    Action.RESUME: _idle,
    Action.DRAIN: _drain_warns,
    Action.CLEAN: _undoable,
    Action.OBLITERATE: _obliterate_warns,
}
_DEPTHS: Mapping[Action, Sequence[State]] = {
    Action.DRAIN: (*IN_LINE, State.DELAYED),
    Action.OBLITERATE: tuple(State),
    Action.CLEAN: (),
}
