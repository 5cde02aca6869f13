"""Where the streams of the target queues stand, noted before the first job is sent there."""

from __future__ import annotations

from collections.abc import Sequence

from queues.replay.watching.hands import Hands
from queues.types import QueueRef


def begin(run: Hands, queues: Sequence[QueueRef]) -> None:
    """Note where the streams of these queues stand, unless it was noted before. A query; a call where one is new.

    Commits before it returns. Raises what the backend raises.
    """
    raise NotImplementedError
