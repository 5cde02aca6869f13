"""What a job's page says of its family: a parent that stays failed, and children that keep their parent waiting."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from queues.quantities import number
from queues.types import Job, JobRef, State


@dataclass(frozen=True, slots=True)
class ParentLeft:
    """A parent that has failed and will not hear of what its child does now. `over`: the child has completed."""

    ref: JobRef
    over: bool


def parent_left(job: Job) -> ParentLeft | None:
    """The failed parent of a job that has not failed, or does so no more; None where there is none."""
    parent = job.family.parent
    state = job.states[0] if job.states else None
    if parent is None or parent.ref is None or parent.gone or parent.state is not State.FAILED:
        return None
    if state is None or state is State.FAILED:
        return None
    return ParentLeft(parent.ref, over=state is State.COMPLETED)


def waits_in_vain(job: Job) -> str:
    """Why a job that waits for its children will not go on by itself; "" where it does, or nobody knows."""
    if State.WAITING_CHILDREN not in job.states:
        return ""
    pending = job.family.pending
    failed = sum(child.state is State.FAILED for child in pending)
    gone = sum(child.gone for child in pending)
    if not failed and not gone:
        return ""
    told = []
    if failed:
        told.append(ngettext("%(n)s has failed", "%(n)s have failed", failed) % {"n": number(failed)})
    if gone:
        told.append(ngettext("%(n)s is gone", "%(n)s are gone", gone) % {"n": number(gone)})
    said = _("It waits for %(all)s children, of which %(told)s: it does not go on before these are retried or removed.")
    return said % {"all": number(job.family.pending_count), "told": ", ".join(told)}
