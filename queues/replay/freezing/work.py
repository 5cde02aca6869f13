"""Freezing step by step."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.utils import timezone

from queues.models import ReplayLine
from queues.replay.freezing import counting
from queues.replay.freezing.book import Book
from queues.replay.freezing.collecting import Collecting
from queues.replay.freezing.looking import Looking
from queues.replay.freezing.reading import Reading
from queues.replay.freezing.steps import Step
from queues.replay.hands import Hands
from queues.replay.types import Phase, Told


@dataclass
class Freezing:
    """Freezes a plan, 1,000 jobs a step. `Replay.phase` is DRAFT when it is done.

    Every step writes what it found together with where the next one begins: one that was interrupted is done again.
    """

    run: Hands
    _book: Book = field(init=False)
    _work: Collecting | Looking | Reading | None = None

    def __post_init__(self) -> None:
        self._book = Book(self.run.replay.source)

    def step(self) -> None:
        """The next step. Raises what the backend raises, and LimitExceeded where there are too many jobs."""
        step = Step(self.run.replay.step or Step.COLLECTING)
        if step is Step.COLLECTING:
            self._collecting().step()
        elif step is Step.LOOKING:
            if self._looking().step():
                self._looked()
        elif self._reading().step():
            self._end()

    def rest(self) -> None:
        """Nothing is pending between two steps."""

    def _collecting(self) -> Collecting:
        if not isinstance(self._work, Collecting):
            self._work = Collecting(self.run, self._book)
        return self._work

    def _looking(self) -> Looking:
        if not isinstance(self._work, Looking):
            self._work = Looking(self.run, self._book)
        return self._work

    def _reading(self) -> Reading:
        if not isinstance(self._work, Reading):
            self._work = Reading(self.run, self._book)
        return self._work

    def _looked(self) -> None:
        """On to reading where the terms need the jobs' data, else the end."""
        terms, now = self.run.terms, timezone.now()
        if not terms.key and terms.patch is None:
            self._end(looked_at=now)
            return
        frozen = counting.begun(self.run.replay.frozen, reading=True)
        with self.run.saving(step=Step.READING.value, cursor="", looked_at=now, frozen=frozen):
            pass

    def _end(self, **values: object) -> None:
        plan = self.run.replay
        frozen: dict[str, object] = {}
        for part in counting.counting(plan.pk, plan.frozen, self.run.terms.key):
            with self.run.saving():  # a sign of life: counting a million rows takes a while
                frozen = part
        counts = counting.estimated(counting.sums(frozen), self.run.terms)
        total = sum(each.jobs for each in counting.sums(frozen))
        values |= {"phase": Phase.DRAFT.value, "step": "", "cursor": "", "frozen": frozen, "total": total}
        values |= {"to_send": counts.to_send, "left_out": counts.left_out, "permanent": counts.permanent}
        with self.run.saving(**values):
            if not ReplayLine.objects.filter(replay=plan, kind=Told.FROZEN).exists():
                ReplayLine.objects.create(replay=plan, kind=Told.FROZEN, facts={"number": total})
