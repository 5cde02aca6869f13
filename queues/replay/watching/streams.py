"""How far the stream of one target queue is read for one plan, and whether events were lost on the way."""

from __future__ import annotations

import math
from dataclasses import dataclass

from queues.backend import Batch
from queues.events import Position, order, time_of
from queues.types import QueueRef

ORIGIN = "0-0"
FEWEST, MOST = 16, 5_000  # entries of one reading
REPLY_BYTES = 4 * 1024 * 1024  # that a reading may bring, as far as one can know


@dataclass(frozen=True, slots=True)
class Gap:
    """Events that were gone before they were read, the last of them at `until_ms` by the server's clock.

    None: nobody knows how many, or until when (then until now).
    """

    number: int | None
    until_ms: int | None


@dataclass(slots=True)
class Stream:
    """`added` is the number of entries that had ever been added with `position`; None while that is not known.

    Events up to `blind_ms` may be missing; 0: none are. `goal` is where the stream ended when it was last looked at.
    """

    pk: int  # of the ReplayQueue
    queue: int  # its key
    ref: QueueRef
    position: str
    added: int | None
    blind_ms: int = 0
    goal: str = ""
    readable: bool = True
    stored: str = ""  # the position that the database has
    entry_bytes: float | None = None
    held_ms: float = math.inf  # how much time the entries cover that a trimmed stream holds
    _check: Position | None = None

    @property
    def behind(self) -> bool:
        """Whether there is more to read up to the goal."""
        return self.readable and order(self.position) < order(self.goal or ORIGIN)

    @property
    def read_ms(self) -> int:
        """What happened before this moment has been read."""
        return time_of(self.position)

    @property
    def most(self) -> int:
        """How many entries to ask for: few where they are large, or nobody knows."""
        if self.entry_bytes is None:
            return FEWEST
        return max(1, min(MOST, REPLY_BYTES // max(int(self.entry_bytes), 1)))

    def knows(self, since_ms: int) -> bool:
        """Whether everything that happened since then has been read, up to the goal."""
        return self.readable and not self.behind and since_ms > self.blind_ms

    def note(self, position: Position | None) -> None:
        """How far back a stream goes, before its entries are dropped."""
        trimmed = position is not None and position.length > 1 and position.length != position.added
        self.held_ms = math.inf
        if position is not None and trimmed:
            self.held_ms = max(0, time_of(position.last_id) - time_of(position.first_id))

    def compare(self, position: Position | None) -> Gap | None:
        """Compare with where the server says the stream stands, now or as soon as it is read so far."""
        self.readable = position is not None
        if position is None:
            return None
        if not position.exists:
            return self._vanished()
        self.goal = position.last_id
        ours, theirs = order(self.position), order(position.last_id)
        if theirs < ours:
            return self._went_back(position)
        if not position.length:
            return self._emptied(position)
        if position.added is None:
            return self._uncounted(position)
        if theirs == ours:
            return self._settled(position, 0)
        if self._check is None:
            self._check = position
        return None

    def take(self, batch: Batch) -> Gap | None:
        """Go on behind what one reading brought; the gap where it shows that events before it were lost."""
        gap, check = None, self._check
        if check is not None and order(batch.last_id) >= order(check.last_id):
            self._check, gap = None, self._settled(check, batch.upto(check.last_id))
        self.position = batch.last_id
        self.entry_bytes = max(batch.size / max(batch.number, 1), (self.entry_bytes or 0) / 2)
        if self.added is not None:
            self.added += batch.number
        return gap

    def skip(self, position: Position | None) -> None:
        """Go on from where it ends: nobody needs what was before."""
        self.readable, self._check = position is not None, None
        if position is not None:
            self.position, self.added, self.goal = position.last_id, position.added, position.last_id

    def give_up(self) -> None:
        """What was to be read is not there any more; the next comparing tells what was lost."""
        self.goal = self.position

    def _vanished(self) -> Gap | None:
        """The stream was deleted; a new one will begin at its beginning."""
        gap = Gap(None, None) if self.position != ORIGIN else None
        self.position, self.added, self.goal, self._check = ORIGIN, 0, ORIGIN, None
        return gap

    def _went_back(self, position: Position) -> Gap:
        """Another stream took its place: what of it is new cannot be told."""
        self.skip(position)
        return Gap(None, None)

    def _emptied(self, position: Position) -> Gap | None:
        """Nothing is left of it, so what we lack is known now."""
        behind, self.position, self._check = self.behind, position.last_id, None
        if position.added is None:
            return Gap(None, time_of(position.last_id)) if behind else None
        return self._settled(position, 0)

    def _uncounted(self, position: Position) -> Gap | None:
        """Before Redis 7: events may be lost when the oldest that is there is newer than the last that we read."""
        trimmed = order(position.first_id) > order(self.position) > order(ORIGIN)
        return Gap(None, time_of(position.first_id)) if trimmed else None

    def _settled(self, check: Position, since: int) -> Gap | None:
        """`since` entries of a reading that is not counted yet belong to what the server had by then."""
        if check.added is None:
            return None
        reached = None if self.added is None else self.added + since
        self.added = check.added - since
        if reached is None or reached == check.added:
            return None
        # Fewer than we counted: another stream of the same name, and nobody knows what was in between.
        return Gap(check.added - reached if check.added > reached else None, time_of(check.last_id))
