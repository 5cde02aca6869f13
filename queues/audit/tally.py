"""What came of an action, added up from the results of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from queues.actions import Outcome, Result, Step
from queues.audit.clean import line, short_slug
from queues.names import encode_part

EXCEPTIONS_KEPT = 1_000
REMOVED = "removed"  # beside the outcomes: jobs that went along
MADE = "made"


@dataclass(slots=True)
class Tally:
    """Counts of outcomes and the first 1,000 exceptions, as `AuditEntry` keeps them.

    An exception is a job that came to something else than what was asked for, or of which there is more to know.
    `told` goes to the parameters of the entry, `note` is what there is to say besides.
    """

    outcomes: dict[str, int] = field(default_factory=dict)
    exceptions: list[dict[str, object]] = field(default_factory=list)
    told: dict[str, object] = field(default_factory=dict)
    note: str = ""

    def add(self, results: Sequence[Result]) -> None:
        """Results for jobs."""
        for result in results:
            self._count(result.outcome, 1)
            self._count(REMOVED, result.removed)
            if result.made and result.outcome in (Outcome.DONE, Outcome.ALREADY):
                self.told[MADE] = short_slug(encode_part(result.made, colon=True))
        self._except(results)

    def step(self, step: Step) -> None:
        """A step over a queue or a state."""
        self._count(Outcome.DONE, step.done)
        for outcome, count in step.kept.items():
            self._count(outcome, count)
        self._except(step.exceptions)

    def _count(self, name: str, count: int) -> None:
        if count:
            self.outcomes[str(name)] = self.outcomes.get(str(name), 0) + count

    def _except(self, results: Sequence[Result]) -> None:
        odd = [result for result in results if result.outcome is not Outcome.DONE or result.why]
        self.note = next((result.why for result in odd if not result.id and result.why), self.note)  # of the queue
        odd = [result for result in odd if result.id]
        self.exceptions += [exception(result) for result in odd[: EXCEPTIONS_KEPT - len(self.exceptions)]]


def exception(result: Result) -> dict[str, object]:
    """A result as the log keeps it: what is empty is left out."""
    told: dict[str, object] = {
        "job": short_slug(encode_part(result.id, colon=True)),
        "outcome": result.outcome.value,
        "state": result.state.value if result.state else None,
        "lock_ms": result.lock_ms,
        "why": line(result.why, 500),
    }
    return {name: value for name, value in told.items() if value not in (None, "")}
