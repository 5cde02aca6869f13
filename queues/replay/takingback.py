"""Taking back what was sent and no worker has begun, when a plan is cancelled."""

from __future__ import annotations

from queues.replay.watching.hands import Hands


def take_back(run: Hands) -> bool:
    """Take back some of the jobs that wait still; True when there are none left to look at.

    At most a batch a call, which may be repeated. Raises what the backend raises.
    """
    raise NotImplementedError
