"""Into which groups jobs failed again: told by the index of failures, as soon as it has read them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from queues.models import Failure, Replay, ReplayJob
from queues.quantities import now_ms
from queues.replay.naming import goes_to
from queues.replay.types import Place
from queues.sendings import Fate

CHUNK = 500  # failures that are asked for at once
MOST = 2_000  # of one call
LATE_MS = 300_000  # that an end may be told after others that came later
SKEW_MS = 60_000  # that the clocks of workers may be behind the server's


class _Row(NamedTuple):
    pk: int
    queue: int
    target: int | None
    acts: str
    job: str
    made: str
    sent_ms: int
    failed_ms: int | None
    ended_ms: int

    @property
    def place(self) -> tuple[int, str]:
        return goes_to(self.acts, self.queue, self.target), self.made or self.job


_NAMES = ("pk", "queue_id", "target_id", "acts", "job", "made", "sent_ms", "failed_ms", "ended_ms")


@dataclass
class Explaining:
    """Goes over the rows that failed again and are in no group yet, some at a time, newest last, and round again."""

    replay: Replay
    _turn: tuple[int, int] = (0, 0)
    _floor: int = 0  # before it all are in their groups

    def step(self, most: int = MOST) -> int:
        """Look up some; gives how many were found. Two queries for 500, and one for each group of these."""
        found = 0
        for _part in range(-(-most // CHUNK)):
            rows = self._next()
            if self._turn == (self._floor, 0):
                oldest = rows[0].ended_ms if rows else now_ms()
                self._floor = max(self._floor, oldest - LATE_MS)
            found += _explain(rows)
            if len(rows) < CHUNK:
                self._turn = (self._floor, 0)
                break
            self._turn = (rows[-1].ended_ms, rows[-1].pk)
        return found

    def _next(self) -> list[_Row]:
        ended_ms, pk = self._turn
        behind = Q(ended_ms__gt=ended_ms) | Q(ended_ms=ended_ms, pk__gt=pk)
        rows = unexplained(self.replay).filter(behind, ended_ms__gte=ended_ms).order_by("ended_ms", "pk")
        return [_Row(*values) for values in rows.values_list(*_NAMES)[:CHUNK]]


def unexplained(replay: Replay) -> QuerySet[ReplayJob]:
    """The rows that failed again into nobody knows which group."""
    failed = ReplayJob.objects.filter(replay=replay.pk, place=Place.SENT, fate=Fate.FAILED)
    return failed.filter(again=None, ended_ms__isnull=False)


def _explain(rows: Sequence[_Row]) -> int:
    by_queue: dict[int, dict[str, _Row]] = defaultdict(dict)
    for row in rows:
        queue, job = row.place
        by_queue[queue][job] = row
    by_group: dict[int, list[int]] = defaultdict(list)
    for queue, asked in by_queue.items():
        for pk, group in _groups(queue, asked).items():
            by_group[group].append(pk)
    for group, keys in by_group.items():
        ReplayJob.objects.filter(pk__in=keys, again=None).update(again=group)
    return sum(map(len, by_group.values()))


def _groups(queue: int, asked: Mapping[str, _Row]) -> Mapping[int, int]:
    """The group of the first failure of each job after it was sent."""
    since = min(row.sent_ms for row in asked.values()) - SKEW_MS
    failures = Failure.objects.filter(queue=queue, job__in=list(asked), score_ms__gte=since).order_by("-score_ms")
    group = Coalesce(F("strand__group__merged_into"), F("strand__group"))
    found: dict[int, int] = {}
    for job, score_ms, pk in failures.values_list("job", "score_ms", group):
        row = asked[job]
        before = -1 if row.failed_ms is None else row.failed_ms
        if score_ms >= row.sent_ms - SKEW_MS and score_ms > before:
            found[row.pk] = pk
    return found
