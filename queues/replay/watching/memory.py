"""What a process remembers of a plan between two slices, as long as nobody else has had the plan meanwhile."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from queues.replay.hands import Hands
from queues.replay.watching.explaining import Explaining
from queues.replay.watching.looking import Looking
from queues.replay.watching.streams import Stream
from queues.replay.watching.ways import Ways

PLANS = 4  # that are remembered at once


@dataclass
class Memory:
    """`streams` by the keys of their rows. Moments are monotonic, in seconds."""

    ways: Ways
    looking: Looking
    explaining: Explaining
    streams: dict[int, Stream] = field(default_factory=dict)
    moved: dict[int, None] = field(default_factory=dict)  # rows to look at first
    originals: set[int] | None = None  # rows whose originals are to be removed; None: not asked for yet
    look_at: float = 0.0
    store_at: float = 0.0


_lock = threading.Lock()
_kept: dict[str, tuple[int, Memory]] = {}  # with the epoch in which it was right


def fresh(run: Hands) -> Memory:
    """Nothing yet: all is read anew."""
    return Memory(Ways(run.replay), Looking(run), Explaining(run.replay))


def recall(run: Hands) -> Memory:
    """What was kept in the slice before this one, if that was ours; else nothing yet."""
    with _lock:
        kept = _kept.pop(run.replay.token, None)
    if kept is None or not 0 <= run.replay.epoch - kept[0] <= 1:
        return fresh(run)
    memory = kept[1]
    memory.ways.replay = memory.explaining.replay = run.replay
    memory.looking.run = run
    return memory


def keep(run: Hands, memory: Memory) -> None:
    """Remember for the next slice. Of many plans the last few."""
    with _lock:
        _kept[run.replay.token] = run.replay.epoch, memory
        while len(_kept) > PLANS:
            del _kept[next(iter(_kept))]
