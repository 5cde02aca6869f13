"""What a person must know before something is done to one job, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.actions import keeping
from dashboard.actions.ask import named, say
from dashboard.actions.subject import Below, JobSubject
from dashboard.templatetags.mirante import moment
from dashboard.words import STATE_WORDS, shown
from queues.actions import Action
from queues.payload.parsing import parses
from queues.quantities import number
from queues.types import JobRef, State

HELD_SAID = 5  # jobs that workers hold, each in a sentence of its own


def says(action: Action, about: JobSubject) -> Sequence[str]:
    """What will happen, each in a sentence."""
    return [said for said in _SAYS.get(action, _nothing)(about) if said]


def warnings(action: Action, about: JobSubject) -> Sequence[str]:
    """What may be unexpected about it."""
    return [said for said in _WARNS.get(action, _nothing)(about) if said]


def items(action: Action, about: JobSubject) -> Sequence[object]:
    """The jobs that go along, each in a line."""
    if action is Action.REMOVE:
        return _named(about)
    if action is Action.REMOVE_CHILDREN:
        return [_line(Below(each.ref, each.state, locked=False)) for each in about.job.family.pending if each.ref]
    return []


def facts(action: Action, about: JobSubject) -> Sequence[tuple[str, object]]:
    """How many jobs go along, by queue, where that is not one queue alone."""
    queues = about.family.queues
    if action is not Action.REMOVE or len(queues) < 2:
        return []
    return [(named(queue.label), number(count)) for queue, count in queues.items()]


def links(action: Action, about: JobSubject) -> Sequence[tuple[str, str]]:
    """Other jobs that a person may want to see or act on besides: address and words."""
    if action is not Action.RETRY:
        return []
    parent, twin = about.job.family.parent, about.twin
    found = [(twin.ref, _("Open the other job"))] if twin else []
    if parent and parent.ref and not parent.gone:
        failed = parent.state is State.FAILED
        found.append((parent.ref, _("Open the parent, to retry it afterwards") if failed else _("Open the parent")))
    return [(reverse("job", args=[ref.queue.source, ref.queue.slug, ref.id]), words) for ref, words in found]


def will_run(about: JobSubject) -> Sequence[str]:
    """Why a job that shall run now will not, or not at once."""
    found = []
    queue = about.queue
    if queue.info.counts.paused:
        found.append(_("The queue is paused: the job will wait until it is resumed."))
    if queue.workers == 0:
        found.append(_("No worker is connected to this queue: the job will wait until one is."))
    if queue.info.limited_for_ms:
        found.append(_("The queue has reached its rate limit: the job will wait until that has passed."))
    return found


def _nothing(about: JobSubject) -> Sequence[str]:
    return ()


def _retry(about: JobSubject) -> Sequence[str]:
    return (_goes_to_line(about), _ran(about), _parent_after_retry(about))


def _goes_to_line(about: JobSubject) -> str:
    priority = about.job.row.priority
    if priority:
        said = _("It goes back in line, with its priority {priority}.")
        return say(said, priority=number(priority))
    return _("It goes back in line.")


def _ran(about: JobSubject) -> str:
    if about.state is State.COMPLETED:
        return _("It has completed: everything it did is done once more, and its return value is forgotten.")
    made = about.job.row.attempts_made
    if not made:
        return ""
    said = ngettext("It was attempted {n} time so far.", "It was attempted {n} times so far.", made)
    return say(said, n=number(made))


def _parent_after_retry(about: JobSubject) -> str:
    """What becomes of the parent of a job that runs again."""
    parent = about.job.family.parent
    if parent is None:
        return ""
    if parent.ref is None or parent.gone or parent.state is None:
        return _("Its parent is gone: nobody waits for it.")
    who = _job(parent.ref, about)
    if parent.state is State.WAITING_CHILDREN:
        return say(_("Its parent {parent} waits for its children: it goes on once this one is done too."), parent=who)
    if parent.state is State.FAILED:
        said = _("Its parent {parent} has failed and stays so: retry it as well, once this one is done.")
        return say(said, parent=who)
    if parent.state is State.COMPLETED:
        return say(_("Its parent {parent} has completed without it and stays so."), parent=who)
    return say(_("Its parent {parent} has gone on without it and will not wait for it."), parent=who)


def _retry_warns(about: JobSubject) -> Sequence[str]:
    return (_twin(about), *will_run(about))


def _twin(about: JobSubject) -> str:
    twin = about.twin
    if twin is None:
        return ""
    said = _("Another job holds the same deduplication id {id}: {job} ({state}). After this, both are there.")
    deduplication = shown((about.job.deduplication_id or b"").decode(errors="replace"), 80)
    return say(said, id=named(deduplication), job=_job(twin.ref, about), state=_state(twin.state))


def _promote(about: JobSubject) -> Sequence[str]:
    due = about.job.row.run_at_ms
    said = _("It was due at {at}; now it runs as soon as a worker is free.")
    return (say(said, at=moment(due)) if due is not None else "", _goes_to_line(about))


def _delay(about: JobSubject) -> Sequence[str]:
    due = about.job.row.run_at_ms
    return (say(_("It is due at {at} now."), at=moment(due)),) if due is not None else ()


def _priority(about: JobSubject) -> Sequence[str]:
    priority = about.job.row.priority
    return (say(_("Its priority is {n} now."), n=number(priority)) if priority else _("It has none now."),)


def _remove(about: JobSubject) -> Sequence[str]:
    family = about.family
    count = family.count
    gone = _("Its data, its result and its log go with it.")
    kept = "" if _unrestorable(about) else keeping.kept()
    if not count:
        return (gone, kept, _parent_after_removal(about))
    other = len(set(family.queues) - {about.ref.queue})
    said = ngettext("{n} job hangs below it.", "{n} jobs hang below it.", count)
    if family.more:
        said = _("More than {n} jobs hang below it; the first of them stand here.")
    return (
        gone,
        kept,
        _parent_after_removal(about),
        say(said, n=number(count)),
        _elsewhere(other),
    )


def _elsewhere(queues: int) -> str:
    if not queues:
        return ""
    said = ngettext("Some of them are in {n} other queue.", "Some of them are in {n} other queues.", queues)
    return say(said, n=number(queues))


def _parent_after_removal(about: JobSubject) -> str:
    parent = about.job.family.parent
    if parent is None or parent.ref is None or parent.state is not State.WAITING_CHILDREN:
        return ""
    said = _("Its parent {parent} waits for it: it no longer does, and runs once nothing else is left to wait for.")
    return say(said, parent=_job(parent.ref, about))


def _remove_warns(about: JobSubject) -> Sequence[str]:
    said = _("A worker holds {job}: with that, nothing is removed at all. Wait until it has ended.")
    held: list[str] = [keeping.none_kept(), _unrestorable(about)]
    held += [say(said, job=_job(each.ref, about)) for each in about.family.locked[:HELD_SAID]]
    if (others := len(about.family.locked) - HELD_SAID) > 0:
        said = ngettext("{n} more of them is held: see below.", "{n} more of them are held: see below.", others)
        held.append(say(said, n=number(others)))
    if about.state is State.WAITING_CHILDREN:
        held.append(_("It waits for its children: without removing them too, it stays."))
    return held


def _unrestorable(about: JobSubject) -> str:
    """That nothing can be made of a copy of the job, where copies are kept."""
    body = about.job.data
    if not keeping.kept() or body is None or body.cut or parses(body.raw):
        return ""
    return _("Its data is no JSON: a copy of its bytes is kept, but it cannot be restored as a job.")


def _remove_children(about: JobSubject) -> Sequence[str]:
    waits = about.job.family.pending_count
    if not waits:
        return (_("It waits for no child: there is nothing to remove."),)
    said = ngettext(
        "It waits for {n} child. One that nobody has worked on is removed.",
        "It waits for {n} children. Those that nobody has worked on are removed.",
        waits,
    )
    return (say(said, n=number(waits)), _("Once it waits for none, it goes on."))


def _fail(about: JobSubject) -> Sequence[str]:
    return (
        _("No worker holds its lock. It goes to the failed ones as if this had been its last attempt."),
        _("If its worker still runs it unseen, that goes on and its result is lost."),
        _("Its parent hears of it as of any failure.") if about.job.family.parent else "",
    )


def _requeue(about: JobSubject) -> Sequence[str]:
    return (
        _("No worker holds its lock. It goes back in line, and the next free worker takes it."),
        _("If its worker still runs it unseen, it is done twice."),
    )


def _edit(about: JobSubject) -> Sequence[str]:
    if about.state in (State.COMPLETED, State.FAILED):
        return (_("It has ended: the new data counts only if it is retried."),)
    return (_("The worker that takes it finds the new data."),)


def _duplicate(about: JobSubject) -> Sequence[str]:
    return (
        _("A new job with the same name and options and an id of its own. This one stays as it is."),
        _("It belongs to no parent and no schedule, and holds no deduplication id."),
    )


def _job(ref: JobRef, about: JobSubject) -> str:
    """A job within a sentence, with its queue where that is another."""
    label = ref.label if ref.queue == about.ref.queue else f"{ref.queue.label}:{ref.label}"
    return named(label)


def _named(about: JobSubject) -> Sequence[object]:
    """The jobs that go along, those that workers hold first, and how many more there are."""
    family = about.family
    lines = [_line(each) for each in family.named]
    if not family.more and (others := family.count - len(lines)) > 0:
        lines.append(say(ngettext("… and {n} more", "… and {n} more", others), n=number(others)))
    return lines


def _line(each: Below) -> object:
    words = _("a worker holds it") if each.locked else _state(each.state)
    return say("{job} · {state}", job=named(f"{each.ref.queue.label}:{each.ref.label}"), state=words)


def _state(state: State | None) -> str:
    return str(STATE_WORDS[state]) if state else _("in no list")


Said = Callable[[JobSubject], Sequence[str]]
_SAYS: Mapping[Action, Said] = {
    Action.RETRY: _retry,
    Action.PROMOTE: _promote,
    Action.DELAY: _delay,
    Action.PRIORITY: _priority,
    Action.REMOVE: _remove,
    Action.REMOVE_CHILDREN: _remove_children,
    Action.FAIL: _fail,
    Action.REQUEUE: _requeue,
    Action.EDIT: _edit,
    Action.DUPLICATE: _duplicate,
}
_WARNS: Mapping[Action, Said] = {
    Action.RETRY: _retry_warns,
    Action.PROMOTE: will_run,
    Action.REQUEUE: will_run,
    Action.DUPLICATE: will_run,
    Action.REMOVE: _remove_warns,
}
