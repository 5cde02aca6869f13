"""What happened in a queue in each of the last 60 minutes: counted by the follower, drawn as a sparkline.

A minute that nobody followed, or of which events were lost, is None: unknown is never zero.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from queues.events import EventKind

MINUTES = 60
MINUTE_MS = 60_000
# In the order in which they are written down.
KINDS = (EventKind.COMPLETED, EventKind.FAILED, EventKind.STALLED, EventKind.ADDED)


@dataclass(frozen=True, slots=True)
class Rate:
    """So many a minute, in the mean of so many whole minutes."""

    per_min: float
    minutes: int


@dataclass(slots=True)
class History:
    """Counts by minute (milliseconds since 1970 // 60,000, on the server's clock).

    Known are the minutes from `known_from` to the one that the reader asks for, without those in `lost`;
    a known minute that is not in `counts` had no such event.
    """

    known_from: int  # the first minute that was followed from its beginning to its end
    counts: dict[int, list[int]] = field(default_factory=dict)  # by minute, in the order of KINDS
    lost: set[int] = field(default_factory=set)  # minutes of which events were lost

    def add(self, tallies: Mapping[int, Mapping[EventKind, int]]) -> None:
        """Count what one reading brought."""
        for minute, tally in tallies.items():
            row = self.counts.setdefault(minute, [0] * len(KINDS))
            for place, kind in enumerate(KINDS):
                row[place] += tally.get(kind, 0)

    def lose(self, first_ms: int, last_ms: int) -> None:
        """Events between these moments were lost: the minutes they touch are unknown from now on."""
        last = last_ms // MINUTE_MS
        self.lost.update(range(max(first_ms // MINUTE_MS, last - 2 * MINUTES), last + 1))

    def trim(self, minute: int) -> None:
        """Forget what is more than an hour from `minute`, also in a future that somebody's clock made up."""
        oldest = minute - MINUTES
        for old in [each for each in self.counts if not oldest <= each <= minute + MINUTES]:
            del self.counts[old]
        self.lost = {each for each in self.lost if each >= oldest}
        self.known_from = max(self.known_from, oldest)

    def knows(self, minute: int) -> bool:
        """Whether a minute that is over was followed from its beginning to its end."""
        return minute >= self.known_from and minute not in self.lost

    def series(self, kind: EventKind, upto: int) -> Sequence[int | None]:
        """The 60 minutes that end with `upto` (the last whole one), oldest first; None = unknown."""
        place, first = KINDS.index(kind), upto - MINUTES + 1
        series: list[int | None] = [0] * MINUTES
        for minute, row in self.counts.items():
            if first <= minute <= upto:
                series[minute - first] = row[place]
        unknown = min(max(self.known_from - first, 0), MINUTES)
        series[:unknown] = [None] * unknown
        for minute in self.lost:
            if first <= minute <= upto:
                series[minute - first] = None
        return series

    def rate(self, kinds: Collection[EventKind], upto: int, minutes: int) -> Rate | None:
        """How many of these kinds a minute, over the last `minutes` up to `upto`; None where that is not known.

        Only whole minutes count in which the queue was at work: not those that nobody saw, not quiet ones before it
        began, and not the one in which it began. So work that has just begun is not taken for less than it is.
        """
        first, places = upto - minutes + 1, [KINDS.index(kind) for kind in kinds]
        known = [minute for minute in range(first - 1, upto + 1) if self.knows(minute)]
        began = next((minute for minute in known if any(self.counts.get(minute, ()))), first - 1)
        whole = [minute for minute in known if minute > began]
        if not whole:
            return None
        number = sum(self.counts[minute][place] for minute in whole if minute in self.counts for place in places)
        return Rate(number / len(whole), len(whole))


def dump(history: History) -> str:
    """A history as JSON: some 10 bytes for each minute in which something happened."""
    flat: list[int] = []
    for minute in sorted(history.counts):
        flat += (minute - history.known_from, *history.counts[minute])
    value = [history.known_from, flat, sorted(history.lost)]
    return json.dumps(value, separators=(",", ":"))


def load(text: str) -> History | None:
    """The inverse of `dump`; None for what is not one of ours."""
    try:
        known_from, flat, lost = json.loads(text)
        width = len(KINDS) + 1
        counts = {known_from + flat[at]: flat[at + 1 : at + width] for at in range(0, len(flat), width)}
        return History(known_from, counts, set(lost))
    except (IndexError, TypeError, ValueError):
        return None
