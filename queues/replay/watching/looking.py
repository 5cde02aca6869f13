"""Looking at jobs under way on the server: how they stand now, and ends that no event has told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import Q

from queues.actions import BATCH
from queues.models import Queue, ReplayJob
from queues.replay.hands import Hands
from queues.replay.naming import goes_to, job_id, score_ms
from queues.replay.types import Acts, Place
from queues.replay.watching.learnt import Learnt, Now
from queues.replay.watching.taking import Taking
from queues.replay.watching.ways import Landed, Way, under_way
from queues.sendings import Fate, Standing
from queues.types import QueueRef

MOST = 1_000  # jobs of one look: all, where no more are under way
MOVED = 400  # of those that events name since the last look
BUSY = 300  # of those that were running or retrying then
_NAMES = ("pk", "sent_ms", "acts", "queue_id", "target_id", "job", "made", "seen", "fate", "tries")
_GOING = (Fate.WAITING, Fate.RUNNING, Fate.RETRYING)


class _Row(NamedTuple):
    pk: int
    sent_ms: int
    acts: str
    queue: int
    target: int | None
    job: str
    made: str
    seen: str
    fate: str
    tries: int

    @property
    def landed(self) -> Landed:
        queue = goes_to(self.acts, self.queue, self.target)
        return Landed(Way(self.pk, self.sent_ms), queue, job_id(self.made or self.job))


@dataclass
class Looking:
    """Who is looked at: everybody, or in turns where more than 1,000 are under way.

    Then those that moved and those that were busy come first.
    """

    run: Hands
    turn: Way = field(default=Way(0, -1))  # behind whom the next look begins

    def look(self, learnt: Learnt, refs: Mapping[int, QueueRef], moved: Sequence[int]) -> Sequence[Landed]:
        """Add what is seen of them; gives those that are nowhere, for the events to tell why.

        One call for each queue, some queries. Raises what the backend raises.
        """
        taking = Taking.of(self.run.replay)
        gone: list[Landed] = []
        by_queue: dict[int, list[tuple[_Row, Landed]]] = defaultdict(list)
        for row in self._chosen(moved):
            landed = row.landed
            if taking is None or landed.way not in taking:
                by_queue[landed.queue].append((row, landed))
        for queue, rows in by_queue.items():
            ref = refs.get(queue) or _ref(queue)
            standings = self.run.actions.standings(ref, [landed.id for _row, landed in rows])
            for (row, landed), standing in zip(rows, standings, strict=True):
                if standing.fate is Fate.GONE:
                    gone.append(landed)
                else:
                    self._seen(learnt, row, landed, standing)
        return gone

    def _chosen(self, moved: Sequence[int]) -> Sequence[_Row]:
        rows = under_way(self.run.replay)
        named = rows.filter(pk__in=moved[:MOVED])
        busy = rows.filter(fate__in=(Fate.RUNNING, Fate.RETRYING))[:BUSY]
        chosen = {row.pk: row for found in (named, busy) for row in map(_row, found.values_list(*_NAMES))}
        room = min(MOST, BATCH) - len(chosen)
        ahead = Q(sent_ms__gt=self.turn.sent_ms) | Q(sent_ms=self.turn.sent_ms, pk__gt=self.turn.pk)
        next_ones = rows.filter(ahead, sent_ms__gte=self.turn.sent_ms).order_by("sent_ms", "pk")[:room]
        found = [_row(values) for values in next_ones.values_list(*_NAMES)]
        self.turn = Way(found[-1].pk, found[-1].sent_ms) if len(found) == room else Way(0, -1)
        return list((chosen | {row.pk: row for row in found}).values())

    def _seen(self, learnt: Learnt, row: _Row, landed: Landed, standing: Standing) -> None:
        if standing.fate in (Fate.COMPLETED, Fate.FAILED):
            put_back = (
                standing.fate is Fate.FAILED and row.acts == Acts.RETRY and score_ms(row.seen) == standing.ended_ms
            )
            fate = Fate.GONE if put_back else standing.fate
            learnt.end(landed, fate, row.sent_ms if standing.ended_ms is None else standing.ended_ms)
        elif standing.fate in _GOING:
            now = Now(standing.fate, self._tries(row, standing))
            # That it waits is what is thought of any that nobody has looked at.
            if (now.fate, now.tries) != (row.fate or Fate.WAITING, row.tries):
                learnt.states[row.pk] = now

    def _tries(self, row: _Row, standing: Standing) -> int:
        """Attempts that failed since it was sent. Those from before are not told apart unless they were forgotten."""
        if standing.fate is not Fate.RETRYING:
            return row.tries
        anew = row.acts == Acts.COPY or self.run.terms.reset
        return max(row.tries, 1, (standing.attempts or 0) if anew else 0)


def busy(run: Hands) -> Mapping[str, int]:
    """How many run and how many retry, as last seen. Two queries."""
    rows = ReplayJob.objects.filter(replay=run.replay, place=Place.SENT)
    return {"running": rows.filter(fate=Fate.RUNNING).count(), "retrying": rows.filter(fate=Fate.RETRYING).count()}


def _ref(queue: int) -> QueueRef:
    """A queue whose stream is not read."""
    row = Queue.objects.select_related("source").get(pk=queue)
    return QueueRef.from_slug(row.source.name, row.slug)


def _row(values: Sequence[object]) -> _Row:
    return _Row(*values)  # type: ignore[arg-type]
