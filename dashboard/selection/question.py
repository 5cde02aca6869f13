"""The question before something is done to many jobs: how many, of what, frozen when, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import F, Sum
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from dashboard.actions import keeping
from dashboard.actions.ask import Ask, named
from dashboard.actions.forms import ActionForm
from dashboard.actions.subject import STARTS, QueueSubject
from dashboard.actions.wording import DANGEROUS
from dashboard.selection.picked import Picked
from dashboard.templatetags.mirante import moment
from dashboard.words import STATE_WORDS
from queues import operations
from queues.actions import Action
from queues.audit import Status
from queues.bulk import indexed
from queues.failures.about import whole
from queues.failures.classes import advice
from queues.failures.types import Kind
from queues.models import Bulk
from queues.quantities import duration, number
from queues.types import Counts, State

TYPED_ABOVE = 1_000  # jobs of one removal that asks for the queue's name
RECENT = 5  # actions by which the pace is estimated


@dataclass(frozen=True, slots=True)
class Words:
    """The question, and the button that does it. `jobs` stands for which of them, or how many."""

    title: Promise
    verb: Promise


WORDS: Mapping[Action, Words] = {
    Action.RETRY: Words(_("Retry {jobs}?"), _("Retry %(jobs)s")),
    Action.PROMOTE: Words(_("Promote {jobs}?"), _("Promote %(jobs)s")),
    Action.DELAY: Words(_("Change the time of {jobs}?"), _("Change the time of %(jobs)s")),
    Action.PRIORITY: Words(_("Change the priority of {jobs}?"), _("Change the priority of %(jobs)s")),
    Action.REMOVE: Words(_("Remove {jobs}?"), _("Remove %(jobs)s")),
    Action.REQUEUE: Words(_("Requeue the orphans among {jobs}?"), _("Requeue the orphans of %(jobs)s")),
    Action.FAIL: Words(_("Fail the orphans among {jobs}?"), _("Fail the orphans of %(jobs)s")),
}
RUN_AGAIN = Words(_("Run {jobs} again?"), _("Run %(jobs)s again"))


def question(action: Action, picked: Picked, about: QueueSubject, form: ActionForm, *, act: str, back: str) -> Ask:
    """What a person is asked, by the queue as it is now."""
    now = about.info.counts[picked.state] if picked.state else None
    return Ask(
        title=_title(action, picked, now),
        verb=_verb(action, picked, now),
        act=act,
        back=back,
        form=None if picked.empty else form,
        says=_says(action, picked, now),
        more=_more(action, picked),
        more_facts=_facts(picked, now),
        warnings=_warnings(action, picked, about),
        danger=action in DANGEROUS,
        hidden=[*picked.hidden(), ("next", back)],
        error=gettext("Nothing is selected. Tick the jobs that are meant.") if picked.empty else "",
        off=about.can.why_not(action) or _too_many(picked, now),
    )


def typed_name(action: Action, picked: Picked, counts: Counts | None) -> str:
    """The name that has to be typed before this is done; "" where none has.

    `counts` are needed only where all that match are removed.
    """
    if action is not Action.REMOVE:
        return ""
    meant = number_of(picked, counts[picked.state] if counts and picked.state else None)
    return picked.queue.label if meant is None or meant > TYPED_ABOVE else ""


def number_of(picked: Picked, now: int | None) -> int | None:
    """How many jobs are meant; of all those of a name nobody knows before they are collected."""
    if picked.targets is not None:
        return len(picked.targets)
    if picked.group:
        return indexed.count(picked.group, picked.which, picked.queue, picked.until_ms)
    return None if picked.name else now


def _title(action: Action, picked: Picked, now: int | None) -> SafeString:
    """Retry 50 of 8,412 failed jobs of payments on prod?"""
    parts = {
        "n": number(number_of(picked, now)),
        "of": number(now),
        "state": str(STATE_WORDS[picked.state]).lower() if picked.state else "",
        "queue": named(picked.queue.label),
        "source": named(picked.queue.source),
        "name": named(picked.name),
        "group": named(picked.group.title) if picked.group else "",
    }
    return format_html(str(_asked(action, picked).title), jobs=format_html(_which(picked, now), **parts))


def _which(picked: Picked, now: int | None) -> str:
    """Which jobs, within a title."""
    if picked.targets is None:
        if picked.group:
            return gettext("all {n} jobs of {queue} on {source} that failed by “{group}”")
        if picked.name:
            return gettext("all {state} jobs of {queue} on {source} whose name holds {name}")
        return gettext("all {n} {state} jobs of {queue} on {source}")
    if now is None:
        return ngettext("{n} job of {queue} on {source}", "{n} jobs of {queue} on {source}", len(picked.targets))
    return gettext("{n} of {of} {state} jobs of {queue} on {source}")


def _asked(action: Action, picked: Picked) -> Words:
    return RUN_AGAIN if action is Action.RETRY and picked.state is State.COMPLETED else WORDS[action]


def _verb(action: Action, picked: Picked, now: int | None) -> str:
    meant = number_of(picked, now)
    if meant is None:
        return str(_asked(action, picked).verb) % {"jobs": gettext("all that match")}
    jobs = ngettext("%(n)s job", "%(n)s jobs", meant) % {"n": number(meant)}
    return str(_asked(action, picked).verb) % {"jobs": jobs}


def _facts(picked: Picked, now: int | None) -> Sequence[tuple[str, object]]:
    facts: list[tuple[str, object]] = [
        (gettext("Queue"), format_html("<bdi>{}</bdi>", picked.queue.label)),
        (gettext("Source"), picked.queue.source),
    ]
    if picked.state:
        facts.append((gettext("In this state now"), number(now)))
        if picked.expected is not None and picked.expected != now:
            facts.append((gettext("When you looked"), number(picked.expected)))
    facts.append((gettext("As of"), moment(picked.until_ms)))
    return facts


def _says(action: Action, picked: Picked, now: int | None) -> Sequence[str]:
    """What must be known; at most two short ones besides how long it may take."""
    said = {
        Action.RETRY: [
            gettext("They go back in line, each with its priority, and run once workers are free."),
            gettext("What they did outside the queue may happen a second time."),
        ],
        Action.PROMOTE: [gettext("They go in line at once, each with its priority.")],
        Action.DELAY: [gettext("All of them get the same time.")],
        Action.PRIORITY: [gettext("All of them get the same priority.")],
        Action.REMOVE: [gettext("Their data, results, errors and logs go with them."), keeping.kept_of_many()],
        Action.REQUEUE: [gettext("Only jobs that no worker holds any more go back in line.")],
        Action.FAIL: [gettext("Only jobs that no worker holds any more fail, as if it had been their last attempt.")],
    }
    room = [] if action is not Action.REMOVE or _inline(picked) else _room()
    return [each for each in (*said.get(action, []), *room, *_duration(action, picked, now)) if each]


def _more(action: Action, picked: Picked) -> Sequence[str]:
    """What else comes of it, folded."""
    runs = gettext("The next runs of schedules stay as they are.")
    held = gettext("Jobs that a worker holds are skipped.")
    said = {
        Action.RETRY: [gettext("Jobs whose deduplication id another job holds by now are skipped too.")],
        Action.PROMOTE: [runs],
        Action.DELAY: [runs],
        Action.REMOVE: [held, *_removal(picked)],
    }
    return [_frozen(picked), *said.get(action, [])]


def _frozen(picked: Picked) -> str:
    if picked.group and picked.targets is None:
        text = gettext("Only jobs whose failure was known at {moment} and that are failed by it still; none later.")
        return format_html(text, moment=moment(picked.until_ms))
    if picked.targets is None:
        text = gettext("Only jobs that were in this state at {moment} and still are; none that come later.")
        return format_html(text, moment=moment(picked.until_ms))
    return gettext("Jobs that changed since you looked are skipped, and listed afterwards.")


def _removal(picked: Picked) -> Sequence[str]:
    said = []
    if picked.state in (None, State.COMPLETED, State.FAILED):
        said.append(gettext("Whoever waits for their results, or looks for their ids, no longer finds them."))
    return [*said, *(_room() if _inline(picked) else [])]


def _room() -> Sequence[str]:
    if not keeping.kept_of_many():
        return []
    text = gettext("Copies take up to %(size)s MB for one action; jobs beyond that cannot be restored.")
    return [text % {"size": number(max(1, settings.MIRANTE_UNDO_MB // 4))}]


def _inline(picked: Picked) -> bool:
    return picked.targets is not None and len(picked.targets) <= operations.INLINE


def _warnings(action: Action, picked: Picked, about: QueueSubject) -> Sequence[str]:
    if action is Action.REMOVE and (warning := keeping.none_kept()):
        return [warning]
    done = action is Action.RETRY and picked.state is State.COMPLETED
    again = [gettext("These jobs have done their work. It will be done again.")] if done else []
    vain = _in_vain(picked) if action is Action.RETRY else []
    return [*again, *vain, *(_held_up(about) if action in STARTS else [])]


def _in_vain(picked: Picked) -> Sequence[str]:
    """What the class of their group says about running these jobs again as they are."""
    if picked.group is None or (failed := whole(picked.group)).kind is not Kind.PERMANENT:
        return []
    return [advice(failed.kind, failed.kinds[0][1] if failed.kinds and not picked.group.kind_set else "")]


def _held_up(about: QueueSubject) -> Sequence[str]:
    """Why jobs that shall run now will not."""
    found = []
    if about.info.counts.paused:
        found.append(gettext("The queue is paused: they will wait until it is resumed."))
    if about.workers == 0:
        found.append(gettext("No worker is connected to this queue: they will wait until one is."))
    return found


def _duration(action: Action, picked: Picked, now: int | None) -> Sequence[str]:
    """How long it may take, by what the last ones of its kind took. Nothing is said of what ends at once."""
    meant = number_of(picked, now)
    if _inline(picked):
        return []
    after = gettext("It runs in the background and can be stopped.")
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
