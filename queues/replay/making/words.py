"""What a plan is about, as a sentence for its page and the log of actions."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from queues.failures.occurrences import Which
from queues.models import FailureGroup, Replay
from queues.operations.background import of_group
from queues.quantities import number
from queues.replay.making.wish import Wish
from queues.replay.types import From
from queues.types import JobRef, QueueRef


def of_groups(groups: Sequence[FailureGroup], which: Which) -> str:
    """What is meant of groups of failures."""
    if len(groups) == 1:
        return of_group(groups[0], which)
    told = {"n": number(len(groups)), "slugs": ", ".join(group.slug for group in groups)}
    return _("all failed jobs of %(n)s groups of failures (%(slugs)s)") % told


def title_of(groups: Sequence[FailureGroup]) -> str:
    """The title of the only group, or how many there are."""
    if len(groups) == 1:
        return groups[0].title.strip() or groups[0].slug
    return _("%(n)s groups of failures") % {"n": number(len(groups))}


def of_again(other: Replay, count: int) -> str:
    """What is meant of another replay."""
    told = {"n": number(count), "replay": str(other)}
    text = ngettext("%(n)s job that failed again in %(replay)s", "%(n)s jobs that failed again in %(replay)s", count)
    return f"{text % told}, {other.title}"


def title_of_again(other: Replay) -> str:
    """What stands behind “Replay R-9 of”."""
    return _("what failed again in %(replay)s") % {"replay": str(other)}


def of_queue(wish: Wish, queue: QueueRef) -> str:
    """What is meant of a queue, in the active language."""
    told = {"queue": queue.label, "state": wish.state.value, "name": wish.name[:200]}
    if wish.kind in (From.JOB, From.SELECTION):
        return _picked(wish, queue, told)
    if wish.kind is From.LETTERS:
        if wish.name:
            return _("all letters in %(queue)s whose name holds “%(name)s”") % told
        return _("all letters in %(queue)s") % told
    if wish.name:
        return _("all %(state)s jobs of %(queue)s whose name holds “%(name)s”") % told
    return _("all %(state)s jobs of %(queue)s") % told


def _picked(wish: Wish, queue: QueueRef, told: dict[str, str]) -> str:
    count = len(wish.targets)
    if count == 1:
        told |= {"job": JobRef(queue, wish.targets[0].id).label[:80]}
        return (_("letter %(job)s of %(queue)s") if wish.letters else _("%(state)s job %(job)s of %(queue)s")) % told
    told |= {"count": number(count)}
    if wish.letters:
        return ngettext("%(count)s letter of %(queue)s", "%(count)s letters of %(queue)s", count) % told
    text = ngettext("%(count)s %(state)s job of %(queue)s", "%(count)s %(state)s jobs of %(queue)s", count)
    return text % told
