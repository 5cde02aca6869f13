"""Which queues hold dead letters, judged by what somebody said of them, else by their names."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from django.conf import settings

from queues.failures.letters import book
from queues.types import QueueRef

# `-dlq` and the like can mean nothing else; a queue called `x-failed` is one only beside a queue `x`.
_PLAIN = r"[-._](?:dlq|dead|dead-?letters?|dead_letters?)"
_BESIDE = r"[-._]failed"


def is_letters(queue: QueueRef, among: Collection[QueueRef] | None = None) -> bool:
    """Whether a queue holds dead letters. `among` (all queues of its source) as in `origin_of`."""
    told = book.said(queue)
    return told.is_one if told else _by_name(queue, among) is not None


def origin_of(queue: QueueRef, among: Collection[QueueRef] | None = None) -> QueueRef | None:
    """The queue whose dead letters `queue` holds; None where it holds none, or nobody said whose.

    With `among` a name such as `x-failed` counts only where `x` exists; `x-dlq`, `x-dead` and the endings out of the
    settings always count, also when `x` itself is gone.
    """
    told = book.said(queue)
    if told is not None and (not told.is_one or told.origin):
        return told.origin if told.is_one else None
    return _by_name(queue, None if told else among)


def queue_for(queue: QueueRef, among: Collection[QueueRef]) -> QueueRef | None:
    """The dead-letter queue of a queue among all of its source, the first by name when there are several."""
    held = (other for other in among if other != queue and origin_of(other, among) == queue)
    return min(held, key=lambda other: (other.prefix, other.name), default=None)


def _by_name(queue: QueueRef, among: Collection[QueueRef] | None) -> QueueRef | None:
    match = _names(tuple(settings.MIRANTE_DEAD_LETTERS)).fullmatch(queue.name)
    if match is None:
        return None
    origin = QueueRef(queue.source, queue.prefix, match["origin"])
    return origin if match["plain"] or among is None or origin in among else None


@lru_cache(maxsize=8)
def _names(endings: tuple[str, ...]) -> re.Pattern[bytes]:
    own = "".join(f"|{re.escape(ending)}" for ending in endings)
    return re.compile(rf"(?P<origin>.+?)(?:(?P<plain>{_PLAIN}{own})|{_BESIDE})".encode(), re.IGNORECASE)
