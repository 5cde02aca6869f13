"""Bringing the rows of an armed plan into their order, in bounded steps."""

from __future__ import annotations

from queues.replay.freezing.hands import Hands


def prepare(run: Hands) -> bool:
    """The next step, of at most half a second or so; True when all is in order. No server is asked.

    May be interrupted anywhere; terms that changed meanwhile make it begin anew.
    """
    raise NotImplementedError
