"""What the end of an action has to say besides its outcomes, kept as JSON until then and put into words here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from queues import lease, undo
from queues.quantities import number

LOST = lease.LOST  # true: a worker was lost on the way
REPEATED = "repeated"  # jobs of a batch that was asked for again, and that were found done or elsewhere
UNCOUNTED = "uncounted"  # true: a step of a sweep was repeated, so what it did the first time is not counted
DOUBTFUL = "doubtful"  # jobs that were sent when a worker was lost, where the action ended before it asked again
CAPPED = "capped"  # the limit at which collecting ended
UNKEPT = "unkept"  # jobs that were removed without a copy

Facts = Mapping[str, Any]


def sentences(facts: Facts) -> Sequence[str]:
    """The facts in the active language."""
    found = []
    if count := facts.get(REPEATED):
        found.append(_repeated(count))
    if facts.get(UNCOUNTED):
        found.append(_("A step was interrupted; jobs that it had removed by then are not counted."))
    if count := facts.get(DOUBTFUL):
        found.append(_doubtful(count))
    if limit := facts.get(CAPPED):
        found.append(_("More jobs match than the limit of %(limit)s; the others were left.") % {"limit": number(limit)})
    if count := facts.get(UNKEPT):
        found.append(undo.unkept(count))
    return found


def _doubtful(count: int) -> str:
    text = ngettext(
        "A worker was lost on the way: %(count)s of these jobs may have been done all the same, and is not counted.",
        "A worker was lost on the way: up to %(count)s of these jobs may have been done all the same, and are not "
        "counted.",
        count,
    )
    return text % {"count": number(count)}


def left(remaining: int | None) -> str:
    """What was not handled; None where nobody knows how much."""
    if remaining is None:
        return _("The rest was not handled.")
    text = ngettext("%(count)s job was not handled.", "%(count)s jobs were not handled.", remaining)
    return text % {"count": number(remaining)}


def _repeated(count: int) -> str:
    text = ngettext(
        "A batch was interrupted and asked for again: %(count)s of its jobs had been done by then, or had gone on by "
        "itself; it is counted as done already.",
        "A batch was interrupted and asked for again: %(count)s of its jobs had been done by then, or had gone on by "
        "themselves; they are counted as done already.",
        count,
    )
    return text % {"count": number(count)}
