"""How far freezing is, for a page that shows it."""

from __future__ import annotations

from dataclasses import dataclass

from queues.models import Replay
from queues.replay.freezing import counting
from queues.replay.freezing.steps import Step
from queues.replay.types import Phase


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` jobs of this step; `total` None: nobody knows how many there will be."""

    step: Step
    done: int
    total: int | None


def progress(replay: Replay) -> Progress | None:
    """How far a plan is frozen; None when it is. No query."""
    if replay.phase != Phase.FREEZING:
        return None
    step = Step(replay.step or Step.COLLECTING)
    if step is Step.COLLECTING:
        expected = replay.frozen.get(counting.EXPECTED)
        return Progress(step, replay.total, None if expected is None else max(expected, replay.total))
    done = replay.frozen.get(counting.READ if step is Step.READING else counting.LOOKED, 0)
    return Progress(step, min(done, replay.total), replay.total)
