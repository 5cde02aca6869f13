"""Reading the data of all jobs, where order is kept by a key or an edit is made: keys are filled in, misfits told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from queues import paths
from queues.errors import QueueError
from queues.failed import DATA_CAP
from queues.models import ReplayJob
from queues.replay.copies import Unmapped, copied
from queues.replay.freezing import counting
from queues.replay.freezing.book import Book
from queues.replay.freezing.items import Item, as_row, by_queue, read, write
from queues.replay.freezing.keys import key_of
from queues.replay.freezing.seeing import target_of
from queues.replay.freezing.stock import stocked
from queues.replay.hands import Hands
from queues.replay.naming import is_exact
from queues.replay.patching import Patcher, Unfit, patcher
from queues.replay.types import Acts
from queues.sendings import Conflict
from queues.types import QueueRef

TOGETHER = 8 * 1024 * 1024  # bytes of data that are read at a time


@dataclass
class Reading:
    """Reads the data of a batch of rows a step. BadInput for a path or an edit that cannot be read."""

    run: Hands
    book: Book
    _steps: Sequence[paths.Step] = field(init=False)
    _patcher: Patcher | None = field(init=False)

    def __post_init__(self) -> None:
        terms, data = self.run.terms, self.run.replay.data
        self._steps = paths.parse(terms.key) if terms.key else ()
        self._patcher = patcher(terms.patch, bytes(data) if data is not None else None) if terms.patch else None

    def step(self) -> bool:
        """The next batch; True when there is none. Raises what the backend raises, with nothing of it written."""
        plan = self.run.replay
        items = read(plan.pk, int(plan.cursor or 0))
        if not items:
            return True
        for item in items:
            item.key = None
            if item.conflict in (Conflict.NO_KEY, Conflict.UNFIT):
                item.clear()
        for queue, part in by_queue(item for item in items if is_exact(item.job) and not item.out).items():
            self._read(self.book.by_pk(queue).ref, part)
        with self.run.saving(cursor=str(items[-1].pk), frozen=counting.read(plan.frozen, len(items))):
            write(items)
        return False

    def _read(self, queue: QueueRef, items: Sequence[Item]) -> None:
        row, terms = ReplayJob(), self.run.terms
        copies = {target_of(item).id: item for item in items if item.acts == Acts.COPY.value}
        for job, stored in stocked(self.run, queue, list(copies)):
            item = copies.pop(job)
            try:
                data = copied(as_row(item, row), stored, terms, self._patcher, queue=queue).data
            except Unfit as error:
                item.blame(Conflict.UNFIT, str(error))
            except Unmapped as error:
                item.blame(Conflict.UNMAPPED, str(error))
            except QueueError as error:
                item.blame(Conflict.REFUSED, str(error))
            else:
                self._key(item, data)
        for item in copies.values():
            item.blame(Conflict.GONE)
        if self._steps:
            self._in_place(queue, {target_of(item).id: item for item in items if item.acts == Acts.RETRY.value})

    def _in_place(self, queue: QueueRef, jobs: Mapping[bytes, Item]) -> None:
        """Jobs that are sent as they are: only their keys matter."""
        left = dict(jobs)
        for job, data in self._payloads(queue, list(jobs)):
            self._key(left.pop(job), data)
        for item in left.values():
            item.blame(Conflict.GONE)

    def _payloads(self, queue: QueueRef, ids: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """The whole data of jobs: most are short and read together, the others one by one."""
        left, cut = list(ids), []
        while left and (found := self.run.reader.payloads(queue, left, most=TOGETHER)):
            yield from ((job, data) for job, data in found.items() if len(data) < DATA_CAP)
            self.run.alive()
            cut += [job for job, data in found.items() if len(data) >= DATA_CAP]
            left = [job for job in left if job not in found]
        for job, stored in stocked(self.run, queue, cut):
            yield job, stored.fields.get(b"data", b"")

    def _key(self, item: Item, data: bytes) -> None:
        if self._steps:
            item.key = key_of(data, self._steps)
            if item.key is None:
                item.blame(Conflict.NO_KEY)
