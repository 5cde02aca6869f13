"""What each action over many jobs asks of the backend: one call for a batch, or one for a step of a sweep.

Parameters are JSON, as `Bulk.parameters` keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from queues.actions import CLOCKS, STATES, Action, Clock, Result, Step, Target
from queues.backend import Actions
from queues.errors import BadInput
from queues.models import Bulk
from queues.types import QueueRef, State

Parameters = Mapping[str, Any]

_STATES: Mapping[Action, frozenset[State]] = {**STATES, Action.REMOVE: frozenset(State) - {State.ACTIVE}}
_NEEDED: Mapping[Action, tuple[str, type]] = {
    Action.DELAY: ("run_at_ms", int),
    Action.PRIORITY: ("priority", int),
    Action.FAIL: ("reason", str),
}


def check(action: Action, state: State | None, parameters: Parameters, *, frozen: bool) -> None:
    """BadInput for what cannot be done to many jobs. `frozen`: they are given, so the state may be left open."""
    if action not in _STATES:
        raise BadInput(_("This cannot be done to many jobs at once."))
    needs_state = not frozen or action is Action.RETRY
    if (state is None and needs_state) or (state is not None and state not in _STATES[action]):
        raise BadInput(_("This cannot be done to jobs of this state."))
    name, kind = _NEEDED.get(action, ("", object))
    if name and not isinstance(parameters.get(name), kind):
        raise BadInput(_("It is not said what is to be done: “%(name)s” is missing.") % {"name": name})


def check_name(name: str) -> None:
    """BadInput for a part of a name that no database keeps."""
    if "\x00" in name:
        raise BadInput(_("No job is found by this name."))


def check_clock(state: State, clock: Clock) -> None:
    """BadInput where jobs of a state have no such age."""
    if clock not in CLOCKS.get(state, ()):
        raise BadInput(_("Jobs of this state cannot be removed by this age."))


def act(actions: Actions, queue: QueueRef, action: Action, bulk: Bulk, targets: Sequence[Target]) -> Sequence[Result]:
    """One batch. Raises what the backend raises."""
    given = bulk.parameters
    state = State(bulk.state) if bulk.state else None
    if action is Action.RETRY:
        reset, twins = bool(given.get("reset", False)), bool(given.get("twins", False))
        return actions.retry(queue, targets, state=State(bulk.state), reset=reset, twins=twins)
    if action is Action.PROMOTE:
        return actions.promote(queue, targets)
    if action is Action.DELAY:
        return actions.delay(queue, targets, run_at_ms=int(given["run_at_ms"]))
    if action is Action.PRIORITY:
        return actions.priority(queue, targets, priority=int(given["priority"]))
    if action is Action.REMOVE:
        return actions.remove(queue, targets, state=state, children=bool(given.get("children", False)))
    if action is Action.FAIL:
        return actions.fail(queue, targets, reason=str(given["reason"]))
    return actions.requeue(queue, targets)


def sweep(actions: Actions, queue: QueueRef, action: Action, bulk: Bulk, cursor: str) -> Step:
    """One step of a sweep. Raises what the backend raises."""
    given = bulk.parameters
    if action is Action.DRAIN:
        return actions.drain(queue, delayed=bool(given["delayed"]), until_ms=bulk.until_ms, cursor=cursor)
    if action is Action.CLEAN:
        clock, before = Clock(given["clock"]), int(given["before_ms"])
        return actions.clean(queue, State(bulk.state), clock=clock, before_ms=before, cursor=cursor)
    return actions.obliterate(queue, force=bool(given["force"]), cursor=cursor)
