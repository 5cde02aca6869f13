"""Whether terms can be kept: every value within its bounds, and what it names there."""

from __future__ import annotations

from collections.abc import Mapping

from queues.models import Replay
from queues.replay.terms import Terms


def check(replay: Replay, terms: Terms) -> Mapping[str, str]:
    """What is wrong, by the field of `Terms`, a sentence each; empty where nothing is. Some queries, no server."""
    raise NotImplementedError
