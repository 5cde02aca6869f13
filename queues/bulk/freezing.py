"""Which jobs are meant: written down page by page before anything is done, so that nothing later is meant too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.conf import settings

from queues.actions import BATCH, Members, Target
from queues.audit.clean import short_slug
from queues.audit.log import JOBS_KEPT
from queues.bulk import facts, indexed
from queues.bulk.packing import LARGEST, batches, pack
from queues.bulk.phases import Phase
from queues.bulk.run import Run
from queues.models import AuditEntry, Bulk, BulkBatch
from queues.types import JobRef, QueueRef, State


def slugs(queue: QueueRef, targets: Sequence[Target]) -> list[str]:
    """The jobs as the audit entry names them: the first 1,000."""
    return [short_slug(JobRef(queue, target.id).slug) for target in targets[:JOBS_KEPT]]


def store(bulk: Bulk, targets: Sequence[Target], *, first: int = 0) -> int:
    """Write targets down as batches, numbered from `first`; gives how many. Within the transaction of its caller."""
    rows = [
        BulkBatch(bulk=bulk, number=number, size=len(part), targets=pack(part))
        for number, part in enumerate(batches(targets), first)
    ]
    BulkBatch.objects.bulk_create(rows, batch_size=50)
    return len(rows)


@dataclass
class Collecting:
    """Pages through the jobs that match. Holds no more than two pages in memory, whatever matches."""

    run: Run
    _cursor: str = field(init=False)
    _number: int = field(init=False)  # of the next batch
    _pending: list[Target] = field(default_factory=list)
    _bytes: int = 0

    def __post_init__(self) -> None:
        self._cursor = self.run.bulk.cursor
        self._number = self.run.bulk.batches.count()

    def step(self) -> None:
        """Read a page. What is pending is written when it makes a batch, together with where the next page begins."""
        page = self._read()
        if len(self._pending) + len(page.targets) > BATCH:
            self.rest()
        self._pending += page.targets
        self._bytes += sum(len(target.id) for target in page.targets)
        self._cursor = page.cursor or ""
        if self._capped() or page.cursor is None:
            self._end()
        elif len(self._pending) == BATCH or self._bytes > LARGEST:
            self.rest()

    def _read(self) -> Members:
        """The next page: as the server lists jobs, or out of the index of failures."""
        run, bulk = self.run, self.run.bulk
        if bulk.failures:
            return indexed.members(bulk, run.queue, self._cursor, BATCH)
        return run.actions.members(
            run.queue, State(bulk.state), cursor=self._cursor, until_ms=bulk.until_ms, name=bulk.name, most=BATCH
        )

    def rest(self) -> None:
        """Write what is pending, so that nothing is lost between two slices."""
        self._write()

    def _capped(self) -> bool:
        """Whether the limit is reached; what is beyond it is dropped."""
        limit = int(settings.MIRANTE_BULK_MAX)
        over = self.run.bulk.collected + len(self._pending) - limit
        if not limit or over <= 0:
            return False
        del self._pending[-over:]
        self.run.facts[facts.CAPPED] = limit
        return True

    def _end(self) -> None:
        self._cursor = "0"  # from now on the number of the next batch
        self._write(phase=Phase.ACTING)

    def _write(self, **values: object) -> None:
        collected = self.run.bulk.collected + len(self._pending)
        with self.run.saving(collected=collected, cursor=self._cursor, **values):
            if self._number == 0 and self._pending:
                names = slugs(self.run.queue, self._pending)
                AuditEntry.objects.filter(pk=self.run.entry.pk).update(jobs=names)
            if values:
                AuditEntry.objects.filter(pk=self.run.entry.pk).update(asked=collected)
            self._number += store(self.run.bulk, self._pending, first=self._number)
        self._pending, self._bytes = [], 0
