"""How fast a plan sends: the climb of its pace, and who may be sent when so that the pace is never exceeded."""

from __future__ import annotations

from collections.abc import Sequence

from queues.replay.terms import Terms


def pace_at(terms: Terms, s: float) -> float | None:
    """Jobs a second at `s` seconds after the climb began; None: as fast as the server takes them."""
    raise NotImplementedError


def duration_s(terms: Terms, number: int) -> float | None:
    """Seconds in which so many jobs are sent, without a canary and without any wait; None where nobody knows."""
    raise NotImplementedError


def curve(terms: Terms, number: int) -> Sequence[tuple[float, float]]:
    """The climb as a line of points (seconds, jobs a second), until so many jobs are sent; empty for no pace."""
    raise NotImplementedError
