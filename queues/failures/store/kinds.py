"""How many kinds of failures of one queue are told apart. What is beyond is a kind of its own, so that no stream of
texts without end, which no rule sees through, makes groups without end: a group costs some 20 KB and 1 ms.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable

from queues.failures.store.places import Place
from queues.failures.types import VERSION, Applied, Signature
from queues.models import FailureStrand
from queues.names import visible

MOST_KINDS = 2_000  # signatures of one queue
SHAPE = "others"  # of the signature for all that are not told apart
RECOUNT_S = 60.0  # while there is no room: old ones may be forgotten meanwhile


class Kinds:
    """Those of one source: how many there are of each queue, counted once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._number: dict[int, tuple[int, float]] = {}  # by queue, and when that was counted

    def forget(self) -> None:
        self._number.clear()

    def room(self, place: Place) -> int:
        """How many more signatures may be made for failures of a queue. One query now and then, of a few ms."""
        number, at = self._number.get(place.pk, (MOST_KINDS, float("-inf")))
        if number >= MOST_KINDS and self._clock() - at >= RECOUNT_S:
            strands = FailureStrand.objects.filter(queue_id=place.pk)
            number = strands.values("signature").distinct().count()
            self._number[place.pk] = (number, self._clock())
        return max(0, MOST_KINDS - number)

    def made(self, place: Place, more: int) -> None:
        """So many were made. After `room`."""
        number, at = self._number[place.pk]
        self._number[place.pk] = (number + more, at)


def others(place: Place) -> Signature:
    """The signature of all failures of a queue that are not told apart. The same in every version."""
    digest = hashlib.sha1(f"{SHAPE}\x1f{place.ref.slug}".encode(), usedforsecurity=False).hexdigest()
    title = f"{visible(place.ref.name)[:100]}: more kinds of failures than are told apart"
    return Signature(VERSION, digest, SHAPE, "", "", "", "", "none", title, (Applied(SHAPE, "", ""),))
