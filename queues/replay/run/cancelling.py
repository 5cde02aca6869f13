"""A plan that is cancelled: what was not sent is put back, what was asked for is taken back, and then it has ended.

What runs is left alone, and what becomes of it is awaited after that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from queues.audit.types import Status
from queues.models import ReplayJob
from queues.replay.run import facts
from queues.replay.run.ending import AWAITING, complete
from queues.replay.run.recording import remove_due
from queues.replay.run.run import Run
from queues.replay.run.settling import settle
from queues.replay.takingback import take_back
from queues.replay.types import TAKING_BACK, Phase, Place

AT_ONCE = 5_000  # rows that are put back in one transaction


@dataclass
class Cancelling:
    """Phase CANCELLING, once what was sent and not written down is settled. `blind`: the server is not to be asked."""

    run: Run
    blind: bool = False

    def step(self) -> float:
        """Some rows, or the end. Raises what the backend raises."""
        run = self.run
        if not self.blind and (wait := settle(run)):
            return wait
        if not self._put_back():
            if not self.blind and run.replay.started_at is not None:
                remove_due(run)
                if run.replay.step == TAKING_BACK and not take_back(run):
                    return 0.0
            self._end()
        return 0.0

    def rest(self) -> None:
        """Nothing is pending between two steps."""

    def close(self) -> None:
        """There is nothing left to do on the server."""

    def _put_back(self) -> int:
        plan = self.run.replay
        unsent = ReplayJob.objects.filter(replay=plan.pk, place__in=(Place.READY, Place.HELD)).order_by()
        keys = list(unsent.values_list("pk", flat=True)[:AT_ONCE])
        if keys:
            with self.run.saving(back=plan.back + len(keys), to_send=max(0, plan.to_send - len(keys))):
                ReplayJob.objects.filter(pk__in=keys).update(place=Place.BACK)
        return len(keys)

    def _end(self) -> None:
        plan = self.run.replay
        self.run.facts.pop(facts.HALTED, None)
        values: dict[str, Any] = {
            "ended_at": timezone.now(),
            "to_send": 0,
            "step": AWAITING if plan.sent else "",
            "cursor": "",
            "down_since": None,
        }
        self.run.move(Phase.CANCELLED, None, also=lambda: complete(plan, Status.STOPPED), **values)
