"""What can be done to a queue, asked beforehand: for buttons that say why they are off. Refusing is `guard`'s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from queues.actions import Action, Below
from queues.errors import LimitExceeded, QueueError
from queues.operations.guard import ensure_writable
from queues.operations.sending import writer
from queues.types import JobRef, QueueRef


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


def below(job: JobRef) -> Sequence[Below] | None:
    """All that would go with a job that is removed with what hangs below it; None: more than `actions.BELOW`.

    One script, which only reads. QueueError.
    """
    with writer(job.queue.source) as actions:
        try:
            return actions.below(job)
        except LimitExceeded:
            return None
