"""Entries of the event feed in words: one way for what the follower tells and for what the database has kept.

An entry is one `<li>`. Its `data-kind` is what the choices of `FILTERS` are made of, `data-event` the id of the
event: an entry that is on the page already need not be added again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext_lazy

from dashboard import words
from dashboard.templatetags.mirante import icon, moment
from queues.backend import Backend, Events
from queues.errors import QueueError
from queues.events import Event, EventKind, Glance
from queues.live import Seen
from queues.quantities import duration, number
from queues.types import JobRef, QueueRef

REASON, NAME, ID = 160, 60, 40  # characters that are shown
ADDRESS = 2_000  # bytes of an id that make a link
CLOCKS_APART_MS = 5_000  # a job's times are its worker's clock, an event's the server's

BY_STALL, RETRIES = "by-stall", "retries"  # kinds of entries beside those of events
ALWAYS = (EventKind.GAP, EventKind.OMITTED, EventKind.SOURCE_DOWN, EventKind.SOURCE_UP)
_CHOSEN = {*ALWAYS, EventKind.FAILED, EventKind.STALLED, EventKind.COMPLETED, EventKind.RETRIES_EXHAUSTED}


def _kinds(*kinds: str) -> str:
    return " ".join((*kinds, *ALWAYS))


# What an operator can choose to see: kinds of entries apart by spaces, nothing for all. What was lost is always shown,
# and a job that failed because it stalled stands with the failed and with the stalled ones.
FILTERS: Sequence[tuple[str, Promise]] = (
    ("", pgettext_lazy("feed", "All")),
    (_kinds(EventKind.FAILED, BY_STALL), pgettext_lazy("feed", "Failed")),
    (_kinds(EventKind.STALLED, BY_STALL), pgettext_lazy("feed", "Stalled")),
    (_kinds(RETRIES), pgettext_lazy("feed", "Retries")),
    (_kinds(EventKind.COMPLETED), pgettext_lazy("feed", "Completed")),
    (_kinds(*(kind for kind in EventKind if kind not in _CHOSEN)), pgettext_lazy("feed", "Others")),
)

# The colour, the glyph and what a screen reader hears in its place.
MARKS: Mapping[EventKind, tuple[str, str, Promise]] = {
    EventKind.ADDED: ("s-waiting", "waiting", gettext_lazy("Added")),
    EventKind.WAITING: ("s-waiting", "waiting", gettext_lazy("Waiting")),
    EventKind.ACTIVE: ("s-active", "active", gettext_lazy("Active")),
    EventKind.PROGRESS: ("s-active", "active", gettext_lazy("Progress")),
    EventKind.STALLED: ("s-warn", "warn", gettext_lazy("Stalled")),
    EventKind.DELAYED: ("s-delayed", "delayed", gettext_lazy("Delayed")),
    EventKind.COMPLETED: ("s-completed", "completed", gettext_lazy("Completed")),
    EventKind.FAILED: ("s-failed", "failed", gettext_lazy("Failed")),
    EventKind.RETRIES_EXHAUSTED: ("s-failed", "failed", gettext_lazy("Attempts used up")),
    EventKind.WAITING_CHILDREN: ("s-waiting-children", "waiting-children", gettext_lazy("Waiting for children")),
    EventKind.REMOVED: ("mute", "gone", gettext_lazy("Removed")),
    EventKind.DRAINED: ("mute", "info", gettext_lazy("Drained")),
    EventKind.PAUSED: ("s-paused", "paused", gettext_lazy("Paused")),
    EventKind.RESUMED: ("s-active", "active", gettext_lazy("Resumed")),
    EventKind.CLEANED: ("mute", "gone", gettext_lazy("Cleaned")),
    EventKind.GAP: ("s-warn", "warn", gettext_lazy("Events lost")),
    EventKind.OMITTED: ("s-unknown", "unknown", gettext_lazy("Left out")),
    EventKind.SOURCE_DOWN: ("bad", "crit", gettext_lazy("Not answering")),
    EventKind.SOURCE_UP: ("s-completed", "completed", gettext_lazy("Answers again")),
}
OTHER = ("s-unknown", "info", gettext_lazy("Event"))

_DUE = {
    "delayed": gettext_lazy("due, waits"),
    "failed": gettext_lazy("replayed, waits"),
    "completed": gettext_lazy("replayed, waits"),
    "active": gettext_lazy("waits again"),
    "waiting-children": gettext_lazy("children done, waits"),
}
_PLAIN: Mapping[EventKind, Promise] = {
    EventKind.ADDED: gettext_lazy("added"),
    EventKind.STALLED: gettext_lazy("stalled, lock lost"),
    EventKind.WAITING_CHILDREN: gettext_lazy("waits for its children"),
    EventKind.DUPLICATED: gettext_lazy("added again, ignored: the id is there"),
    EventKind.DEDUPLICATED: gettext_lazy("deduplicated"),
    EventKind.DEBOUNCED: gettext_lazy("debounced"),
    EventKind.REMOVED: gettext_lazy("removed"),
    EventKind.DRAINED: gettext_lazy("drained: nothing waits"),
    EventKind.PAUSED: gettext_lazy("paused"),
    EventKind.RESUMED: gettext_lazy("resumed"),
    EventKind.SOURCE_UP: gettext_lazy("the server answers again"),
}


def with_names(reader: Backend, ref: QueueRef, events: Sequence[Event]) -> Sequence[Seen]:
    """Kept events with what their jobs say now. One call of a backend that can follow events.

    Names are a help: where they cannot be read the events stand without them.
    """
    jobs = list(dict.fromkeys(JobRef(ref, event.job) for event in events if event.job))
    try:
        found = cast(Events, reader).glances(jobs) if jobs else {}
    except QueueError:
        found = {}
    return [Seen(event, found.get(JobRef(ref, event.job)) if event.job else None) for event in events]


def entries(seen: Sequence[Seen]) -> SafeString:
    """The entries of events that come oldest first, newest on top."""
    return format_html_join("", "{}", ((entry(each),) for each in reversed(seen)))


def entry(seen: Seen) -> SafeString:
    """One entry: when, a glyph in the state's colour, the job as a link, and what happened."""
    event = seen.event
    css, glyph, word = MARKS.get(event.kind, OTHER)
    if event.by_stall:
        css, glyph = "s-failed", "warn"
    return format_html(
        '<li data-kind="{}" data-event="{}">{} <span class="st {}">{}<span class="vh">{}</span></span> '
        '<span>{}<span class="mute">{}</span></span></li>',
        kind(seen),
        event.id,
        moment(event.until_ms or event.at_ms),
        css,
        icon(glyph),
        word,
        _job(seen),
        said(seen),
    )


