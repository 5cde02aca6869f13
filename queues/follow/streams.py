"""One event stream as the follower holds it in memory: how far it is read, and what was counted from it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from queues.backend import Batch
from queues.events import ENTERS, NOTABLE, Event, EventKind, Position, order, time_of
from queues.history import MINUTE_MS, History
from queues.types import QueueRef, State

NOTABLE_AT_ONCE = 200  # of one queue and one reading; what is beyond is counted and said
NOTABLE_PENDING = 1_000  # of one queue, not stored yet
SAMPLE = 20  # events of one queue that a batch of news shows
PROGRESS = 200  # jobs of one queue whose progress a batch of news tells
ORIGIN = "0-0"


@dataclass(slots=True)
class Watched:
    """What is collected for those who watch, until the next news."""

    total: int = 0
    notable: deque[Event] = field(default_factory=lambda: deque(maxlen=SAMPLE // 2))
    recent: deque[Event] = field(default_factory=lambda: deque(maxlen=SAMPLE))
    progress: dict[bytes, Event] = field(default_factory=dict)

    def recall(self, batch: Batch, upto: str, *, whole: bool) -> None:
        """What happened before anybody was known to watch, up to what the follower has counted.

        `whole` says that nothing newer was left out: else a page may know a newer progress than the last in it.
        """
        last = order(upto)
        events = [event for event in batch.events(most=SAMPLE) if order(event.id) <= last]
        self.recent.extend(events)
        self.total += len(events)
        if whole:
            told = batch.events(kinds={EventKind.PROGRESS}, most=PROGRESS)
            self._progress([event for event in told if order(event.id) <= last])

    def take(self, batch: Batch) -> None:
        self.total += batch.number
        kinds = {kind for tally in batch.tallies.values() for kind in tally}
        if kinds & NOTABLE:
            self.notable.extend(batch.events(kinds=NOTABLE, most=SAMPLE // 2))
        self.recent.extend(batch.events(most=SAMPLE))
        if EventKind.PROGRESS in kinds:
            self._progress(batch.events(kinds={EventKind.PROGRESS}, most=PROGRESS))

    def _progress(self, told: Iterable[Event]) -> None:
        for event in told:
            if event.job is not None:
                self.progress.pop(event.job, None)
                self.progress[event.job] = event

    def sample(self) -> list[Event]:
        """What is notable first, filled up with the newest, in the order in which it happened."""
        chosen = {event.id: event for event in self.notable}
        for event in reversed(self.recent):
            if len(chosen) >= SAMPLE:
                break
            chosen.setdefault(event.id, event)
        return sorted(chosen.values(), key=lambda event: order(event.id))


@dataclass(slots=True)
class Stream:
    """`added` is the number of entries that had ever been added with `last_id`; None while that is not known."""

    ref: QueueRef
    pk: int  # of the queue
    last_id: str
    added: int | None
    history: History
    read: int = 0
    lost: int = 0
    exists: bool = True
    changed: bool = False  # since it was last stored
    moved: bool = False  # since its queue was last counted
    stored: int | None = None  # how many notable events are kept; None = not asked yet
    verified_ms: int = 0  # up to here nothing is lost that we do not know of
    check: Position | None = None  # where the server said the stream stood: compared when we get there
    entry_bytes: float | None = None  # how large an entry is in the mean; None = none read yet
    strange: int = 0  # since it was last stored
    unstored: int = 0  # entries read since it was last stored
    notable: list[Event] = field(default_factory=list)  # not stored yet
    entered: dict[State, int] = field(default_factory=dict)
    watched: Watched | None = None
    jobs: dict[bytes, list[Event]] = field(default_factory=dict)  # of jobs that somebody watches

    def recalled(self, batch: Batch, job: bytes) -> list[Event]:
        """What happened to a job before anybody was known to watch it."""
        last = order(self.last_id)
        return [event for event in batch.events(job=job, most=SAMPLE) if order(event.id) <= last]

    def take(self, batch: Batch) -> Event | None:
        """Count what one reading brought. Gives the gap when this reading shows that events were lost before it."""
        gap = self._settle(batch)
        self.last_id = batch.last_id
        self.read += batch.number
        self.strange += batch.strange
        self.unstored += batch.number
        if self.added is not None:
            self.added += batch.number
        self.changed = self.moved = True
        mean = batch.size / max(batch.number, 1)
        self.entry_bytes = max(mean, (self.entry_bytes or 0) / 2)
        self.history.add(batch.tallies)
        for tally in batch.tallies.values():
            for kind, number in tally.items():
                if state := ENTERS.get(kind):
                    self.entered[state] = self.entered.get(state, 0) + number
        self._note(batch)
        return gap

    def verify(self, position: Position) -> Event | None:
        """Compare with where the server says the stream stands, now or as soon as we have read so far.

        Gives the gap when events were lost.
        """
        existed, self.exists = self.exists, position.exists
        if not position.exists:
            return self._vanished() if existed and self.last_id != ORIGIN else None
        ours, theirs = order(self.last_id), order(position.last_id)
        if theirs < ours:
            return self._went_back(position)
        if not position.length:
            return self._emptied(position)
        if position.added is None:
            return self._uncounted(position)
        if theirs == ours:
            return self._compare(position, read_since=0)
        if self.check is None:
            self.check = position
        return None

    def _vanished(self) -> Event:
        """The stream was deleted: what was in it since our last reading is lost, a new one begins at its beginning."""
        self.check, self.added = None, 0
        return self.lose(max(time_of(self.last_id), self.verified_ms), None)

    def _went_back(self, position: Position) -> Event:
        """An older copy took its place, or another clock rules: what was before it cannot be told from what is new."""
        gap = self.lose(max(time_of(self.last_id), self.verified_ms), None)
        self.last_id, self.added, self.check = position.last_id, position.added, None
        return gap

    def _emptied(self, position: Position) -> Event | None:
        """Nothing is left of it: no reading will ever come to where it stands, so what we lack is known now."""
        behind, self.last_id, self.check = order(self.last_id) < order(position.last_id), position.last_id, None
        self.changed = self.changed or behind
        if position.added is None and behind:
            return self.lose(time_of(position.last_id), None)
        return self._compare(position, read_since=0)

    def _uncounted(self, position: Position) -> Event | None:
        """Before Redis 7: events are lost when the oldest that is there is newer than the last that we read."""
        first_ms = time_of(position.first_id)
        if self.read and order(position.first_id) > order(self.last_id) and first_ms > self.verified_ms:
            return self.lose(first_ms, None)
        self.verified_ms = max(self.verified_ms, time_of(self.last_id))
        return None

    def lose(self, until_ms: int, number: int | None) -> Event:
        """Events up to that moment were lost: the minutes they touch are unknown from now on."""
        begin = min(self.verified_ms or time_of(self.last_id), until_ms)
        self.lost += number or 0
        self.changed = True
        self.history.lose(begin, until_ms)
        self.verified_ms = until_ms
        gap = Event(self.ref, f"{begin}-0", EventKind.GAP, count=number, until_ms=until_ms)
        self.keep([gap])
        if self.watched is not None:
            self.watched.notable.append(gap)
        return gap

    def keep(self, events: list[Event]) -> None:
        """Have events stored with the next writing; too many at once are counted instead."""
        self.notable += events
        over = len(self.notable) - NOTABLE_PENDING
        if over > 0:
            self._omit(over)

    def _settle(self, batch: Batch) -> Event | None:
        """Compare with what the server said, when this reading passes that point."""
        check = self.check
        if check is None or order(batch.last_id) < order(check.last_id):
            return None
        self.check = None
        return self._compare(check, read_since=batch.upto(check.last_id))

    def _compare(self, check: Position, *, read_since: int) -> Event | None:
        """`read_since` entries of a reading that is not counted yet belong to what the server had at the check."""
        at_ms = time_of(check.last_id)
        if check.added is None:
            return None
        reached = None if self.added is None else self.added + read_since
        self.added = check.added - read_since
        if reached is None or reached == check.added:
            self.verified_ms = max(self.verified_ms, at_ms)
            return None
        # Fewer than we counted: it is another stream of the same name, and nobody knows what was in between.
        return self.lose(at_ms, check.added - reached if check.added > reached else None)

    def _note(self, batch: Batch) -> None:
        tallied: Mapping[EventKind, int] = _sum(batch.tallies)
        wanted = sum(tallied.get(kind, 0) for kind in NOTABLE)
        if wanted:
            events = list(batch.events(kinds=NOTABLE, most=NOTABLE_AT_ONCE))
            self.keep(events)
            if wanted > len(events):
                self._omit(0, wanted - len(events))
        if self.watched is not None:
            self.watched.take(batch)
        for job, events in self.jobs.items():
            events.extend(batch.events(job=job, most=SAMPLE))
            del events[:-PROGRESS]

    def _omit(self, oldest: int, more: int = 0) -> None:
        """Leave out the `oldest` pending events, and `more` that were never decoded: one entry says how many."""
        dropped, self.notable = self.notable[:oldest], self.notable[oldest:]
        number = more + sum(1 if event.kind is not EventKind.OMITTED else event.count or 0 for event in dropped)
        kept = [event for event in self.notable if event.kind is EventKind.OMITTED]
        number += sum(event.count or 0 for event in kept)
        rest = [event for event in self.notable if event.kind is not EventKind.OMITTED]
        self.notable = [Event(self.ref, self.last_id, EventKind.OMITTED, count=number), *rest]


def begin(ref: QueueRef, pk: int, position: Position, *, now_ms: int, most: int) -> Stream:
    """A stream that was never read: from an hour ago, or from now where it holds more than `most` entries."""
    hour_ago = max(0, now_ms - 60 * MINUTE_MS)
    stream = Stream(ref, pk, position.last_id, position.added, History(now_ms // MINUTE_MS + 1))
    stream.exists, stream.verified_ms, stream.changed = position.exists, now_ms, True
    if not position.exists:
        stream.history.known_from = now_ms // MINUTE_MS  # all that will be in it happens from now on
    elif time_of(position.last_id) < hour_ago:
        stream.history.known_from = hour_ago // MINUTE_MS + 1
    elif 0 < position.length <= most:
        # Untrimmed, it tells all that ever happened; else the minute of its first entry may be incomplete.
        first = hour_ago if position.added == position.length else max(hour_ago, time_of(position.first_id))
        stream.history.known_from = first // MINUTE_MS + 1
        stream.last_id, stream.added, stream.check = f"{hour_ago}-0", None, position
    return stream


def _sum(tallies: Mapping[int, Mapping[EventKind, int]]) -> dict[EventKind, int]:
    summed: dict[EventKind, int] = {}
    for tally in tallies.values():
        for kind, number in tally.items():
            summed[kind] = summed.get(kind, 0) + number
    return summed
