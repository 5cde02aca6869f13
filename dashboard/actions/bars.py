"""Which buttons stand on the page of a job or a queue, the likely one first, and why some are off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from dashboard import access
from dashboard.actions import off
from dashboard.actions.forms.steering import coded
from dashboard.actions.wording import (
    BUTTONS,
    DANGEROUS,
    DEAD_LETTERS,
    EDIT_REPLAY,
    HELD_IDS,
    PROMOTE_ALL,
    RELEASE_ITS,
    RETRY_ALL,
    RUN_AGAIN,
)
from queues import readings
from queues.actions import Action
from queues.failures.letters import is_letters
from queues.operations.ability import Ability, ability
from queues.registry import backend
from queues.replay.making.wish import LETTER_STATES
from queues.types import Capability, Job, JobRef, QueueInfo, QueueRef, State

Words = str | Promise

_LINE = ((Action.PRIORITY, Action.EDIT, Action.REMOVE), (Action.DUPLICATE, Action.LOG))
# What stands on the bar, and what in the menu behind it.
JOB_BARS: Mapping[State | None, tuple[Sequence[Action], Sequence[Action]]] = {
    State.FAILED: ((Action.RETRY, Action.DUPLICATE, Action.REMOVE), (Action.EDIT, Action.LOG)),
    State.COMPLETED: ((Action.RETRY, Action.DUPLICATE), (Action.EDIT, Action.LOG, Action.REMOVE)),
    State.DELAYED: (
        (Action.PROMOTE, Action.DELAY, Action.PRIORITY),
        (Action.EDIT, Action.DUPLICATE, Action.LOG, Action.REMOVE),
    ),
    State.WAITING: _LINE,
    State.PRIORITIZED: _LINE,
    State.WAITING_CHILDREN: ((Action.REMOVE_CHILDREN,), (Action.EDIT, Action.DUPLICATE, Action.LOG, Action.REMOVE)),
    State.ACTIVE: ((Action.REQUEUE, Action.FAIL), (Action.DUPLICATE, Action.LOG)),
    None: ((Action.DUPLICATE, Action.REMOVE), (Action.LOG,)),
}
MENU = (
    *(Action.RELEASE_LIMIT, Action.CONCURRENCY, Action.RATE_LIMIT, Action.RELEASE_DEDUPLICATION),
    *(Action.CLEAN, Action.DRAIN, Action.TRIM_EVENTS, Action.OBLITERATE),
)


@dataclass(frozen=True, slots=True)
class Button:
    """A button that asks. `off` says why it cannot be pressed. `fields`: it sends these, being about all that match."""

    action: Action
    label: Words
    ask: str
    off: str = ""
    first: bool = False
    danger: bool = False
    fields: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Way:
    """A button that leads to a page of its own. `off` says why it cannot be pressed. `first`: it leads the bar."""

    label: Words
    address: str
    off: str = ""
    first: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """The buttons, those in the menu, and sentences: why some are off, each once.

    `way` stands on the bar, too. `pages` are addresses and words that the menu leads to besides.
    """

    buttons: Sequence[Button]
    menu: Sequence[Button] = ()
    said: str = ""
    pages: Sequence[tuple[str, Words]] = ()
    way: Way | None = None

    @property
    def why(self) -> Sequence[str]:
        """Why buttons on the bar are off."""
        ways = (self.way,) if self.way else ()
        return list(dict.fromkeys(button.off for button in (*self.buttons, *ways) if button.off))

    @property
    def harmless(self) -> Sequence[tuple[str, Sequence[Button]]]:
        """What the menu begins with, by why it is off ("": it is on), so that each reason is said once."""
        return _by_reason([button for button in self.menu if not button.danger])

    @property
    def dangerous(self) -> Sequence[tuple[str, Sequence[Button]]]:
        """The same of what stands apart in the menu."""
        return _by_reason([button for button in self.menu if button.danger])


def _by_reason(buttons: Sequence[Button]) -> Sequence[tuple[str, Sequence[Button]]]:
    found: dict[str, list[Button]] = {}
    for button in buttons:
        found.setdefault(button.off, []).append(button)
    return list(found.items())


def job_bar(user: off.User, ref: JobRef, job: Job, *, permanent: bool = False) -> Bar:
    """The bar of a job. One short call to the server, none for who may do nothing.

    `permanent`: it failed as it would fail again, so that a retry is not what it leads with.
    """
    state = job.states[0] if job.states else None
    if state is State.ACTIVE and job.lock_ttl_ms is not None:
        return Bar((), said=_("Nothing can be done to it now. %(why)s") % {"why": off.locked(job.lock_ttl_ms)})
    shown, hidden = JOB_BARS[state]
    if job.row.missing:
        shown, hidden = (Action.REMOVE,), ()
    can = _ability(user, ref.queue, (*shown, *hidden))

    def button(action: Action, *, first: bool = False) -> Button:
        label = RUN_AGAIN if action is Action.RETRY and state is State.COMPLETED else BUTTONS[action]
        ask = reverse("ask-job", args=[ref.queue.source, ref.queue.slug, ref.id, action.value])
        why = off.by_role(user, action) or off.by_job(action, job) or can.why_not(action)
        return Button(action, label, ask, why, first and not why, action in DANGEROUS)

    menu = [button(action) for action in hidden]
    if state in (State.FAILED, State.COMPLETED) and job.deduplication_id:
        menu.append(_release(user, ref, job.deduplication_id, can))
    way = _edit_replay(user, ref, job, can, permanent=permanent)
    first = not permanent and not (way and way.first)  # of a letter nothing is likelier than to send it again
    return Bar(
        [button(action, first=first and at == 0 and action not in DANGEROUS) for at, action in enumerate(shown)],
        menu,
        way=way,
    )


def _edit_replay(user: off.User, ref: JobRef, job: Job, can: Ability, *, permanent: bool) -> Way | None:
    """To the editor of a job that can be sent again: it has ended, or is a dead letter. At most one query."""
    state = job.states[0] if job.states else None
    if job.row.missing or Capability.REPLAYS not in backend(ref.queue.source).capabilities:
        return None
    if state in (State.FAILED, State.COMPLETED):
        why = can.why_not(Action.DUPLICATE)
    elif state in LETTER_STATES and is_letters(ref.queue, readings.names(ref.queue.source)):
        why = can.nothing
    else:
        return None
    address = reverse("edit-replay", args=[ref.queue.source, ref.queue.slug, ref.id])
    why = off.by_role(user, access.Right.REPLAY) or why
    leads = state in LETTER_STATES or (permanent and state is State.FAILED)
    return Way(EDIT_REPLAY, address, why, first=leads and not why)


def _release(user: off.User, ref: JobRef, deduplication_id: bytes, can: Ability) -> Button:
    """For a job that has ended and may still hold its deduplication id."""
    action = Action.RELEASE_DEDUPLICATION
    ask = reverse("ask-queue", args=[ref.queue.source, ref.queue.slug, action.value])
    query = urlencode({"id": coded(deduplication_id)})
    return Button(action, RELEASE_ITS, f"{ask}?{query}", off.by_role(user, action) or can.why_not(action))


def queue_bar(user: off.User, ref: QueueRef, info: QueueInfo, read_ms: int) -> Bar:
    """The bar of a queue. `read_ms` is when its depths were read: what comes later is not meant by "all"."""
    turn = Action.RESUME if info.counts.paused else Action.PAUSE
    can = _ability(user, ref, (turn, *MENU))

    def button(action: Action) -> Button:
        ask = reverse("ask-queue", args=[ref.source, ref.slug, action.value])
        why = off.by_role(user, action) or can.why_not(action)
        return Button(action, BUTTONS[action], ask, why, danger=action in DANGEROUS)

    def everything(action: Action, label: Words, state: State) -> Button:
        fields = [("all", "1"), ("state", state.value), ("name", ""), ("until", str(read_ms))]
        fields.append(("expected", str(info.counts[state])))
        ask = reverse("ask-bulk", args=[ref.source, ref.slug, action.value])
        return replace(button(action), label=label, ask=ask, fields=fields)

    buttons = [button(turn), button(Action.ADD)]
    if info.counts[State.DELAYED]:
        buttons.append(everything(Action.PROMOTE, PROMOTE_ALL, State.DELAYED))
    if info.counts[State.FAILED]:
        buttons.append(everything(Action.RETRY, RETRY_ALL, State.FAILED))
    shown = [action for action in MENU if action is not Action.RELEASE_LIMIT or info.limited_for_ms]
    where = [ref.source, ref.slug]
    pages = [(reverse("deduplication", args=where), HELD_IDS), (reverse("letters-queue", args=where), DEAD_LETTERS)]
    return Bar(buttons, [button(action) for action in shown], pages=pages)


def _ability(user: off.User, queue: QueueRef, actions: Sequence[Action]) -> Ability:
    may = any(not off.by_role(user, action) for action in actions)
    return ability(queue) if may else Ability()