def kind(seen: Seen) -> str:
    """The word by which the filters know an event."""
    event = seen.event
    if event.by_stall:
        return BY_STALL
    if event.kind is EventKind.RETRIES_EXHAUSTED or _is_retry(seen):
        return RETRIES
    return str(event.kind)


def said(seen: Seen) -> SafeString | str:
    """What happened in a few words, in the active language."""
    event = seen.event
    if write := _SAID.get(event.kind):
        return write(seen)
    if plain := _PLAIN.get(event.kind):
        return str(plain)
    return words.shown(event.text, NAME) or str(event.kind)


def attempts_of(glance: Glance | None) -> int:
    """How many attempts have ended so far, 0 where nobody knows."""
    return (glance.attempts_made if glance else None) or 0


def _job(seen: Seen) -> SafeString | str:
    """The job's id and name as a link to its page."""
    event = seen.event
    if not event.job:
        return ""
    ref = JobRef(event.queue, event.job)
    name = event.text if event.kind is EventKind.ADDED else seen.glance.name if seen.glance else None
    told = f"{words.cut(ref.label, ID)} {words.shown(name, NAME)}".strip()
    if len(event.job) > ADDRESS:
        return format_html('<span class="ink">{}</span> ', told)
    return format_html(
        '<a href="{}" class="ink">{}</a> ', reverse("job", args=[ref.queue.source, ref.queue.slug, ref.id]), told
    )


def _is_retry(seen: Seen) -> bool:
    """BullMQ tells of no failure that will be retried: the job only waits or is delayed again, an attempt older."""
    event = seen.event
    again = event.kind is EventKind.DELAYED or (event.kind is EventKind.WAITING and event.previous == "active")
    return again and attempts_of(seen.glance) > 0


