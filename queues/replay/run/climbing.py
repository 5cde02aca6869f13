"""How fast a plan may send now: its climb counts the time in which it could send, and no other."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from queues.replay.pacing import pace_at
from queues.replay.run import facts
from queues.replay.run.run import Run
from queues.replay.types import Phase, Told

GAP_S = 20.0  # who has not sent for so long was held up: an outage, a lost worker


@dataclass
class Climb:
    """The pace of a plan, by its terms as they are now. `Replay.rest_at` is kept such that others see the same."""

    run: Run

    def pace(self) -> float | None:
        """Jobs a second; None: as fast as the server takes them. A write where the climb begins anew or has moved."""
        run = self.run
        self._changed()
        if run.phase is Phase.CANARY:
            return pace_at(run.terms, 0.0)
        now = time.time()
        late = now - run.facts.get(facts.TICKED, now) > GAP_S
        if run.facts.pop(facts.RESTED, False) or late or run.replay.rest_at is None:
            self._go_on_from(run.facts.get(facts.CLIMB, 0.0))
        s = 0.0 if run.replay.rest_at is None else (timezone.now() - run.replay.rest_at).total_seconds()
        run.facts |= {facts.CLIMB: round(s, 3), facts.TICKED: round(now, 3)}
        return self._told(pace_at(run.terms, s))

    def _changed(self) -> None:
        """A person has changed the pace: it climbs from the new beginning."""
        terms = self.run.terms
        paces = [terms.pace_from, terms.pace_to, terms.double_s]
        known = self.run.facts.get(facts.PACES)
        if known == paces:
            return
        self.run.facts |= {facts.PACES: paces, facts.CLIMBED: terms.pace_from, facts.CLIMB: 0.0}
        if known is not None and self.run.phase is not Phase.CANARY:
            self._go_on_from(0.0)

    def _go_on_from(self, s: float) -> None:
        with self.run.saving(rest_at=timezone.now() - timedelta(seconds=s)):
            pass

    def _told(self, pace: float | None) -> float | None:
        before = self.run.facts.get(facts.CLIMBED, pace)
        if before != pace:
            self.run.facts[facts.CLIMBED] = pace
            if _number(pace) > _number(before):
                with self.run.saving():
                    self.run.tell(Told.CLIMBED, {"pace": pace})
        return pace


def _number(pace: float | None) -> float:
    return math.inf if pace is None else pace
