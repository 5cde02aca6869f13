"""How far the index of failures had read when the set of a plan of groups was frozen: what it lacked is not in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.db.models import Max

from queues.backend import Backend, Failures
from queues.failures.standing import Index, standing
from queues.models import FailureStrand
from queues.types import Capability, QueueRef

LATE_MS = 1_000  # what failed so shortly before is the next to be read, and no reason to make a plan again


@dataclass(frozen=True, slots=True)
class Behind:
    """`index` is BEHIND, READING, BLIND, SILENT or NEVER. From `read_ms` on failures may be missing (None: not known).

    While queues are read for the first time, `scanned` of about `expected` failed jobs had been.
    """

    index: Index
    read_ms: int | None = None
    scanned: int = 0
    expected: int = 0

    def kept(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return {"word": self.index.value, "ms": self.read_ms, "scanned": self.scanned, "expected": self.expected}

    @classmethod
    def of(cls, kept: Mapping[str, Any] | None) -> Behind | None:
        """What `kept` made."""
        if not kept:
            return None
        return cls(Index(kept["word"]), kept["ms"], kept["scanned"], kept["expected"])


def told(source: str) -> Behind | None:
    """What the index says of itself; None where it says that it has read everything. Two queries.

    To be asked before anybody asks which failure is the newest that is known: else one that was read in between would
    have it say too little.
    """
    found = standing(source)
    if found.index is Index.CURRENT:
        return None
    if found.index is Index.READING:
        return Behind(found.index, None, found.scanned, found.expected)
    return Behind(found.index, found.at_ms)


def looked(reader: Backend, queues: Sequence[QueueRef], now_ms: int) -> Behind | None:
    """What the failed sets of some queues hold that the index has not read, whatever it said some seconds ago.

    `now_ms` by the server's clock. One call and one query, and a call for each queue in which something is newer.
    """
    if Capability.FAILURES not in reader.capabilities:
        return None
    failures = cast(Failures, reader)
    known = _newest(queues)
    marks = failures.failed_marks(queues)
    newer = [queue for queue in queues if (marks[queue].newest_ms or 0) > known.get(queue, 0)]
    first = [_first(failures, queue, known.get(queue, 0)) for queue in newer]
    oldest = min((ms for ms in first if ms is not None), default=None)
    return Behind(Index.BEHIND, oldest) if oldest is not None and oldest < now_ms - LATE_MS else None


def _newest(queues: Sequence[QueueRef]) -> Mapping[QueueRef, int]:
    """When the newest failure was that is known of each."""
    slugs = {queue.slug: queue for queue in queues}
    rows = FailureStrand.objects.filter(queue__source__name__in={each.source for each in queues}, queue__slug__in=slugs)
    return {slugs[slug]: last for slug, last in rows.values_list("queue__slug").annotate(Max("last_ms"))}


def _first(reader: Failures, queue: QueueRef, known_ms: int) -> int | None:
    """When the first of those failed that failed after that."""
    page = reader.failed_page(queue, cursor=reader.failed_at(known_ms + 1), most=1)
    return page.jobs[0].score_ms if page.jobs else None
