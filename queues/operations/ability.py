"""What can be done to a queue, asked beforehand: for buttons that say why they are off. Refusing is `guard`'s."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from queues.actions import Action
from queues.errors import QueueError
from queues.operations.guard import ensure_writable
from queues.operations.sending import writer
from queues.types import QueueRef


@dataclass(frozen=True, slots=True)
class Ability:
    """Why nothing may be written ("" = it may), and what else cannot be done, each with a sentence why."""

    nothing: str = ""
    unable: Mapping[Action, str] = field(default_factory=dict)

    def why_not(self, action: Action) -> str:
        """Why this cannot be done to the queue or its jobs; "" when it can."""
        return self.nothing or self.unable.get(action, "")


def ability(queue: QueueRef) -> Ability:
    """What can be done to a queue now. One short call; never raises a `QueueError`, what it would say is `nothing`."""
    try:
        ensure_writable(queue)
        with writer(queue.source) as actions:
            return Ability(unable=actions.unable(queue))
    except QueueError as error:
        return Ability(nothing=str(error))
