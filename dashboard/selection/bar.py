"""The bar below a list: what can be done to the rows that are picked, and why something cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.template import Context
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from dashboard import trail
from dashboard.access import Right
from dashboard.actions import off
from dashboard.actions.ask import named, say
from dashboard.actions.wording import DANGEROUS
from dashboard.queries import JobsQuery
from dashboard.selection.picked import TOGETHER, VERBS
from dashboard.words import STATE_WORDS, cut
from queues import readings
from queues.actions import Action
from queues.failures import letters
from queues.operations.ability import Ability, ability
from queues.quantities import number
from queues.registry import backend
from queues.replay.making.wish import LETTER_STATES
from queues.types import Capability, JobPage, QueueRef, State

COUNTED = frozenset({Action.RETRY, Action.PROMOTE, Action.REMOVE})


@dataclass(frozen=True, slots=True)
class Verb:
    """A button. `counted`: the number of jobs reads well behind its label. `off` says why it cannot be done."""

    action: Action
    label: str
    counted: bool
    ask: str
    danger: bool
    off: str


@dataclass(frozen=True, slots=True)
class Bar:
    """`total` is how many match, None where nobody knows; `matching` offers all of them, "" where it cannot.

    `plan`: a replay of what is picked can be planned; `plan_off` says why it may not. `letters`: these are letters, of
    which nothing is likelier than to send them again.
    """

    ref: QueueRef
    verbs: Sequence[Verb]
    shown: int
    total: int | None
    matching: str | SafeString
    read_ms: int
    plan: bool = False
    plan_off: str = ""
    letters: bool = False

    @property
    def reasons(self) -> Sequence[str]:
        """Why buttons are off, each reason once."""
        return list(dict.fromkeys(off for off in (*(verb.off for verb in self.verbs), self.plan_off) if off))


def bar(context: Context, ref: QueueRef, query: JobsQuery, jobs: JobPage | None) -> Bar | None:
    """The bar for a page of jobs; None where there is nothing to pick or the backend cannot act."""
    request: HttpRequest = context["request"]
    if jobs is None or not jobs.rows or Capability.ACTIONS not in backend(ref.source).capabilities:
        return None
    state = None if query.together else query.state
    total, can, planned = _total(query, jobs), ability(ref), plans(ref, state)
    return Bar(
        ref=ref,
        verbs=verbs(request.user, ref, state, can),
        shown=len(jobs.rows),
        total=total,
        matching=_matching(state, query.name, total) if state else "",
        read_ms=jobs.read_ms,
        plan=planned,
        plan_off=off.by_role(request.user, Right.REPLAY) or can.nothing,
        letters=planned and state in LETTER_STATES,
    )


def plans(ref: QueueRef, state: State | None) -> bool:
    """Whether a replay of jobs of a state can be planned: failed and completed ones, and letters."""
    if state is None or Capability.REPLAYS not in backend(ref.source).capabilities:
        return False
    return state in (State.FAILED, State.COMPLETED) or (
        state in LETTER_STATES and letters.is_letters(ref, readings.names(ref.source))
    )


def verbs(user: AbstractBaseUser | AnonymousUser, ref: QueueRef, state: State | None, can: Ability) -> Sequence[Verb]:
    """What can be done to jobs of a state, in the order of their importance."""
    return [
        Verb(
            action,
            label(action, state),
            action in COUNTED and not (action is Action.RETRY and state is State.COMPLETED),
            reverse("ask-bulk", args=[ref.source, ref.slug, action.value]),
            action in DANGEROUS,
            off.by_role(user, action) or can.why_not(action),
        )
        for action in (VERBS[state] if state else TOGETHER)
    ]


def label(action: Action, state: State | None) -> str:
    """A verb, as short as the bar needs it; completed jobs are run again, and not retried."""
    if action is Action.PRIORITY:
        return gettext("Priority")
    if action is Action.RETRY and state is State.COMPLETED:
        return gettext("Run again")
    return trail.action_word(action)


def _total(query: JobsQuery, jobs: JobPage) -> int | None:
    if not query.name:
        return jobs.total
    whole = jobs.exhausted and not jobs.next and not query.cursor
    return len(jobs.rows) if whole else None


def _matching(state: State, name: str, total: int | None) -> str | SafeString:
    word = str(STATE_WORDS[state]).lower()
    if not name:
        return gettext("All %(total)s %(state)s jobs") % {"total": number(total), "state": word}
    return say(gettext("All {state} jobs whose name holds {name}"), state=word, name=named(cut(name, 60)))
