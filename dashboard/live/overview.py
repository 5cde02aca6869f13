"""Draws the overview of a source as its news come: the rows that changed, the sums, and what needs eyes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from weakref import WeakValueDictionary

from django.utils.translation import get_language

from dashboard import rows as table
from dashboard import summary
from dashboard.live import eyes
from dashboard.live.parts import row_key
from dashboard.live.update import Update
from queues import attention, followed, listing, readings
from queues.attention import Eye
from queues.followed import Histories
from queues.history import History
from queues.live import News, OverviewNews, Pulse, RowNews
from queues.quantities import instant
from queues.readings import QueueReading, ScanState, SourceReading
from queues.registry import backend, configured
from queues.types import Capability, QueueRef

SAID_EVERY_MS = 10_000  # a screen reader is not told of each flicker
KEPT_EYES = 30  # queues whose sentences are drawn because a page may show them among what needs eyes


class Overview:
    """The rows of all queues of a source as last told, and what they come to.

    Until all of them were told once, only rows are drawn: a sum over a part would be a false one. Sums for pages on
    several sources are drawn as soon as each of these has such a drawer in this process.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.reading: SourceReading | None = None  # None until all rows are known
        self.rows: dict[QueueRef, listing.Row] = {}
        self._among: frozenset[QueueRef] = frozenset()
        self._minute = 0
        self._stored: Histories | None = None  # what was written down before the first news
        self._scan: datetime | None = None
        self._recent: dict[QueueRef, None] = {}  # those that needed eyes, the last one last
        self._eyes: dict[str, tuple[Sequence[Eye], frozenset[str]]] = {}  # by scope, with the keys of all urgent ones
        self._told: Sequence[Eye] | None = None  # what a screen reader knows of
        self._said_ms = 0
        _drawers[source] = self

    def update(self, news: News) -> Update:
        """Rows that changed, and all of them when a minute has passed; the rest as far as it can differ.

        About 50 µs a row that was never drawn so before, and 5 ms for a thousand queues. One query a minute.
        """
        if not isinstance(news, OverviewNews) or (news.standing.pulse is Pulse.BLIND and not news.rows):
            return Update()
        drawn = self._take(news)
        parts: dict[str, str] = {}
        language = get_language() or ""
        for row, before in drawn:
            key = row_key(row.ref)
            parts.update((f"{key}-{name}", html) for name, html in table.parts(row, language, before).items())
        say = ""
        if self.reading is not None:
            self._tell(news.standing.at_ms)
            for where, group in self._scopes():
                parts |= self._sums(group, where)
                self._watch(group, where)
            say = self._said(news.standing.at_ms)
            parts |= self._sentences()
            parts |= self._changes()
        changed = {row_key(row.ref): row.changed_ms for row in news.rows}
        return Update(parts, changed, say=say)

    def _take(self, news: OverviewNews) -> Sequence[tuple[listing.Row, listing.Row | None]]:
        """Keep the news; gives the rows to draw, each with what it was."""
        before = dict(self.rows)
        if news.whole:
            self.rows = {}
        refs = [row.ref for row in news.rows]
        if self._stored is None:
            self._stored = followed.histories(self.source)
            self._minute = self._stored.upto
            self._among = frozenset() if news.whole else readings.names(self.source)
        if news.whole or not self._among.issuperset(refs):
            self._among = frozenset(refs) | (frozenset() if news.whole else self._among)
        minute = max((row.upto for row in news.rows), default=0)
        if not (news.whole and minute):  # all rows say which minute it is, whatever was believed before
            minute = max(minute, self._minute)
        turned, self._minute = minute != self._minute, minute
        for told in news.rows:
            history = told.history if told.history or news.whole else self._history(told.ref, before.get(told.ref))
            self.rows[told.ref] = self._judged(_reading(told), history, news.standing.at_ms)
        if turned:
            self._age(self.rows.keys() - set(refs), news.standing.at_ms)
        if news.whole or (turned and self.reading):
            self._scan = _scanned(self.source)
        if news.whole and self.reading is None:
            self._tell(news.standing.at_ms)
        return [(self.rows[ref], before.get(ref)) for ref in (self.rows if turned else refs)]

    def _judged(self, queue: QueueReading, history: History | None, at_ms: int) -> listing.Row:
        """A row by its news. The last whole minute is the same for all: what happened in none of theirs is zero."""
        verdict = attention.judge_reading(queue, at_ms, self._among, history, self._minute)
        return listing.Row(queue, verdict, True, history, self._minute)

    def _history(self, ref: QueueRef, before: listing.Row | None) -> History | None:
        """What is known of the last hour of a row whose news do not say: as last told, else as it was written down."""
        if before is not None:
            return before.history
        return self._stored.by_slug.get(ref.slug) if self._stored else None

    def _age(self, refs: Iterable[QueueRef], at_ms: int) -> None:
        """A minute has passed, also for rows without news: their hour moves on, and some wait for too long by now."""
        for ref in refs:
            row = self.rows[ref]
            self.rows[ref] = self._judged(row.queue, row.history, at_ms)

    def _tell(self, at_ms: int) -> None:
        queues = tuple(row.queue for row in self.rows.values())
        scan = ScanState(finished_at=self._scan)
        self.reading = SourceReading(self.source, queues, True, instant(at_ms), scan=scan)

    def _scopes(self) -> Iterable[tuple[str, Sequence[Overview]]]:
        """The pages whose sums this source is part of and that can be drawn now, by what their ids end with."""
        yield summary.scope([self.source]), [self]
        every = [self if config.name == self.source else _drawers.get(config.name) for config in configured()]
        known = [drawer for drawer in every if drawer is not None and drawer.reading is not None]
        if len(every) > 1 and len(known) == len(every):
            yield "", known

    def _sums(self, group: Sequence[Overview], where: str) -> Mapping[str, str]:
        found = [drawer.reading for drawer in group if drawer.reading is not None]
        listed = [row for drawer in group for row in drawer.rows.values()]
        manned = any(Capability.WORKERS in backend(drawer.source).capabilities for drawer in group)
        parts = dict(summary.figures(summary.totals(listed, found, where, manned=manned), where))
        if any(row.queue.workers is None for row in listed):
            # Why they are unknown is not in the news: the page, which has read it, keeps what it says.
            del parts[f"total-active-note{where}"]
        return parts | {f"lede{where}": summary.lede(found, listed, where)}

    def _watch(self, group: Sequence[Overview], where: str) -> None:
        """See which queues need eyes."""
        listed = [row for drawer in group for row in drawer.rows.values()]
        found = summary.eyes(listed)
        urgent = frozenset(row_key(row.ref) for row in listed if _urgent(row))
        self._eyes[where] = found, urgent
        for eye in found:
            self._recent.pop(eye.ref, None)
            self._recent[eye.ref] = None
        for ref in list(self._recent)[:-KEPT_EYES]:
            del self._recent[ref]

    def _said(self, at_ms: int) -> str:
        """What a screen reader is told of queues of this source that need eyes now, or no longer do."""
        found = summary.eyes(list(self.rows.values()))
        before = found if self._told is None else self._told
        if self._told is not None and at_ms - self._said_ms < SAID_EVERY_MS:
            return ""
        self._told = found
        was, now = {eye.ref for eye in before}, {eye.ref for eye in found}
        # Those that only stand behind graver ones by now still need eyes.
        well = [ref for ref in was - now if ref not in self.rows or not _urgent(self.rows[ref])]
        said = summary.told([eye for eye in found if eye.ref not in was], {ref.label for ref in well})
        self._said_ms = at_ms if said else self._said_ms
        return said

    def _sentences(self) -> Mapping[str, str]:
        """The sentences of queues that need eyes, or did when some page was read."""
        parts: dict[str, str] = {}
        for ref in self._recent:
            row = self.rows.get(ref)
            if row is not None:
                title, sentence = summary.said(row_key(ref), row.verdict.facts if _urgent(row) else ())
                parts |= {f"eye-{row_key(ref)}-title": title, f"eye-{row_key(ref)}": sentence}
        return parts

    def _changes(self) -> Mapping[str, str]:
        parts: dict[str, str] = {}
        for where, (found, urgent) in self._eyes.items():
            parts |= eyes.changes(where, [row_key(eye.ref) for eye in found], urgent)
        return parts


_drawers: WeakValueDictionary[str, Overview] = WeakValueDictionary()


def _reading(told: RowNews) -> QueueReading:
    at = instant(told.read_ms)
    return QueueReading(told.ref, told.counts, told.workers, None if told.counts.exists else at, read_at=at)


def _urgent(row: listing.Row) -> bool:
    return row.verdict.level in attention.URGENT


def _scanned(source: str) -> datetime | None:
    """When the search for queues last came to its end."""
    return next((status.scan.finished_at for status in readings.status() if status.name == source), None)
