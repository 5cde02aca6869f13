"""What is to be done with the index from time to time, whatever happens in the queues."""

from __future__ import annotations

import time

from queues.failures import classes, regroup
from queues.failures.index.term import Term
from queues.quantities import MINUTE, now_ms

SLICE_S = 0.05  # between two slices of what takes long


class Chores:
    """For the thread that indexes one source."""

    def __init__(self) -> None:
        self._regroup: regroup.Regroup | None = None
        self._regroup_of: Term | None = None
        self._minute = 0
        self._rules = ""  # by which all strands are classified; "": nobody knows yet
        self._slice_at = 0.0

    def run(self, term: Term) -> None:
        """Count windows anew when a minute is over, and classify anew when rules are others than before."""
        minute = now_ms() // MINUTE
        if minute != self._minute:
            with term.writing():
                written = term.store.count_windows()
            term.note_changed(written)
            # What another process classified by rules that it had read a moment before they changed is put right, too.
            self._rules = classes.keep(term.source, self._rules)
            self._minute = minute
        self._regrouped(term)

    def _regrouped(self, term: Term) -> None:
        """Some work on grouping anew what older versions of signatures grouped."""
        if self._regroup is None or self._regroup_of is not term:
            self._regroup, self._regroup_of = regroup.Regroup(term), term
        if not self._regroup.over and self.slice_due():
            self._regroup.run()

    def slice_due(self) -> bool:
        """Whether the next slice of a long work may be done."""
        now = time.monotonic()
        if now < self._slice_at:
            return False
        self._slice_at = now + SLICE_S
        return True
