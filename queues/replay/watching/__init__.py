"""What becomes of what was sent: told by the event streams of the target queues, and healed by looking at the jobs.

`begin` notes where the streams stand before the first job is sent; `Watching` reads on from there. The others are
questions about what is known by now, each a query or two.
"""

from queues.replay.watching.asking import (
    Canary,
    Lately,
    canary_standing,
    last_ended,
    unended,
    unexplained,
)
from queues.replay.watching.beginning import begin
from queues.replay.watching.work import Watching

__all__ = [
    "Canary",
    "Lately",
    "Watching",
    "begin",
    "canary_standing",
    "last_ended",
    "unended",
    "unexplained",
]
