"""Batch by batch over what was collected, each asked for until its outcomes are written down."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from queues import undo
from queues.actions import Action, Outcome, Result, Step, Target
from queues.audit.tally import REMOVED
from queues.audit.types import Status
from queues.bulk import facts, verbs
from queues.bulk.packing import pack, unpack
from queues.bulk.run import Run
from queues.errors import QueueError, Unsure
from queues.models import BulkBatch, RemovedJob
from queues.types import JobRef, State

# What a job comes to that was acted on before: it is so, it has gone on since, or it is gone.
_ONCE_DONE = (Outcome.ALREADY, Outcome.WRONG_STATE, Outcome.GONE)

AHEAD = 10  # batches
_pool = ThreadPoolExecutor(max_workers=8, thread_name_prefix="acting")  # threads that wait for servers


@dataclass
class Acting:
    """Acts on one batch a step, and writes down what came of the one before while the server works on it.

    `BulkBatch.begun` is true before anything is sent, for some batches ahead: one that is found so was interrupted, by
    the loss of its worker or of the server's answer. It is asked for again. What was done already comes back as another
    outcome than `DONE`, is counted as `ALREADY`, and the note says how many did.
    """

    run: Run
    _pending: tuple[int, Sequence[Result], bool] | None = None  # a batch, what came of it, whether it was repeated
    _ahead: range = range(0)  # batches that were called begun and not sent

    def step(self) -> None:
        """The next batch, or the end. Raises what the backend raises, with what it told by then written down."""
        number = self._pending[0] + 1 if self._pending else int(self.run.bulk.cursor)
        batch = self._batch(number).first()
        if batch is None:
            self._save()
            self._finish()
            return
        again, targets = self._announce(batch), unpack(bytes(batch.targets))
        try:
            results = self._acted(targets)
        except Unsure as error:
            self._partly(batch, targets, [result for result in error.results if isinstance(result, Result)], again)
            self.rest()
            raise
        except QueueError:
            self._mark(range(number, number + 1), begun=again)  # nothing was done
            self.rest()
            raise
        self._pending = number, results, again

    def rest(self) -> None:
        """Write what is pending; the batches ahead have not begun after all."""
        self._save()
        if self._ahead:
            self._mark(self._ahead, begun=False)
            self._ahead = range(0)

    def _announce(self, batch: BulkBatch) -> bool:
        """Have it called begun before it is sent, and some behind it; gives whether it was begun before."""
        number = batch.number
        if number in self._ahead:
            self._ahead = self._ahead[1:]
            return False
        if not batch.begun:
            # Those behind one that was interrupted may have been, too: they are left as they are.
            begun = set(
                self._batches(range(number, number + AHEAD)).filter(begun=True).values_list("number", flat=True)
            )
            until = min([number + AHEAD, *begun])
            self._mark(range(number, until), begun=True)
            self._ahead = range(number + 1, until)
        return batch.begun

    def _acted(self, targets: Sequence[Target]) -> Sequence[Result]:
        """What came of a batch; meanwhile the one before is written down. Copies of removed jobs need the database."""
        if self.run.action is Action.REMOVE:
            self._save()
            return self._remove(targets)
        run = self.run
        answer = _pool.submit(verbs.act, run.actions, run.queue, run.action, run.bulk, targets)
        try:
            self._save()
        finally:
            wait([answer])
        return answer.result()

    def _remove(self, targets: Sequence[Target]) -> Sequence[Result]:
        run, bulk = self.run, self.run.bulk
        state = State(bulk.state) if bulk.state else None
        ids = [target.id for target in targets]
        children = bool(bulk.parameters.get("children", False))
        with undo.kept_back(run.entry, run.queue, run.actions, ids, state, below=children) as settle:
            results = verbs.act(run.actions, run.queue, run.action, bulk, targets)
            settle(results)
        return results

    def _finish(self) -> None:
        if self.run.action is Action.REMOVE and settings.MIRANTE_UNDO_HOURS:
            counted = self.run.tally.outcomes
            gone = counted.get(Outcome.DONE, 0) + counted.get(REMOVED, 0)
            self.run.facts[facts.UNKEPT] = max(0, gone - RemovedJob.objects.filter(entry=self.run.entry).count())
        self.run.finish(Status.DONE)

    def _mark(self, numbers: range, *, begun: bool) -> None:
        with transaction.atomic():
            self.run.lease.keep()
            self._batches(numbers).update(begun=begun)

    def _save(self) -> None:
        """Write what came of the pending batch."""
        if self._pending is None:
            return
        (number, results, again), self._pending = self._pending, None
        self._count(results, again)
        with self.run.saving(handled=self.run.bulk.handled + len(results), cursor=str(number + 1)):
            self._batch(number).update(ended=True)

    def _batch(self, number: int) -> QuerySet[BulkBatch]:
        return BulkBatch.objects.filter(bulk=self.run.bulk, number=number)

    def _batches(self, numbers: range) -> QuerySet[BulkBatch]:
        return BulkBatch.objects.filter(bulk=self.run.bulk, number__in=list(numbers))

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
