"""Why something cannot be done, in a sentence: the role, the source, the job's state, its worker, its schedule."""

from __future__ import annotations

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.utils.translation import gettext as _

from dashboard import access
from dashboard.actions.ask import named, say
from dashboard.actions.subject import JobSubject
from dashboard.templatetags.mirante import moment
from dashboard.words import STATE_WORDS, shown
from queues.actions import MOVES, STATES, Action
from queues.audit.before import who_did
from queues.quantities import duration
from queues.types import Job, State

LINE = frozenset({State.WAITING, State.PRIORITIZED})
NOT_OF_A_SCHEDULE = frozenset({Action.PROMOTE, Action.DELAY, Action.REMOVE})
JOB_ACTIONS = frozenset(
    {
        *(Action.RETRY, Action.PROMOTE, Action.DELAY, Action.PRIORITY, Action.EDIT, Action.REMOVE),
        *(Action.REMOVE_CHILDREN, Action.DUPLICATE, Action.LOG, Action.FAIL, Action.REQUEUE),
    }
)
QUEUE_ACTIONS = frozenset(
    {
        *(Action.ADD, Action.PAUSE, Action.RESUME, Action.CONCURRENCY, Action.RATE_LIMIT, Action.RELEASE_LIMIT),
        *(Action.RELEASE_DEDUPLICATION, Action.DRAIN, Action.CLEAN, Action.OBLITERATE, Action.TRIM_EVENTS),
    }
)

User = AbstractBaseUser | AnonymousUser


def by_role(user: User, action: Action | access.Right) -> str:
    """Why this person may not; "" when they may."""
    if access.allowed(user, action.value):
        return ""
    held = access.role_of(user)
    needed = access.RIGHTS[access.Right(action.value)].label
    return _("It needs the %(needed)s role, and you are %(held)s.") % {
        "needed": needed,
        "held": held.label if held else _("without one"),
    }


def by_job(action: Action, job: Job) -> str:
    """Why this cannot be done to the job as it is; "" when it can."""
    state = job.states[0] if job.states else None
    wanted = STATES.get(action)
    if wanted and state not in wanted:
        return _wrong_state(state)
    if state is State.ACTIVE and action is not Action.DUPLICATE:
        if job.lock_ttl_ms is not None:
            return locked(job.lock_ttl_ms)
        if action in (Action.REMOVE, Action.EDIT, Action.REMOVE_CHILDREN):
            return _("It is active without a worker: fail or requeue it first.")
    if action in NOT_OF_A_SCHEDULE and job.next_run:
        return _scheduled(job)
    if action in (Action.EDIT, Action.DUPLICATE, Action.LOG) and job.row.missing:
        return _("Its data is gone: only its id is left.")
    return ""


def of_job(action: Action, about: JobSubject) -> str:
    """All but the role."""
    return _done_before(action, about) or by_job(action, about.job) or about.queue.can.why_not(action)


def _done_before(action: Action, about: JobSubject) -> str:
    """That the job waits because somebody else was quicker; "" where nobody was, or the log does not know."""
    if action not in MOVES or about.state not in LINE:
        return ""
    before = who_did(action.value, about.ref)
    if before is None:
        return ""
    return say(_("It is already waiting (by {name} at {at})."), name=named(before.who), at=moment(before.at))


def locked(lock_ms: int) -> str:
    """That a worker holds a job, and for how long."""
    said = _("A worker holds it. Its lock lasts %(span)s more, unless the worker renews it.")
    return said % {"span": duration(max(0, lock_ms))}


def _wrong_state(state: State | None) -> str:
    if state is None:
        return _("It is in no list any more.")
    return _("Its state is %(state)s now, and this cannot be done in that state.") % {"state": STATE_WORDS[state]}


def _scheduled(job: Job) -> str:
    scheduler = (job.scheduler_id or b"").decode(errors="replace")
    said = _("It is the next run of the schedule {name}: without it the schedule would stand still.")
    return say(said, name=named(shown(scheduler, 80)))
