"""What came of an action, added up from the results of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from queues.actions import Result, Step

EXCEPTIONS_KEPT = 1_000


@dataclass(slots=True)
class Tally:
    """Counts of outcomes and the first 1,000 exceptions, as `AuditEntry` keeps them."""

    outcomes: dict[str, int] = field(default_factory=dict)
    exceptions: list[dict[str, object]] = field(default_factory=list)

    def add(self, results: Sequence[Result]) -> None:
        """Results for jobs."""
        raise NotImplementedError

    def step(self, step: Step) -> None:
        """A step over a queue or a state."""
        raise NotImplementedError
