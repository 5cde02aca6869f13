"""What failed after a plan was frozen, and so is no part of it."""

from __future__ import annotations

from queues.models import Replay


def later(replay: Replay) -> int | None:
    """How many such failures there are now; at most 10,001. None where nobody knows, or it is about no failures.

    One or two indexed queries. Kept as `Replay.later`.
    """
    raise NotImplementedError
