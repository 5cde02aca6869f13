"""How far freezing is, for a page that shows it."""

from __future__ import annotations

from dataclasses import dataclass

from queues.models import Replay
from queues.replay.freezing.work import Step


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` jobs of this step; `total` None: nobody knows how many there will be."""

    step: Step
    done: int
    total: int | None


def progress(replay: Replay) -> Progress | None:
    """How far a plan is frozen; None when it is. No query."""
    raise NotImplementedError
