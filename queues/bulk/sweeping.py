"""Step by step over a state or a whole queue, where jobs are not written down first: drain, clean, obliterate."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from queues.audit.types import Status
from queues.bulk import facts, verbs
from queues.bulk.run import Run
from queues.errors import QueueError, Unsure

SAVE_EVERY_S = 0.25


@dataclass
class Sweeping:
    """Sweeps one step at a time, and writes how far it is every quarter of a second.

    What was done after the last writing is lost to the count when the worker is: the step is repeated, and the note
    says that some are not counted.
    """

    run: Run
    _cursor: str = field(init=False)
    _handled: int = 0  # since the last writing
    _saved: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._cursor = self.run.bulk.cursor
        if self.run.facts.get(facts.LOST):
            self.run.facts[facts.UNCOUNTED] = True

    def step(self) -> None:
        """The next step, or the end. Raises what the backend raises, with what is known written down."""
        bulk, run = self.run.bulk, self.run
        try:
            step = verbs.sweep(run.actions, run.queue, run.action, bulk, self._cursor)
        except QueueError as error:
            if isinstance(error, Unsure):
                self.run.facts[facts.UNCOUNTED] = True
            if self._handled:
                self.rest()
            raise
        self.run.tally.step(step)
        self._handled += step.done + sum(step.kept.values())
        self._cursor = step.cursor or ""
        if step.cursor is None:
            self.rest()
            self.run.finish(Status.DONE)
        elif time.monotonic() - self._saved >= SAVE_EVERY_S:
            self.rest()

    def rest(self) -> None:
        """Write how far it is."""
        with self.run.saving(handled=self.run.bulk.handled + self._handled, cursor=self._cursor):
            self._handled, self._saved = 0, time.monotonic()
