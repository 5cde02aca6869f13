"""The next page of a scan is read while the one before is written: the server and we have a processor each."""

from __future__ import annotations

import threading
from collections.abc import Callable

from queues.failed import FailedPage
from queues.failures.index.tracks import Track


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
