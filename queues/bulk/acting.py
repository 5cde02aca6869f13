"""Batch by batch over what was collected, each asked for until its outcomes are written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from queues import undo
from queues.actions import Action, Outcome, Result, Step, Target
from queues.audit.types import Status
from queues.bulk import facts, verbs
from queues.bulk.packing import pack, unpack
from queues.bulk.run import Run
from queues.errors import Unreachable, Unsure
from queues.models import BulkBatch, RemovedJob
from queues.types import JobRef, State

# What a job comes to that was acted on before: it is so, it has gone on since, or it is gone.
_ONCE_DONE = (Outcome.ALREADY, Outcome.WRONG_STATE, Outcome.GONE)


@dataclass
class Acting:
    """Acts on one batch a step.

    `BulkBatch.begun` is true before anything is sent: a batch that is found so was interrupted, by the loss of its
    worker or of the server's answer. It is asked for again. What was done already comes back as another outcome than
    `DONE`, is counted as `ALREADY`, and the note says how many did.
    """

    run: Run
    _ahead: int | None = None  # the batch that was called begun when the one before it ended

    def step(self) -> None:
        """The next batch, or the end. Raises what the backend raises, with what it told by then written down."""
        number = int(self.run.bulk.cursor)
        batch = self._batch(number).first()
        if batch is None:
            self._finish()
            return
        again, targets = batch.begun and number != self._ahead, unpack(bytes(batch.targets))
        if not batch.begun:
            self._mark(number, begun=True)
        self._ahead = None
        try:
            results = self._act(targets)
        except Unsure as error:
            self._partly(batch, targets, [result for result in error.results if isinstance(result, Result)], again)
            raise
        except Unreachable:
            self._mark(number, begun=again)  # nothing was sent
            raise
        self._end(batch, results, again)

    def rest(self) -> None:
        """The next batch has not begun after all."""
        if self._ahead is not None:
            self._mark(self._ahead, begun=False)
            self._ahead = None

    def _act(self, targets: Sequence[Target]) -> Sequence[Result]:
        bulk, run = self.run.bulk, self.run
        if run.action is not Action.REMOVE:
            return verbs.act(run.actions, run.queue, run.action, bulk, targets)
        state = State(bulk.state) if bulk.state else None
        ids = [target.id for target in targets]
        with undo.kept_back(run.entry, run.queue, run.actions, ids, state) as settle:
            results = verbs.act(run.actions, run.queue, run.action, bulk, targets)
            settle(results)
        return results

    def _finish(self) -> None:
        if self.run.action is Action.REMOVE and settings.MIRANTE_UNDO_HOURS:
            gone = self.run.tally.outcomes.get(Outcome.DONE, 0)
            self.run.facts[facts.UNKEPT] = max(0, gone - RemovedJob.objects.filter(entry=self.run.entry).count())
        self.run.finish(Status.DONE)

    def _mark(self, number: int, *, begun: bool) -> None:
        with transaction.atomic():
            self.run.lease.keep()
            self._batch(number).update(begun=begun)

    def _end(self, batch: BulkBatch, results: Sequence[Result], again: bool) -> None:
        """The outcomes of a batch, and that the next one begins, in one transaction."""
        self._count(results, again)
        following = batch.number + 1
        with self.run.saving(handled=self.run.bulk.handled + len(results), cursor=str(following)):
            self._batch(batch.number).update(ended=True)
            # One that was begun before was interrupted, and stays so.
            if self._batch(following).filter(begun=False).update(begun=True):
                self._ahead = following

    def _batch(self, number: int) -> QuerySet[BulkBatch]:
        return BulkBatch.objects.filter(bulk=self.run.bulk, number=number)

    def _partly(self, batch: BulkBatch, targets: Sequence[Target], known: Sequence[Result], again: bool) -> None:
        """The outcomes that were told; the batch keeps the other jobs, something may have been done to them."""
        if not known:
            return
        self._count(known, again)
        rest = targets[len(known) :]
        with self.run.saving(handled=self.run.bulk.handled + len(known)):
            self._batch(batch.number).update(targets=pack(rest), size=len(rest), begun=True)

    def _count(self, results: Sequence[Result], again: bool) -> None:
        """Add up what came of jobs. Of a repeated batch, what is done or elsewhere is counted as done already."""
        if not again:
            self.run.tally.add(results)
            return
        found = sum(1 for result in results if result.outcome in _ONCE_DONE)
        self.run.tally.add([result for result in results if result.outcome not in _ONCE_DONE])
        self.run.tally.step(Step(0, {Outcome.ALREADY: found}))  # counted, and not listed: there is nothing to look into
        self.run.facts[facts.REPEATED] = self.run.facts.get(facts.REPEATED, 0) + found
        if self.run.action is Action.REMOVE:
            self._drop_copies(results)

    def _drop_copies(self, results: Sequence[Result]) -> None:
        """Copies that the interrupted batch had made of jobs that were there still: they were copied again."""
        there = [JobRef(self.run.queue, result.id).slug for result in results if result.outcome is not Outcome.GONE]
        RemovedJob.objects.filter(entry=self.run.entry, removed_at=None, job__in=there).delete()
