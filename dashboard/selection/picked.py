"""What a form says was picked: some jobs, each with what was seen of it, or all that match as of a moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.http import QueryDict
from django.utils.translation import gettext as _

from dashboard.failures import jobs as jobs_of_group
from dashboard.queries import FINISHED
from queues.actions import Action, Target
from queues.errors import BadInput, WrongState
from queues.failures import merging
from queues.failures.occurrences import Which
from queues.models import FailureGroup
from queues.names import decode_part, encode_part
from queues.quantities import LARGEST, now_ms
from queues.types import JobRow, QueueRef, State

NAME_MAX = 500  # characters of a name to filter by

# What can be done to the jobs of each state; the first is what is mostly wanted.
VERBS = {
    State.FAILED: (Action.RETRY, Action.REMOVE),
    State.COMPLETED: (Action.RETRY, Action.REMOVE),
    State.DELAYED: (Action.PROMOTE, Action.DELAY, Action.PRIORITY, Action.REMOVE),
    State.WAITING: (Action.PRIORITY, Action.REMOVE),
    State.PRIORITIZED: (Action.PRIORITY, Action.REMOVE),
    State.WAITING_CHILDREN: (Action.REMOVE,),
    State.ACTIVE: (Action.REQUEUE, Action.FAIL),
}
TOGETHER = (Action.REMOVE,)  # completed and failed in one list


def pick(row: JobRow) -> str:
    """What the box of a row sends: the job, and which stay of it was seen."""
    return f"{row.ref.slug} {encode_part(row.seen, colon=True)}" if row.seen else row.ref.slug


@dataclass(frozen=True, slots=True)
class Picked:
    """Jobs of one queue. `targets` None: all of `state` whose name holds `name`, as of `until_ms` (our clock).

    `state` None: completed and failed jobs together, only with targets. `expected` is how many jobs the list had.
    `group`: they were picked from the list of a group of failures; without targets, all of it that are `which`.
    """

    queue: QueueRef
    state: State | None
    targets: Sequence[Target] | None
    name: str
    until_ms: int
    expected: int | None
    group: FailureGroup | None = None
    which: Which = field(default_factory=Which)

    @classmethod
    def read(cls, queue: QueueRef, params: QueryDict) -> Picked:
        """What a list or a question sends. BadInput where it is nothing that these send; WrongState where the question
        was about a group of failures that was merged or split since.
        """
        together = params.get("state") == FINISHED
        state = None if together else _state(params.get("state", ""))
        everything = params.get("all") == "1"
        if everything and together:
            raise BadInput(_("All that match can only be of one state: open Completed or Failed."))
        targets = None if everything else [_target(value) for value in dict.fromkeys(params.getlist("job"))]
        return cls(
            queue,
            state,
            targets,
            params.get("name", "").strip()[:NAME_MAX] if everything else "",
            min(_number(params.get("until", "")), now_ms()),  # no form of ours freezes a moment to come
            _number(expected) if (expected := params.get("expected", "")) else None,
            *_of_group(params, state),
        )

    @property
    def empty(self) -> bool:
        return self.targets is not None and not self.targets

    @property
    def list_state(self) -> str:
        """The state as query strings name it."""
        return self.state or FINISHED

    @property
    def verbs(self) -> Sequence[Action]:
        return VERBS[self.state] if self.state else TOGETHER

    def hidden(self) -> Sequence[tuple[str, str]]:
        """The same again, as fields of a form."""
        fields = [("state", str(self.list_state)), ("until", str(self.until_ms))]
        if self.expected is not None:
            fields.append(("expected", str(self.expected)))
        if self.group:
            fields += [("group", self.group.slug), *jobs_of_group.fields(self.which)]
        if self.targets is None:
            if self.group:
                fields.append(("made_of", merging.print_of(self.group)))
            return [*fields, ("all", "1"), ("name", self.name)]
        return [*fields, *(("job", _value(target)) for target in self.targets)]


def _value(target: Target) -> str:
    slug = encode_part(target.id, colon=True)
    return f"{slug} {encode_part(target.seen, colon=True)}" if target.seen else slug


def _target(value: str) -> Target:
    slug, _space, seen = value.partition(" ")
    try:
        return Target(decode_part(slug, colon=True), decode_part(seen, colon=True) if seen else b"")
    except ValueError:  # UnicodeEncodeError and binascii.Error are such
        raise BadInput(_("This is no selection of jobs. Open the list again.")) from None


def _of_group(params: QueryDict, state: State | None) -> tuple[FailureGroup | None, Which]:
    """The group whose list it was, and which of its failures that list had."""
    if not (slug := params.get("group", "")):
        return None, Which()
    if state is not State.FAILED:
        raise BadInput(_("This is no selection of jobs. Open the list again."))
    group = merging.current(slug)
    if (asked := params.get("made_of", "")) and asked != merging.print_of(group):
        raise WrongState(_("This group was merged or split since you were asked. Open its list again."))
    return group, jobs_of_group.which(params)


def _state(value: str) -> State:
    try:
        return State(value)
    except ValueError:
        raise BadInput(_("This is no selection of jobs. Open the list again.")) from None


def _number(value: str) -> int:
    if not (value.isascii() and value.isdigit() and int(value[:20]) <= LARGEST and len(value) < 20):
        raise BadInput(_("This is no selection of jobs. Open the list again."))
    return int(value)
