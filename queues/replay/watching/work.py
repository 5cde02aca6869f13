"""Watching, a step at a time."""

from __future__ import annotations

from dataclasses import dataclass

from queues.replay.watching.hands import Hands


@dataclass
class Watching:
    """Reads what happened and looks at what has not ended. Everything is written by the end of each step."""

    run: Hands

    def step(self) -> None:
        """Read the streams, and every two seconds look at the jobs. Raises what the backend raises."""
        raise NotImplementedError

    def rest(self) -> None:
        """Nothing is pending between two steps."""
