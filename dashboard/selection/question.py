"""The question before something is done to many jobs: how many, of what, frozen when, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.db.models import F, Sum
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from dashboard.actions.ask import Ask, named
from dashboard.actions.forms import ActionForm
from dashboard.selection.bar import DANGEROUS, label
from dashboard.selection.picked import Picked
from dashboard.templatetags.mirante import moment
from dashboard.words import STATE_WORDS
from queues import operations
from queues.actions import Action
from queues.audit import Status
from queues.models import Bulk
from queues.quantities import duration, number
from queues.types import Counts, State

TYPED_ABOVE = 1_000  # jobs of one removal that asks for the queue's name
RECENT = 5  # actions by which the pace is estimated


def question(
    action: Action, picked: Picked, counts: Counts, form: ActionForm, *, act: str, back: str, off: str = ""
) -> Ask:
    """What a person is asked; `counts` are fresh, `off` says why it cannot be done."""
    now = counts[picked.state] if picked.state else None
    return Ask(
        title=_title(action, picked, now),
        verb=_verb(action, picked, now),
        act=act,
        back=back,
        form=None if picked.empty else form,
        facts=_facts(picked, now),
        says=[*_frozen(picked), *_consequences(action, picked), *_duration(action, picked, now)],
        warnings=_warnings(action, picked),
        danger=action in DANGEROUS,
        hidden=[*picked.hidden(), ("next", back)],
        error=gettext("Nothing is selected. Tick the jobs that are meant.") if picked.empty else "",
        off=off or _too_many(picked, now),
    )


def typed_name(action: Action, picked: Picked, counts: Counts) -> str:
    """The name that has to be typed before this is done; "" where none has."""
    if action is not Action.REMOVE:
        return ""
    meant = number_of(picked, counts[picked.state] if picked.state else None)
    return picked.queue.label if meant is None or meant > TYPED_ABOVE else ""


def number_of(picked: Picked, now: int | None) -> int | None:
    """How many jobs are meant; of all those of a name nobody knows before they are collected."""
    if picked.targets is not None:
        return len(picked.targets)
    return None if picked.name else now


def _title(action: Action, picked: Picked, now: int | None) -> SafeString:
    """Retry 50 of 8,412 failed jobs of payments on prod?"""
    parts = {
        "verb": label(action, picked.state),
        "n": number(number_of(picked, now)),
        "of": number(now),
        "state": _state(picked),
        "queue": named(picked.queue.label),
        "source": named(picked.queue.source),
        "name": named(picked.name),
    }
    if picked.targets is None:
        if picked.name:
            return format_html(
                gettext("{verb}: all {state} jobs of {queue} on {source} whose name holds {name}?"), **parts
            )
        return format_html(gettext("{verb}: all {n} {state} jobs of {queue} on {source}?"), **parts)
    if now is None:
        one, many = (
            gettext("{verb}: {n} job of {queue} on {source}?"),
            gettext("{verb}: {n} jobs of {queue} on {source}?"),
        )
        return format_html(one if len(picked.targets) == 1 else many, **parts)
    return format_html(gettext("{verb}: {n} of {of} {state} jobs of {queue} on {source}?"), **parts)


def _state(picked: Picked) -> str:
    return str(STATE_WORDS[picked.state]).lower() if picked.state else gettext("ended")


def _verb(action: Action, picked: Picked, now: int | None) -> str:
    word, meant = label(action, picked.state), number_of(picked, now)
    if meant is None:
        return gettext("%(verb)s: all that match") % {"verb": word}
    text = ngettext("%(verb)s: %(n)s job", "%(verb)s: %(n)s jobs", meant)
    return text % {"verb": word, "n": number(meant)}


def _facts(picked: Picked, now: int | None) -> Sequence[tuple[str, object]]:
    facts: list[tuple[str, object]] = [
        (gettext("Queue"), format_html("<bdi>{}</bdi>", picked.queue.label)),
        (gettext("Source"), picked.queue.source),
    ]
    if picked.state:
        facts.append((gettext("In this state now"), number(now)))
        if picked.expected is not None and picked.expected != now:
            facts.append((gettext("When the list was read"), number(picked.expected)))
    facts.append((gettext("Frozen at"), moment(picked.until_ms)))
    return facts


def _frozen(picked: Picked) -> Sequence[str]:
    if picked.targets is None:
        text = gettext("It is about the jobs that were in this state at {moment} and still are; no later ones.")
        return [format_html(text, moment=moment(picked.until_ms))]
    return [gettext("A job that has left its state since the list was read, or came back to it, is left and named.")]


def _consequences(action: Action, picked: Picked) -> Sequence[str]:
    said = {
        Action.RETRY: [
            gettext("They go back to where jobs wait, each by its priority, and workers take them at once."),
            gettext("Whatever their work did outside of the queue may be done once more."),
            gettext("One whose deduplication id another job holds by now is left and named."),
        ],
        Action.PROMOTE: [gettext("They wait at once, each by its priority. Next runs of schedules stay as they are.")],
        Action.DELAY: [gettext("All of them get the same moment. Next runs of schedules stay as they are.")],
        Action.PRIORITY: [gettext("All of them get the same priority.")],
        Action.REMOVE: _removal(picked),
        Action.REQUEUE: [
            gettext("Only jobs that no worker holds any more go back to where they wait. Those that are held stay.")
        ],
        Action.FAIL: [
            gettext("Only jobs that no worker holds any more fail, for good, as if their last attempt had failed."),
        ],
    }
    return said.get(action, [])


def _removal(picked: Picked) -> Sequence[str]:
    said = [gettext("Their data, results, errors and logs go. Jobs that a worker holds stay.")]
    if picked.state in (None, State.COMPLETED, State.FAILED):
        said.append(gettext("Whoever waits for their results, or looks for them by their ids, finds nothing any more."))
    hours, megabytes = settings.MIRANTE_UNDO_HOURS, settings.MIRANTE_UNDO_MB
    if hours and megabytes:
        text = ngettext(
            "Copies are kept for %(n)s hour, up to %(size)s MB of one action: these can be restored, as new jobs.",
            "Copies are kept for %(n)s hours, up to %(size)s MB of one action: these can be restored, as new jobs.",
            hours,
        )
        said.append(text % {"n": number(hours), "size": number(max(1, megabytes // 4))})
    return said


def _warnings(action: Action, picked: Picked) -> Sequence[str]:
    if action is Action.REMOVE and not (settings.MIRANTE_UNDO_HOURS and settings.MIRANTE_UNDO_MB):
        return [gettext("This cannot be undone: no copies of removed jobs are kept here.")]
    if action is Action.RETRY and picked.state is State.COMPLETED:
        return [gettext("These jobs have done their work. It will be done again.")]
    return []


def _duration(action: Action, picked: Picked, now: int | None) -> Sequence[str]:
    """How long it may take, by what the last ones of its kind took. Nothing is said of what ends at once."""
    meant = number_of(picked, now)
    if picked.targets is not None and len(picked.targets) <= operations.INLINE:
        return []
    after = gettext("It runs in the background and can be stopped; closing the page stops nothing.")
    pace = _pace(action, picked.queue.source)
    if meant is None or pace is None:
        return [after]
    about = gettext("About %(time)s, by the pace of the last ones.") % {
        "time": duration(max(1000, meant / pace), whole=True)
    }
    return [f"{about} {after}"]


def _pace(action: Action, source: str) -> float | None:
    """Jobs a millisecond, by recent actions of this kind on this source; None when there was none."""
    ended = Bulk.objects.filter(entry__action=action.value, entry__source=source, entry__status=Status.DONE)
    recent = ended.filter(handled__gt=0, entry__duration_ms__gt=0).order_by("-entry_id")[:RECENT]
    sums = Bulk.objects.filter(pk__in=[row.pk for row in recent.only("pk")]).aggregate(
        jobs=Sum(F("handled")), ms=Sum(F("entry__duration_ms"))
    )
    return float(sums["jobs"]) / float(sums["ms"]) if sums["jobs"] and sums["ms"] else None


def _too_many(picked: Picked, now: int | None) -> str:
    most: int = settings.MIRANTE_BULK_MAX
    meant = number_of(picked, now)
    if not most or meant is None or meant <= most:
        return ""
    return gettext("One action may be about %(most)s jobs here (MIRANTE_BULK_MAX), and this is about %(n)s.") % {
        "most": number(most),
        "n": number(meant),
    }
