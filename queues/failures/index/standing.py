"""What the index says of itself: that it lives, how far behind it is, what it costs the server."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable

from django.utils import timezone

from queues.failures.index.term import Reader, Term
from queues.failures.index.tracks import Track
from queues.failures.store import Store
from queues.models import Indexing
from queues.quantities import now_ms

BEAT_S = 4.0  # who reads takes an index for dead that was silent for 15 s
COST_S = 60.0  # over which the commands a second are a mean


class Stand:
    """For the thread that indexes one source."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._told_at = float("-inf")
        self._why = ""
        self._behind = 0
        self._right_ms = 0  # up to when the index is known to be right
        self._sent: deque[tuple[float, int]] = deque()

    def begin(self, store: Store) -> None:
        """A new term: what was said before may be another's."""
        self._told_at, self._why, self._behind = float("-inf"), "", 0
        first = Indexing.objects.filter(source__name=store.source, since_ms=None).exists()
        behind = Indexing.objects.filter(source__name=store.source).values_list("behind_ms", flat=True).first()
        self._right_ms = now_ms() - (behind or 0)
        store.stand(why="", **({"since_ms": now_ms()} if first else {}))

    def tell(self, term: Term, tracks: Iterable[Track]) -> None:
        """All is well. A write each four seconds, and one when it is no longer behind."""
        tracks = list(tracks)
        self._right_ms = now_ms() - self._behind
        early = time.monotonic() - self._told_at < BEAT_S and not self._why
        if early and (not self._behind or behind_ms(tracks)):
            return
        self._behind = behind_ms(tracks)
        self._right_ms = now_ms() - self._behind
        fields: dict[str, object] = {"why": "", "behind_ms": self._behind, "commands_per_s": self._cost()}
        if (compared_ms := _compared_ms(tracks)) is not None:
            fields["compared_ms"] = compared_ms
        self._write(term, "", fields)

    def blind(self, term: Term, why: str) -> None:
        """The server cannot be read. A write each four seconds, and one when the reason is another.

        It falls behind all the while: what stands in the index was right when it was last read.
        """
        if time.monotonic() - self._told_at >= BEAT_S or why != self._why:
            behind = max(0, now_ms() - self._right_ms)
            self._write(term, why, {"why": why, "behind_ms": behind, "commands_per_s": self._cost()})

    def _write(self, term: Term, why: str, fields: dict[str, object]) -> None:
        with term.writing():
            term.store.stand(beat_at=timezone.now(), **fields)
        self._told_at, self._why = time.monotonic(), why

    def _cost(self) -> float | None:
        now, sent = time.monotonic(), self._reader.commands_sent
        self._sent.append((now, sent))
        while len(self._sent) > 2 and self._sent[1][0] <= now - COST_S:
            self._sent.popleft()
        since, before = self._sent[0]
        return (sent - before) / (now - since) if now - since >= 1 else None


def behind_ms(tracks: Iterable[Track]) -> int:
    """How old the oldest failure is that is not read yet, first scans apart."""
    oldest = None
    for track in tracks:
        told = (track.unread_ms if track.newer else None, track.events[0].at_ms if track.events else None)
        for at_ms in told:
            if at_ms is not None and (oldest is None or at_ms < oldest):
                oldest = at_ms
    return 0 if oldest is None else max(0, now_ms() - oldest)


def _compared_ms(tracks: Iterable[Track]) -> int | None:
    """When the queue that was compared longest ago was compared; None while one never was."""
    found = [track.compared_ms for track in tracks if not track.error]
    known = [each for each in found if each is not None]
    return min(known) if known and len(known) == len(found) else None
