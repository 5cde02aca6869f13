"""Following one source: read its streams, count, keep, tell. Everything here runs in one thread."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence

from django.db import Error, IntegrityError, close_old_connections

from queues import cost, outages
from queues.errors import QueueError, Unreachable
from queues.events import Event, EventKind, Position, time_of
from queues.failures.desk import Desk
from queues.follow import failing, store
from queues.follow.lease import Lease, LeaseLost
from queues.follow.limits import portions
from queues.follow.rates import Rate
from queues.follow.streams import Stream, begin
from queues.follow.teller import Reader, Teller
from queues.history import MINUTE_MS
from queues.live import Audience, Pulse, Standing
from queues.names import show_controls
from queues.quantities import now_ms
from queues.types import QueueRef, Text

POLL_S = 0.25
ROUNDS_S = 1.0  # reading goes on at once for so long while more has come than one reading brings
JOIN_S = 3.0  # how often we look for queues that were found or went away
VERIFY_S = 5.0
SAVE_S = 2.0  # how often we show that we live, and keep what is notable
SAVE_ALL_S = 10.0  # and everything, sooner where a stream has moved far: each stream costs a page of the database
UNSTORED = 2_000  # entries of a stream: BullMQ keeps some 10,000, and what is not stored must still be there
STANDBY_S = 1.0
PATIENCE_S = (0.25, 5.0)  # between two tries of a server that does not answer: doubles, with jitter
FIRST_ENTRIES = (200, 10_000)  # of a stream that was never read: of many streams fewer each
FIRST_TOTAL = 500_000
BEHIND_MS = 2_000  # an event that is read later than that has us catching up

logger = logging.getLogger(__name__)


class SourceFollower:
    """Follows the streams of one source for as long as it holds the lease.

    `reader` has one connection of its own. Keeps going through everything that a server or the database can do:
    what cannot be stored now stays in memory, and what is lost is recorded as a gap. With a `desk` it works together
    with an index of failures beside it, which writes only while this holds the lease.
    """

    def __init__(self, name: str, reader: Reader, audience: Audience, holder: str, desk: Desk | None = None) -> None:
        self.name = name
        self.streams: dict[QueueRef, Stream] = {}
        self.lease = Lease(name, holder)
        self._reader = reader
        self._audience = audience
        self._desk = desk
        self._teller = Teller(name, reader, audience, desk)
        self._rate = Rate()
        self._about: list[Event] = []  # what happened to the source, not stored yet
        self._due = {"join": 0.0, "verify": 0.0, "save": 0.0, "save all": 0.0}
        self.standing = Standing(Pulse.CATCHING_UP, now_ms())
        self._covered_ms = 0
        self._stored_minute = 0  # up to which pages know everything
        self._server = (0.0, 0.0)  # the server's clock in ms, and our monotonic one at that moment in s
        self._failures = 0  # tries in a row that brought nothing
        self._down = False  # whether SOURCE_DOWN was noted
        self._unstored = False  # whether the last writing failed: said once
        self._strange_told: set[QueueRef] = set()

    def run(self, stopped: Callable[[float], bool]) -> None:
        """Until `stopped(seconds)`, which waits so long, says so."""
        pause = 0.0
        while not stopped(pause):
            began = time.monotonic()
            pause = max(0.0, self.step() - (time.monotonic() - began))
        self.close()

    def step(self) -> float:
        """One reading, or one try to become the follower. Gives the seconds from its beginning to the next."""
        try:
            return self._step()
        finally:
            self._rule(self.lease.epoch)

    def _step(self) -> float:
        try:
            if not self.lease.held and not self._take():
                return STANDBY_S
            return self._follow()
        except LeaseLost:
            logger.warning("Another follower has taken over %s", self.name)
            self._forget()
        except Error as error:
            if not self._unstored:
                logger.warning("%s: the database cannot be used now: %s", self.name, error)
            self._unstored = True
            if isinstance(error, IntegrityError):
                self.due_now("join")  # a queue was deleted while we had something to store of it
            close_old_connections()  # one that a server has cut is of no use for ever
        return STANDBY_S

    def due_now(self, what: str) -> None:
        """Have "join", "verify", "save" or "save all" done with the next step, whatever its time."""
        self._due[what] = 0.0

    def close(self) -> None:
        """Store what is known and let another follower begin at once."""
        self._rule(None)
        if self.lease.held:
            try:
                self._save(whole=True)
                self.lease.release()
            except (Error, LeaseLost) as error:
                logger.warning("%s: the last events could not be stored: %s", self.name, error)
        self._reader.close()

    def _take(self) -> bool:
        if self.lease.take():
            logger.info("Following %s", self.name)
            self._forget()
            self._rule(self.lease.epoch)  # before the first hints: without a lease they are thrown away
        return self.lease.held

    def _rule(self, epoch: int | None) -> None:
        if self._desk is not None and self._desk.epoch != epoch:
            self._desk.epoch = epoch
            self._desk.woken.set()

    def _forget(self) -> None:
        """What is in memory may be older than what another follower has stored."""
        self.streams.clear()
        self._about.clear()
        self._teller.forget()
        self._due = dict.fromkeys(self._due, 0.0)

    def _follow(self) -> float:
        began = time.monotonic()
        self._teller.ask()
        try:
            self._read(began)
        except Unreachable as error:
            return self._blind(error)
        except QueueError as error:
            return self._refused(error)
        self._teller.tell(self.standing, self.streams, self._covered_ms, began)
        if self._is_due("save", SAVE_S):
            self._save()
        return POLL_S

    def _read(self, began: float) -> None:
        if self._is_due("join", JOIN_S):
            self._join()
        self._teller.attach(self.streams, self._server_ms())
        fresh = self._is_due("verify", VERIFY_S)
        if fresh or self._failures:
            self._look_at_clock()
            self._verify(list(self.streams.values()))
        began_ms = self._server_ms()
        behind = self._rounds()
        if self._failures:
            self._back()
        self._stand(began_ms, behind)
        self._teller.count(self.streams, began)
        cost.report()

    def _rounds(self) -> list[Stream]:
        """Read until nothing more is there, or for a second. Gives the streams that hold more."""
        left: list[Stream] = list(self.streams.values())
        until = time.monotonic() + ROUNDS_S
        while left and time.monotonic() < until:
            again: list[Stream] = []
            for part, most in portions(left):
                batches = self._reader.entries({stream.ref: stream.last_id for stream in part}, most=most)
                for batch in batches:
                    stream = self.streams[batch.queue]
                    self._rate.add(batch.number)
                    self._tell_strange(stream, batch.strange, batch.sample)
                    gap = stream.take(batch)
                    if gap:
                        self._teller.recount([stream.ref])
                    if self._desk is not None:
                        failing.hint(self._desk, batch, lost=gap is not None)
                    if batch.number >= most:
                        again.append(stream)
            left = again
        return left

    def _stand(self, began_ms: float, behind: Sequence[Stream]) -> None:
        """Whether we keep up: the oldest that is not read yet tells by how much we do not."""
        oldest = min((time_of(stream.last_id) for stream in behind), default=None)
        late = 0 if oldest is None else max(0, int(began_ms) - oldest)
        if not behind:
            self._covered_ms = int(began_ms)
        elif oldest is not None:
            self._covered_ms = max(self._covered_ms, min(oldest, int(began_ms)))
        if late < BEHIND_MS and self.standing.pulse is not Pulse.LIVE:
            self._rate = Rate()  # what was caught up tells how fast we read, not how much happens
        rate = self._rate.a_second()
        at_ms = now_ms() - int(self._server_ms() - began_ms) - late
        if late < BEHIND_MS:
            self.standing = Standing(Pulse.LIVE, at_ms, events_per_s=rate, behind_ms=late)
            return
        since = self.standing.since_ms if self.standing.pulse is Pulse.CATCHING_UP else None
        self.standing = Standing(Pulse.CATCHING_UP, at_ms, since or now_ms(), "", rate, late)

    def _join(self) -> None:
        """Begin with queues that were found, let go those that went away."""
        wanted = store.queues(self.name)
        for ref in [ref for ref, stream in self.streams.items() if wanted.get(ref) != stream.pk]:
            del self.streams[ref]
        fresh = {ref: pk for ref, pk in wanted.items() if ref not in self.streams}
        if not fresh:
            return
        known = store.load_streams(self.name, fresh)
        positions = self._reader.positions(list(fresh))
        self._look_at_clock()
        for stream in known:
            self.streams[stream.ref] = stream
            if position := positions.get(stream.ref):
                self._check(stream, position)
        most = max(FIRST_ENTRIES[0], min(FIRST_ENTRIES[1], FIRST_TOTAL // len(wanted)))
        for ref in fresh.keys() - {stream.ref for stream in known}:
            if position := positions.get(ref):
                self.streams[ref] = begin(ref, fresh[ref], position, now_ms=int(self._server_ms()), most=most)

    def _verify(self, streams: Sequence[Stream]) -> None:
        """Compare what we counted with what the server counted."""
        positions = self._reader.positions([stream.ref for stream in streams])
        for stream in streams:
            if position := positions.get(stream.ref):
                self._check(stream, position)

    def _check(self, stream: Stream, position: Position) -> None:
        if gap := stream.verify(position):
            logger.info("%s: events of %s were lost: %s", self.name, stream.ref.label, gap.count)
            self._teller.recount([stream.ref])
            failing.compare(self._desk, [stream.ref])

    def _blind(self, error: Unreachable) -> float:
        """The server does not answer: say since when, and try again after a while that grows."""
        since = outages.note_failure(self.name, str(error))
        since_ms = int(since.timestamp() * 1000)
        if not self._down:
            self._down = True
            logger.warning("%s does not answer: %s", self.name, show_controls(str(error)))
            self._note(EventKind.SOURCE_DOWN, str(error))
        self._failures += 1
        self.standing = Standing(Pulse.BLIND, self.standing.at_ms, since_ms, show_controls(str(error)))
        return self._wait()

    def _refused(self, error: QueueError) -> float:
        """The server answers, but lets us read nothing."""
        text = show_controls(str(error))
        if not self._failures:
            logger.warning("%s cannot be read: %s", self.name, text)
        since_ms = self.standing.since_ms if self.standing.pulse is Pulse.BLIND else None
        self._failures += 1
        self.standing = Standing(Pulse.BLIND, self.standing.at_ms, since_ms or now_ms(), text)
        return self._wait()

    def _wait(self) -> float:
        self._teller.tell(self.standing, self.streams, self._covered_ms, time.monotonic())
        if self._is_due("save", SAVE_S):
            self._save()
        shortest, longest = PATIENCE_S
        pause: float = min(longest, shortest * 2 ** min(self._failures, 8))
        return pause * random.uniform(0.5, 1.0)  # noqa: S311  # so that many followers do not come at once

    def _back(self) -> None:
        """The server answers again."""
        self._failures = 0
        outages.note_success(self.name)
        if self._down:
            self._down = False
            logger.warning("%s answers again", self.name)
            self._note(EventKind.SOURCE_UP, "")
        self._teller.recount(self.streams)
        failing.compare(self._desk, self.streams.keys())

    def _note(self, kind: EventKind, text: str) -> None:
        at_ms = int(self._server_ms() if self._server[0] else now_ms())
        told = Text(show_controls(text)[:500], len(text)) if text else None
        self._about.append(Event(QueueRef(self.name, b"", b""), f"{at_ms}-0", kind, text=told))

    def _save(self, *, whole: bool = False) -> None:
        """Store what is notable, and all when it is time: once in ten seconds, and when a minute is over."""
        minute = self._covered_ms // MINUTE_MS
        far = any(stream.unstored > UNSTORED for stream in self.streams.values())
        whole = self._is_due("save all", SAVE_ALL_S) or whole or far or minute != self._stored_minute
        streams = [stream for stream in self.streams.values() if stream.changed and (whole or stream.notable)]
        known = store.Known(self._covered_ms, len(self.streams), whole)
        store.save(self.lease, streams, self._about, self.standing, known)
        if whole:
            self._stored_minute = minute
        self._about.clear()
        if self._unstored:
            self._unstored = False
            logger.warning("%s: the database can be used again; nothing was lost", self.name)

    def _tell_strange(self, stream: Stream, number: int, sample: str) -> None:
        if number and stream.ref not in self._strange_told:
            self._strange_told.add(stream.ref)
            logger.warning(
                "%s: %s holds entries that make no sense, for example %s", self.name, stream.ref.label, sample
            )

    def _look_at_clock(self) -> None:
        # Our own wall clock may be set while we run; the time that has passed is known all the same.
        self._server = (self._reader.server_ms(), time.monotonic())

    def _server_ms(self) -> float:
        at_ms, seen = self._server
        return at_ms + 1000 * (time.monotonic() - seen)

    def _is_due(self, what: str, every_s: float) -> bool:
        now = time.monotonic()
        if now < self._due[what]:
            return False
        self._due[what] = now + every_s
        return True
