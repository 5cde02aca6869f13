"""After the end: receipts of copies whose originals are gone are dropped, when nobody can be about to send them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta

from queues.actions import BATCH
from queues.models import ReplayJob
from queues.replay.originals import REMOVED
from queues.replay.run import facts
from queues.replay.run.calls import receipt_of
from queues.replay.run.run import Run
from queues.replay.types import Acts, Place

# A worker that was held up in the middle of a sending is long gone by then, and what it sent has arrived.
REST = timedelta(minutes=10)


@dataclass
class Tidying:
    """A plan that ended. Of copies whose originals are kept the receipts stay until they expire: another plan may come.

    Receipts that it does not get to expire by themselves.
    """

    run: Run

    def step(self) -> float:
        """A thousand rows, or the end. Raises what the backend raises."""
        run = self.run
        copies = ReplayJob.objects.filter(replay=run.replay.pk, place=Place.SENT, acts=Acts.COPY, original=REMOVED)
        rows = list(copies.filter(pk__gt=run.facts.get(facts.DROPPED, 0)).order_by("pk")[:BATCH])
        if not rows:
            with run.saving(step=""):
                return 0.0
        by_queue: dict[int, list[str]] = defaultdict(list)
        for row in rows:
            by_queue[row.queue_id].append(receipt_of(run, row))
        for queue, names in by_queue.items():
            run.actions.drop_receipts(run.ref(queue), names)
        run.facts[facts.DROPPED] = rows[-1].pk
        with run.saving():
            return 0.0

    def rest(self) -> None:
        """Nothing is pending between two steps."""

    def close(self) -> None:
        """There is nothing left to do on the server."""
