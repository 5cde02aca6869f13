"""A plan of which nothing was sent: its set is frozen; when it was started its rows are ordered, and it begins."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.utils import timezone

from queues.models import ReplayJob
from queues.replay.freezing import Freezing
from queues.replay.ordering import prepare
from queues.replay.run import facts
from queues.replay.run.run import Run
from queues.replay.types import Phase, Place, Told


@dataclass
class Early:
    """Phase FREEZING."""

    run: Run
    _freezing: Freezing = field(init=False)

    def __post_init__(self) -> None:
        self._freezing = Freezing(self.run)

    def step(self) -> float:
        """Some jobs of the set. Raises what the backend raises."""
        self._freezing.step()
        return 0.0

    def rest(self) -> None:
        self._freezing.rest()

    def close(self) -> None:
        """There is nothing left to do on the server."""


@dataclass
class Arming:
    """Phase ARMED: its rows are ordered while the start can still be taken back."""

    run: Run
    _ordered: bool = False

    def step(self) -> float:
        """Some rows; then seconds until it begins; then the beginning."""
        self._ordered = self._ordered or prepare(self.run)
        if not self._ordered:
            return 0.0
        at = self.run.replay.starts_at
        wait = 0.0 if at is None else (at - timezone.now()).total_seconds()
        if wait <= 0:
            self._begin()
        return max(0.0, wait)

    def rest(self) -> None:
        """Nothing is pending between two steps."""

    def close(self) -> None:
        """There is nothing left to do on the server."""

    def _begin(self) -> None:
        run, now = self.run, timezone.now()
        terms = run.terms
        run.facts.clear()
        run.facts |= {facts.PACES: [terms.pace_from, terms.pace_to, terms.double_s], facts.CLIMBED: terms.pace_from}
        canary = ReplayJob.objects.filter(replay=run.replay.pk, place=Place.READY, canary=True).exists()
        phase, rest_at = (Phase.CANARY, None) if canary else (Phase.RUNNING, now)
        number = {"number": run.replay.to_send}
        run.move(phase, Told.STARTED, number, started_at=now, rest_at=rest_at, step="", cursor="")
