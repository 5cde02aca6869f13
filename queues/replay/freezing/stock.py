"""Exact copies of jobs, some at a time: what holds more than a few megabytes is read in several turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from queues.actions import Stored
from queues.replay.hands import Hands
from queues.types import QueueRef

TOGETHER = 8 * 1024 * 1024  # bytes
ALONE = 64 * 1024 * 1024  # of one job


def stocked(run: Hands, queue: QueueRef, ids: Sequence[bytes]) -> Iterator[tuple[bytes, Stored]]:
    """Each of these jobs that is there and holds no more than 64 MB. Raises what the backend raises.

    A batch of large jobs takes its time, whatever is made of them: meanwhile we show that we live.
    """
    left = list(dict.fromkeys(ids))
    while left:
        found = run.actions.stored(queue, left, most=TOGETHER)
        for job, stored in found.items():
            yield job, stored
            run.alive()
        left = [one for one in left if one not in found]
        if not found:
            break
    for one in left:  # gone, or larger than all that is read together
        yield from run.actions.stored(queue, [one], most=ALONE).items()
        run.alive()
