"""The first scan of each queue: from the newest failure downwards, in pages, the queues in turns.

The next page is read while the one before is written: the server and we have a processor each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from queues import failed
from queues.failed import FailedPage
from queues.failures.index.finding import found
from queues.failures.index.term import Part, Term
from queues.failures.index.tracks import Track
from queues.quantities import now_ms


class _Reading(threading.Thread):
    """One call in a thread of its own; `result` waits for it and gives what it gave or raises what it raised."""

    def __init__(self, read: Callable[[], FailedPage]) -> None:
        super().__init__(name="read ahead", daemon=True)
        self._read = read
        self._page: FailedPage | None = None
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            self._page = self._read()
        except Exception as error:
            self._error = error  # for whoever takes the page

    def result(self) -> FailedPage | None:
        self.join()
        if self._error:
            raise self._error
        return self._page


class Ahead:
    """At most one page. It must be dropped before anything is learned of its queue that is newer than the page."""

    def __init__(self) -> None:
        self._for: tuple[Track, str] | None = None
        self._reading: _Reading | None = None

    def begin(self, track: Track, cursor: str, read: Callable[[], FailedPage]) -> None:
        """Read the page of a queue behind a cursor."""
        self._for, self._reading = (track, cursor), _Reading(read)
        self._reading.start()

    def take(self, track: Track) -> FailedPage | None:
        """The page behind `track.low` if that was begun; raises what reading it raised."""
        wanted, reading = self._for, self._reading
        self.drop()
        if reading is None or wanted is None or wanted[0] is not track or wanted[1] != track.low:
            return None
        return reading.result()

    def drop(self) -> None:
        self._for = self._reading = None


def scan(term: Term, track: Track, ahead: Ahead, after: Track) -> None:
    """The next page of one queue, to be written with the next flush; that of the queue after it is begun."""
    page = ahead.take(track) or _read(term, track, track.low)
    cursor = page.cursor if after is track else after.low if after.scanning else None
    if cursor is not None:
        ahead.begin(after, cursor, lambda: _read(term, after, cursor))
    term.put(Part(track, found(page.jobs, now_ms()), progress=_progress(track, page), then=_noted(track, page)))


def turns(tracks: Sequence[Track]) -> list[Track]:
    """Those that are to be scanned: who had fewest pages first, of those the smallest: so most are soon known whole."""
    waiting = [track for track in tracks if track.begun and track.scanning and track.usable()]
    return sorted(waiting, key=lambda track: (track.turns, (track.expected or 0) - track.scanned))


def _read(term: Term, track: Track, cursor: str) -> FailedPage:
    return term.reader.failed_page(track.ref, cursor=cursor, newest_first=True, most=failed.PAGE)


def _progress(track: Track, page: FailedPage) -> dict[str, object]:
    return {
        "scanning": page.cursor is not None,
        "scanned": track.scanned + len(page.jobs),
        "low": page.cursor or "",
    }


def _noted(track: Track, page: FailedPage) -> Callable[[], None]:
    def done() -> None:
        track.turns += 1
        track.scanned += len(page.jobs)
        track.low, track.scanning = page.cursor or "", page.cursor is not None
        newest = max((job.score_ms for job in page.jobs if job.score_ms is not None), default=None)
        if newest is not None:
            track.last_ms = max(newest, track.last_ms or newest)

    return done
