"""A plan out of what a form names: one job, some of a list, a group of failures, a state of a queue, dead letters."""

from __future__ import annotations

from django.http import QueryDict
from django.utils.translation import gettext as _

from dashboard.failures import jobs as jobs_of_group
from dashboard.replays.forms import PlanForm
from dashboard.selection import Picked
from queues.audit import Actor, Asked
from queues.errors import BadInput, NotFound
from queues.failures import merging
from queues.models import Replay
from queues.quantities import now_ms
from queues.replay import making
from queues.replay.types import From
from queues.types import QueueRef, State


def made(by: Actor, sent: QueryDict) -> Replay:
    """The plan; of a form that was sent before, that of then. QueueError where none can be made."""
    form = PlanForm(sent)
    if not form.is_valid():
        raise BadInput(" ".join(form.said))
    given = form.cleaned_data
    asked, kind = Asked(by, key=given["key"], reason=given["reason"]), From(given["kind"])
    if kind is From.GROUP:
        return _of_group(asked, sent)
    if kind is From.AGAIN:
        return making.of_again(asked, _other(sent.get("replay", "")))
    queue = _queue(given["source"], given["queue"])
    if kind is From.LETTERS:
        return making.of_letters(asked, queue, name=given["name"])
    if kind is From.STATE:
        return making.of_state(asked, queue, _state(sent.get("state", "")), name=given["name"])
    return _of_picked(asked, _picked(queue, sent))


def _of_group(asked: Asked, sent: QueryDict) -> Replay:
    slugs = list(dict.fromkeys(filter(None, sent.getlist("group"))))
    groups = {group.pk: group for group in map(merging.current, slugs[: making.MOST_GROUPS + 1])}
    return making.of_groups(asked, list(groups.values()), jobs_of_group.which(sent))


def _of_picked(asked: Asked, picked: Picked) -> Replay:
    if picked.state is None:
        raise BadInput(_("A replay is planned of jobs of one state: open Completed or Failed."))
    if picked.targets is not None:
        return making.of_jobs(asked, picked.queue, picked.state, picked.targets)
    if picked.group:
        return making.of_group(asked, picked.group, picked.which)
    return making.of_state(asked, picked.queue, picked.state, name=picked.name)


def _picked(queue: QueueRef, sent: QueryDict) -> Picked:
    """What the boxes of a list say. One job's page says no moment: it is about that job as it was seen."""
    told = sent.copy()
    told.setdefault("until", str(now_ms()))
    told.setlist("job", [*sent.getlist("job"), *sent.getlist("jobs")])
    return Picked.read(queue, told)


def _other(value: str) -> Replay:
    """The replay that a form names."""
    known = Replay.objects.select_related("source")
    found = known.filter(pk=int(value)).first() if value.isascii() and value.isdigit() and len(value) < 19 else None
    if found is None:
        raise NotFound(_("There is no such replay."))
    return found


def _queue(source: str, slug: str) -> QueueRef:
    try:
        return QueueRef.from_slug(source, slug)
    except ValueError:
        raise NotFound(_("There is no such queue.")) from None


def _state(value: str) -> State:
    try:
        return State(value)
    except ValueError:
        raise BadInput(_("Say of which state the jobs are.")) from None
