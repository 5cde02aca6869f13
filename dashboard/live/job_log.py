"""The end of a job's log as it grows: what came since the last look, never what was there before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from queues.backend import Backend
from queues.quantities import now_ms
from queues.types import LOG_PAGE, JobRef, LogPage, Text

OVERLAP = 2  # lines that are read again: where they are others, the log was cut at its beginning
MOST = LOG_PAGE - 1  # lines at a time; one more says how many were left out


@dataclass(frozen=True, slots=True)
class Grown:
    """Lines that came, numbered from `first`. `left_out` of them came before that and are not here."""

    lines: Sequence[Text] = ()
    first: int = 1
    left_out: int = 0


class LogTail:
    """Follows the log of one job. `cut_ms` is when lines were last found to be gone, by our clock."""

    def __init__(self, ref: JobRef) -> None:
        self.ref = ref
        self.cut_ms: int | None = None
        self.total: int | None = None  # lines that we know of; None before the first look
        self._last: Sequence[Text] = ()

    def look(self, reader: Backend) -> Grown:
        """What is new. One call, two where the log was cut or more came than is shown at once.

        The first time it is the end of the log: what came between the reading of a page and our first look is
        in it, and a page leaves out the lines that it has.
        """
        if self.total is None:
            return self._begin(reader)
        first = self.total - len(self._last) + 1
        page = reader.logs(self.ref, first=max(1, first))
        known = len(self._last)
        if page.total < self.total or page.lines[:known] != self._last:
            self.cut_ms = now_ms()
            self._begin(reader)
            return Grown()
        if page.total > page.last or len(page.lines) - known > MOST:
            return self._jump(reader, page.total)
        return self._take(page.lines[known:], self.total + 1, 0)

    def _begin(self, reader: Backend) -> Grown:
        page = reader.logs(self.ref)
        self.total, self._last = page.total, page.lines[-OVERLAP:]
        lines = page.lines[-MOST:]
        return Grown(lines, page.last - len(lines) + 1)

    def _jump(self, reader: Backend, total: int) -> Grown:
        """Only the end of what came: it came faster than anybody reads."""
        known = self.total or 0
        first = max(known + 1, total - MOST + 1)
        page: LogPage = reader.logs(self.ref, first=first)
        return self._take(page.lines[:MOST], first, first - known - 1)

    def _take(self, lines: Sequence[Text], first: int, left_out: int) -> Grown:
        if lines:
            self.total = first + len(lines) - 1
            self._last = [*self._last, *lines][-OVERLAP:]
        return Grown(lines, first, left_out if lines else 0)
