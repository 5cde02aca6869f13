"""Draws what happened in a queue for its page: numbers, sentences, progress and the feed."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard import feed
from dashboard.live import queue_parts
from dashboard.live.parts import job_key
from dashboard.live.update import Update
from queues import attention, followed, masking, notables, readings
from queues.events import Event, EventKind
from queues.history import History
from queues.live import News, Pulse, QueueNews, RowNews, Seen, Standing
from queues.quantities import now_ms, number
from queues.types import JobRef, QueueRef, State

WINDOW_S = 10.0  # over which the rate and the sample are told
LEAST_S = 3.0  # a rate over less is none
KNOWN_FOR_S = 5.0  # what was read from the database
RECENT_MS = 60_000  # within which a page was read that is told of for the first time
SAY_EVERY_S = 10.0  # a screen reader would not come to its end otherwise

SPOKEN = (EventKind.FAILED, EventKind.STALLED, EventKind.PAUSED, EventKind.RESUMED, EventKind.GAP)


@dataclass(slots=True)
class _Known:
    """What the database says that a batch of news does not."""

    among: frozenset[QueueRef] = frozenset()
    breaks: Sequence[Event] = ()  # gaps and outages of the last hour
    history: History | None = None
    upto: int = 0
    read_at: float | None = None  # by our monotonic clock, in seconds

    @property
    def gaps(self) -> Sequence[Event]:
        return [event for event in self.breaks if event.kind is EventKind.GAP]


@dataclass(slots=True)
class _Window:
    """What the news of the last ten seconds held."""

    began: float
    batches: deque[tuple[float, int, int]] = field(default_factory=deque)  # when, shown, in all

    def add(self, now: float, shown: int, total: int) -> None:
        self.batches.append((now, shown, total))
        while self.batches[0][0] <= now - WINDOW_S:
            self.batches.popleft()

    @property
    def shown(self) -> int:
        return sum(shown for _at, shown, _total in self.batches)

    @property
    def total(self) -> int:
        return sum(total for _at, _shown, total in self.batches)

    def rate(self, now: float) -> float | None:
        """Events a second; None while we have not looked for long enough."""
        span = min(now - self.began, WINDOW_S)
        return self.total / span if span >= LEAST_S else None


class QueuePage:
    """The `Drawer` of a queue's page. `clock` is monotonic, in seconds.

    Reads the database every five seconds: the names of all queues, the last hour, and which of its events were lost.
    """

    def __init__(self, ref: QueueRef, clock: Callable[[], float] = time.monotonic) -> None:
        self.ref = ref
        self._clock = clock
        self._known = _Known()
        self._window = _Window(clock())
        self._unsaid: Counter[EventKind] = Counter()
        self._partial = False  # what was not said yet comes out of a sample
        self._said_at: float | None = None
        self._failed: int | None = None  # as the follower counted them last

    def update(self, news: News) -> Update:
        """Draw a batch. News of other kinds change nothing on this page."""
        if not isinstance(news, QueueNews):
            return Update()
        with masking.within(self.ref):
            return self._update(news)

    def _update(self, news: QueueNews) -> Update:
        now = self._clock()
        seen = [*news.events, *self._learn(now)]
        self._window.add(now, len(news.events), news.total)
        parts = {**self._about(now, news.standing), **self._progress(news.progress), **self._outcomes(news.events)}
        if news.row is not None:
            parts |= self._numbers(news.row)
        return Update(
            parts=parts,
            changed_ms=self._changed(news),
            feed=feed.entries(seen),
            entries=len(seen),
            entered={str(state): count for state, count in news.entered.items()},
            upto=news.upto,
            say=self._say(now, news, seen),
        )

    def _learn(self, now: float) -> Sequence[Seen]:
        """Read anew now and then what the database says. Gives what is new of gaps and outages: no stream tells it."""
        known = self._known
        if known.read_at is not None and now - known.read_at < KNOWN_FOR_S:
            return ()
        last_hour = followed.history(self.ref)
        self._known = _Known(readings.names(self.ref.source), notables.breaks(self.ref), *last_hour, now)
        if known.read_at is None:
            # What came after the page was read and before this: the page leaves out what it has.
            since = now_ms() - RECENT_MS
            return [Seen(event) for event in self._known.breaks if (event.until_ms or event.at_ms) >= since]
        had = {(event.kind, event.id) for event in known.breaks}
        return [Seen(event) for event in self._known.breaks if (event.kind, event.id) not in had]

    def _about(self, now: float, standing: Standing) -> Mapping[str, str]:
        window = self._window
        rate = None if standing.pulse is Pulse.BLIND else window.rate(now)
        return {
            "feed-rate": queue_parts.rate(rate),
            "feed-sample": queue_parts.sample(window.shown, window.total),
            "gap-note": queue_parts.gap_note(self._known.gaps),
        }

    def _numbers(self, row: RowNews) -> Mapping[str, str]:
        counts = row.counts
        known = self._known
        judged = attention.judge(
            self.ref, counts, row.workers, row.read_ms, known.among, history=known.history, upto=known.upto
        )
        return {f"tab-{state}": queue_parts.tab(state, counts) for state in State} | {
            "verdict": queue_parts.verdict(judged),
            "paused": queue_parts.paused(counts),
            "paused-fact": queue_parts.paused_fact(counts),
            "workers": queue_parts.workers(row.workers),
            "nobody": queue_parts.nobody(row.workers),
            "oldest": queue_parts.oldest(counts.oldest),
        }

    def _progress(self, events: Sequence[Event]) -> Mapping[str, str]:
        """Bars and texts of jobs that told some progress."""
        drawn = {}
        for event in events:
            if event.job is not None:
                ref = JobRef(self.ref, event.job)
                drawn[f"p-{job_key(ref)}"] = queue_parts.progress(ref, event.progress)
        return drawn

    def _outcomes(self, events: Sequence[Seen]) -> Mapping[str, str]:
        """What became of jobs whose rows stay where they are."""
        drawn = {}
        for seen in events:
            event = seen.event
            if event.job is not None and event.kind in queue_parts.OUTCOMES:
                ref = JobRef(self.ref, event.job)
                drawn[f"s-{job_key(ref)}"] = queue_parts.outcome(ref, event)
        return drawn

    def _changed(self, news: QueueNews) -> Mapping[str, int]:
        """When a job last did something, by its parts: a page that was read later has it already."""
        found = {f"p-{job_key(JobRef(self.ref, event.job))}": event.at_ms for event in news.progress if event.job}
        for seen in news.events:
            if seen.event.job:
                found[f"s-{job_key(JobRef(self.ref, seen.event.job))}"] = seen.event.at_ms
        return found

    def _say(self, now: float, news: QueueNews, seen: Sequence[Seen]) -> str:
        """What a screen reader is told: the notable, added up, at most every ten seconds."""
        self._count(news, seen)
        recent = self._said_at is not None and now - self._said_at < SAY_EVERY_S
        if recent or not self._unsaid:
            return ""
        told = ", ".join(_spoken(kind, self._unsaid[kind], self._partial) for kind in SPOKEN if self._unsaid[kind])
        self._unsaid.clear()
        self._partial, self._said_at = False, now
        return told

    def _count(self, news: QueueNews, seen: Sequence[Seen]) -> None:
        """Failures are counted by the follower; of the rest we know what is in the sample."""
        found = Counter(each.event.kind for each in seen if each.event.kind in SPOKEN)
        self._partial |= news.total > len(news.events) and found[EventKind.STALLED] > 0
        counted = news.entered.get(State.FAILED)
        if counted is not None:
            if self._failed is not None and counted >= self._failed:
                found[EventKind.FAILED] = counted - self._failed
            self._failed = counted
        self._unsaid += found  # leaves out what did not happen


def _spoken(kind: EventKind, count: int, partial: bool) -> str:
    match kind:
        case EventKind.FAILED:
            return ngettext("%(n)s failed", "%(n)s failed", count) % {"n": number(count)}
        case EventKind.STALLED:
            text = ngettext("%(n)s stalled", "%(n)s stalled", count)
            if partial:
                text = ngettext("at least %(n)s stalled", "at least %(n)s stalled", count)
            return text % {"n": number(count)}
        case EventKind.PAUSED:
            return _("paused")
        case EventKind.RESUMED:
            return _("resumed")
    return _("events were lost")