def _waiting(seen: Seen) -> str:
    if _is_retry(seen):
        return gettext("retries at once")
    return str(_DUE.get(seen.event.previous) or gettext("waits"))


def _active(seen: Seen) -> str:
    started = seen.glance.attempts_started if seen.glance else None
    return gettext("active, attempt %(n)s") % {"n": number(started)} if started else gettext("active")


def _progress(seen: Seen) -> str:
    progress = seen.event.progress
    if progress is None:
        return gettext("progress")
    told = words.shown(progress.text, NAME)
    return gettext("progress %(value)s") % {"value": f"{told}%" if progress.bare else told}


def _delayed(seen: Seen) -> str:
    event = seen.event
    if event.run_at_ms is None:
        return gettext("retries later") if _is_retry(seen) else gettext("delayed")
    text = gettext("retries in %(span)s") if _is_retry(seen) else gettext("delayed, due in %(span)s")
    return text % {"span": duration(max(0, event.run_at_ms - event.at_ms))}


def _took(seen: Seen) -> str:
    """How long the attempt took that ended with this event; "" where the job does not say, or has run again since."""
    glance = seen.glance
    if glance is None or glance.processed_ms is None or glance.finished_ms is None:
        return ""
    ours = abs(glance.finished_ms - seen.event.at_ms) <= CLOCKS_APART_MS
    return duration(glance.finished_ms - glance.processed_ms) if ours else ""


def _completed(seen: Seen) -> str:
    took = _took(seen)
    return gettext("completed in %(span)s") % {"span": took} if took else gettext("completed")


def _failed(seen: Seen) -> str:
    if seen.event.by_stall:
        return gettext("failed: stalled too often, whatever attempts were left")
    took = _took(seen)
    told = gettext("failed after %(span)s") % {"span": took} if took else gettext("failed")
    reason = words.shown(seen.event.text, REASON)
    return gettext("%(failed)s: %(reason)s") % {"failed": told, "reason": reason} if reason else told


def _exhausted(seen: Seen) -> str:
    made = seen.event.attempts
    if made is None:
        return gettext("no attempt is left")
    text = ngettext("no attempt is left after %(n)s", "no attempt is left after %(n)s", made)
    return text % {"n": number(made)}


def _cleaned(seen: Seen) -> str:
    count = seen.event.count
    if count is None:
        return gettext("cleaned")
    return ngettext("cleaned %(n)s job", "cleaned %(n)s jobs", count) % {"n": number(count)}


def _omitted(seen: Seen) -> str:
    count = seen.event.count
    if count is None:
        return gettext("more came at once than can be kept")
    text = ngettext("%(n)s more, too many at once to keep", "%(n)s more, too many at once to keep", count)
    return text % {"n": number(count)}


def _down(seen: Seen) -> str:
    why = words.shown(seen.event.text, REASON)
    return gettext("the server stopped answering: %(why)s") % {"why": why} if why else gettext("the server is down")


def _gap(seen: Seen) -> SafeString:
    event = seen.event
    lost = gettext("events lost, nobody knows how many")
    if event.count is not None:
        lost = gettext("events lost: %(n)s") % {"n": number(event.count)}
    return format_html("{}, {}", lost, between(event))


def between(gap: Event) -> SafeString:
    """The stretch of a gap."""
    first, last = moment(gap.at_ms), moment(gap.until_ms)
    if gap.until_ms is None:
        return format_html(conditional_escape(gettext("since {first}")), first=first)
    return format_html(conditional_escape(gettext("between {first} and {last}")), first=first, last=last)


_SAID: Mapping[EventKind, Callable[[Seen], SafeString | str]] = {
    EventKind.WAITING: _waiting,
    EventKind.ACTIVE: _active,
    EventKind.PROGRESS: _progress,
    EventKind.DELAYED: _delayed,
    EventKind.COMPLETED: _completed,
    EventKind.FAILED: _failed,
    EventKind.RETRIES_EXHAUSTED: _exhausted,
    EventKind.CLEANED: _cleaned,
    EventKind.OMITTED: _omitted,
    EventKind.SOURCE_DOWN: _down,
    EventKind.GAP: _gap,
}
