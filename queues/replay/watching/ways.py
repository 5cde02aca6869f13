"""What a plan has under way, by where it went: held in memory, so that the events of others cost nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import Q, QuerySet

from queues.failures.store.rows import parts
from queues.models import Replay, ReplayJob
from queues.replay.naming import goes_to, is_exact, job_id, job_text
from queues.replay.types import Acts, Place

MEMORY = 100_000  # jobs; where more are under way, those that events name are asked for
_WHERE = ("pk", "acts", "queue_id", "target_id", "job", "made", "sent_ms")


class Way(NamedTuple):
    """A job under way, by the key of its row."""

    pk: int
    sent_ms: int


class Landed(NamedTuple):
    """The same with where it went: a queue by its key, and its id there."""

    way: Way
    queue: int
    id: bytes


def under_way(replay: Replay) -> QuerySet[ReplayJob]:
    """The rows of what was sent and has not ended as far as is known."""
    # All of them have a moment of sending: told so, SQLite takes the index of just these.
    return ReplayJob.objects.filter(replay=replay.pk, place=Place.SENT, ended_ms=None, sent_ms__isnull=False)


@dataclass
class Ways:
    """What is under way. `whole`: all of it is held here."""

    replay: Replay
    whole: bool = False
    _by_queue: dict[int, dict[bytes, Way]] = field(default_factory=lambda: defaultdict(dict))
    _last_ms: int = 0

    @property
    def number(self) -> int:
        """How many are held."""
        return sum(map(len, self._by_queue.values()))

    def refresh(self) -> Sequence[Landed] | None:
        """Take in what was sent since, and give it; None where all was read anew, and nobody knows what is new of it.

        Two queries; a third where the clock of the server went back, or something was written by another.
        """
        number = under_way(self.replay).count()
        if number > MEMORY:
            self._by_queue.clear()
            self.whole = False
            return None
        before, self.whole = self.whole, True
        if not before:
            self._by_queue.clear()
            self._take(under_way(self.replay))
            return None
        new = self._take(under_way(self.replay).filter(sent_ms__gte=self._last_ms))
        if self.number != number:
            known = {way.pk for ways in self._by_queue.values() for way in ways.values()}
            self._by_queue.clear()
            new = [*new, *(each for each in self._take(under_way(self.replay)) if each.way.pk not in known)]
        return new

    def among(self, queue: int, named: Iterable[bytes]) -> Mapping[bytes, Way]:
        """Those of a queue: all that are held, or else those of the named ids, by a query for 500 of these."""
        if self.whole:
            return self._by_queue.get(queue, {})
        found: dict[bytes, Way] = {}
        for part in parts(list(dict.fromkeys(named))):
            texts = [job_text(each) for each in part]
            here = Q(acts=Acts.RETRY, queue=queue, job__in=texts) | Q(acts=Acts.COPY, target=queue, made__in=texts)
            found |= {each.id: each.way for each in _landed(under_way(self.replay).filter(here))}
        return found

    def drop(self, queue: int, job: bytes) -> None:
        """It has ended."""
        self._by_queue[queue].pop(job, None)

    def _take(self, rows: QuerySet[ReplayJob]) -> list[Landed]:
        """Hold these rows, and give those that were not held."""
        new = []
        for each in _landed(rows):
            ways = self._by_queue[each.queue]
            before = ways.get(each.id)
            if before is None or before.pk != each.way.pk:
                new.append(each)
            ways[each.id] = each.way
            self._last_ms = max(self._last_ms, each.way.sent_ms)
        return new


def _landed(rows: QuerySet[ReplayJob]) -> Iterable[Landed]:
    """Where rows went, in the order of their sending. Nobody can follow a job whose id is not known in full."""
    found = rows.order_by("sent_ms", "pk").values_list(*_WHERE)
    for pk, acts, queue, target, job, made, sent_ms in found.iterator(chunk_size=5_000):
        here = made or job
        if is_exact(here):
            # Written by ourselves, so it need not be looked at again whether it is a slug.
            name = job_id(here) if here.startswith("~") else here.encode("ascii")
            yield Landed(Way(pk, sent_ms or 0), goes_to(acts, queue, target), name)
