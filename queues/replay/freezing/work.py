"""Freezing step by step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from queues.replay.freezing.hands import Hands


class Step(StrEnum):
    """How far freezing is (`Replay.step`)."""

    COLLECTING = "collecting"  # which jobs are meant is written down
    LOOKING = "looking"  # each is looked at on the server
    READING = "reading"  # the data of each is read, for an edit or an order by key


@dataclass
class Freezing:
    """Freezes a plan, some thousand jobs a step. `Replay.phase` is DRAFT when it is done."""

    run: Hands

    def step(self) -> None:
        """The next step, of at most half a second or so. Raises what the backend raises."""
        raise NotImplementedError

    def rest(self) -> None:
        """Nothing is pending between two steps."""
