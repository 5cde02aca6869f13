"""Indexing one source: hints and marks say what there is to do, pages of it are done in turns. For one thread."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from functools import partial

from django.db import Error, IntegrityError, close_old_connections

from queues.errors import QueueError, Unreachable
from queues.failures.desk import EVENTS, Desk
from queues.failures.index import compare, fresh, heard, letterbox, looking, samples, scan
from queues.failures.index.chores import Chores
from queues.failures.index.scan import Ahead
from queues.failures.index.standing import Stand
from queues.failures.index.term import Reader, Term
from queues.failures.index.tracks import AGAIN_S, Box, Track, load, recall
from queues.failures.letters import is_letters
from queues.failures.store import Lost, Store
from queues.names import show_controls
from queues.types import QueueRef

POLL_S = 0.25
BUSY_S = 0.01  # between two rounds while there is more to do
ROUND_S = 0.5  # that a round works before it looks at hints and marks again
JOIN_S = 3.0
LOOK_S, TOUCHED_S, LETTERS_S = 10.0, 0.5, 2.0  # between two looks: at all queues, at those that moved, at letters
STANDBY_S = 0.5
AFRESH_S = 1.0  # after an error of the database
PATIENCE_S = (0.25, 5.0)  # between two tries of a server that does not answer: doubles, with jitter
READINGS = 150  # queues that are read upwards in one round at most: each is a call of its own

logger = logging.getLogger(__name__)


class SourceIndexer:
    """Keeps the index of one source equal to what its server holds, in the terms of the follower beside it.

    `reader` has one connection of its own. Goes on through everything that a server or the database can do: what
    could not be written is read again.
    """

    def __init__(self, name: str, reader: Reader, desk: Desk) -> None:
        self.name = name
        self.tracks: dict[QueueRef, Track] = {}
        self._reader, self._desk = reader, desk
        self._term: Term | None = None
        self._lost_epoch: int | None = None  # of a term that was taken from us
        self._unwritten_ms: int | None = None  # since when failures of the term before may not have been written
        self._due = dict.fromkeys(("join", "look", "touched", "letters"), 0.0)
        self._touched: set[QueueRef] = set()
        self._buried: set[int] = set()  # queues that went away, of which nothing is in its set
        self._keys: dict[QueueRef, int] = {}
        self._walk: compare.Walk | None = None
        self._round: letterbox.Round | None = None
        self._ahead = Ahead()
        self._allowance = compare.Allowance()
        self._stand = Stand(reader)
        self._chores = Chores()
        self._failures = 0
        self._unwritten = False  # whether the last writing failed: said once

    def step(self) -> float:
        """Work for half a second at most. Gives the seconds until the next step."""
        try:
            term = self._current()
            return STANDBY_S if term is None else self._work(term)
        except Lost:
            if self._term and self._term.epoch == self._desk.epoch:  # else the follower beside us has ended
                logger.warning("Another index writes for %s", self.name)
                self._lost_epoch = self._term.epoch
            self.forget()
        except Error as error:
            if not self._unwritten:
                logger.warning("%s: failures cannot be indexed, the database cannot be used now: %s", self.name, error)
            self._unwritten = True
            if isinstance(error, IntegrityError):
                self.due_now("join")  # a queue was deleted while we had something to write of it
            if self._term:
                self._term.drop()
            self._look_anew()
            close_old_connections()
            return AFRESH_S
        return STANDBY_S

    def due_now(self, *what: str) -> None:
        """Have "join", "look", "touched" or "letters" done with the next step, whatever its time."""
        for each in what or tuple(self._due):
            self._due[each] = 0.0

    def forget(self) -> None:
        """The term has ended, or what is in memory may not be right: what is stored counts."""
        self._term = self._walk = self._round = None
        self._ahead.drop()
        self.tracks.clear()
        self._touched.clear()
        self._buried.clear()
        self.due_now()

    def close(self) -> None:
        self._reader.close()

    def _current(self) -> Term | None:
        """The term of the follower's lease; None while there is none, or a later one has begun elsewhere."""
        epoch = self._desk.epoch
        if self._term is not None and self._term.epoch == epoch:
            return self._term
        if self._term is not None:
            self.forget()
        if epoch is None or epoch == self._lost_epoch:
            self._desk.take()  # who has the lease finds it by comparing
            return None
        store = Store(self.name, epoch)
        if not store.begin():
            self._lost_epoch = epoch
            return None
        self._unwritten_ms = heard.unwritten_ms(self.name)
        self._term = Term(self.name, epoch, self._reader, store, self._desk)
        self._stand.begin(store)
        logger.info("Indexing failures of %s", self.name)
        return self._term

    def _work(self, term: Term) -> float:
        if self._is_due("join", JOIN_S):
            self._join(term)
        self._take_hints(term)
        try:
            self._hear_again(term)
            self._look(term)
            more = self._rounds(term)
        except Unreachable as error:
            return self._blind(term, str(error))
        except QueueError as error:
            return self._blind(term, str(error))
        self._failures = 0
        self._chores.run(term)
        self._stand.tell(term, self.tracks.values())
        term.tell()
        if self._unwritten:
            self._unwritten = False
            logger.warning("%s: failures are indexed again", self.name)
        return BUSY_S if more else POLL_S

    def _take_hints(self, term: Term) -> None:
        hints = self._desk.take()
        if not hints.touched <= self.tracks.keys():
            self._join(term)  # the follower knows a queue that we do not: its first failures are in these hints
        self._touched |= hints.touched & self.tracks.keys()
        for ref, events in hints.failed.items():
            if track := self.tracks.get(ref):
                track.events += events
                if len(track.events) > EVENTS:
                    del track.events[:-EVENTS]
                    track.compare = track.lost = True
        for ref, jobs in hints.left.items():
            if track := self.tracks.get(ref):
                track.left |= jobs
        for ref in hints.compare & self.tracks.keys():
            self.tracks[ref].compare = self.tracks[ref].lost = True
            self._touched.add(ref)

    def _hear_again(self, term: Term) -> None:
        """Once in a term: what was handed over in the one before, and may not have been written."""
        if self._unwritten_ms is not None:
            heard.again(term, self.tracks.values(), self._unwritten_ms)
            self._unwritten_ms = None

    def _look(self, term: Term) -> None:
        """All queues each ten seconds, those that moved at once, but twice a second at most."""
        if self._is_due("look", LOOK_S):
            self._ahead.drop()
            looking.look(term, self.tracks.values(), count=True)
            self._due["touched"] = time.monotonic() + TOUCHED_S
            self._touched.clear()
        elif self._touched and self._is_due("touched", TOUCHED_S):
            touched = [self.tracks[ref] for ref in self._touched if ref in self.tracks]
            self._ahead.drop()
            looking.look(term, touched, count=False)
            self._touched.clear()
        if self._is_due("letters", LETTERS_S):
            letterbox.look(term, self.tracks.values())

    def _rounds(self, term: Term) -> bool:
        """Work on what there is, the newest first, until nothing is left or the time is over. Whether there is more."""
        deadline = time.monotonic() + ROUND_S
        readings = READINGS
        more = True
        while more and time.monotonic() < deadline and self._desk.epoch == term.epoch:
            used = self._fresh(term, readings)
            readings -= used
            more = (used > 0 and readings > 0) | self._scan(term)
            more = self._compare(term) or more
            more = self._letters(term) or more
            samples.keep(term)
            more = more or bool(term.wanted)
        return more or readings <= 0

    def _fresh(self, term: Term, most: int) -> int:
        """One page of each queue where something is new, left, or was told. Gives how many queues were read."""
        moved = [track for track in self.tracks.values() if track.usable() and track.begun and _moved(track)]
        for track in sorted(moved, key=lambda track: track.unread_ms or 0)[:most]:
            if track.left:
                self._ahead.drop()
                self._try(term, track, fresh.leave)
            if track.newer:
                self._try(term, track, fresh.upward)
            elif track.events:
                self._try(term, track, fresh.hear)
        term.flush()
        return min(len(moved), most)

    def _scan(self, term: Term) -> bool:
        """One page of each queue that was never read to its end, for a tenth of a second."""
        waiting = scan.turns(list(self.tracks.values()))
        until = time.monotonic() + ROUND_S / 5
        for track, after in zip(waiting, [*waiting[1:], *waiting[:1]], strict=True):
            self._try(term, track, partial(scan.scan, ahead=self._ahead, after=after))
            if time.monotonic() >= until:
                break
        term.flush()
        return bool(waiting)

    def _compare(self, term: Term) -> bool:
        """Pages of ids for a twentieth of a second, as far as the allowance goes."""
        until = time.monotonic() + ROUND_S / 10
        while self._allowance.any():
            if self._walk is None and (chosen := compare.choose(self.tracks.values())):
                self._walk = compare.Walk(chosen)
            if self._walk is None:
                return False
            step = partial(compare.step, term, self._walk)
            self._allowance.take(self._slice(term, self._walk.track, step, self._end_walk))
            if time.monotonic() >= until:
                return True
        return False

    def _letters(self, term: Term) -> bool:
        if self._round is None:
            self._round = letterbox.choose(self.tracks.values())
        going = self._round
        if going is None or not self._allowance.any():
            return False
        step = self._slice(term, going.track, lambda: letterbox.step(term, going, self._keys), self._end_round)
        self._allowance.take(step)
        return True

    def _end_walk(self) -> None:
        self._walk = None

    def _end_round(self) -> None:
        self._round = None

    def _slice(self, term: Term, track: Track, step: Callable[[], int | None], end: Callable[[], None]) -> int:
        """A slice of something long; its end, or an error of the queue, calls `end`."""
        done: list[int | None] = []

        def work(_term: Term, _track: Track) -> None:
            done.append(step())

        if self.tracks.get(track.ref) is not track or not self._try(term, track, work) or done[0] is None:
            end()
            return 0
        return done[0]

    def _try(self, term: Term, track: Track, work: Callable[[Term, Track], None]) -> bool:
        """Do something with one queue. That it cannot be read stops no other."""
        try:
            work(term, track)
        except Unreachable:
            raise
        except QueueError as error:
            looking.refuse(term, track, show_controls(str(error)), again_at=time.monotonic() + AGAIN_S)
            return False
        if track.error and (track.mark is None or track.mark.readable):
            looking.readable(term, track)
        return True

    def _join(self, term: Term) -> None:
        """Begin with queues that were found, let go those that went away."""
        here, gone = load(self.name)
        new = {ref: track for ref, track in here.items() if ref not in self.tracks or self.tracks[ref].pk != track.pk}
        if new:
            recall(self.name, new)
            self.due_now("look", "letters")
        for ref in [ref for ref in self.tracks if ref not in here or ref in new]:
            del self.tracks[ref]
        self.tracks |= new
        self._keys = {**{ref: pk for pk, ref in gone.items()}, **{ref: each.pk for ref, each in self.tracks.items()}}
        self._bury(term, gone)
        self._tell_letters(term)

    def _bury(self, term: Term, gone: dict[int, QueueRef]) -> None:
        """Queues that went away hold nothing any more."""
        self._buried &= gone.keys()
        for pk, ref in gone.items():
            if pk not in self._buried:
                looking.bury(term, Track(ref, pk))
                self._buried.add(pk)

    def _tell_letters(self, term: Term) -> None:
        """Which queues hold letters, by what people said and by their names; and whose are to be read anew."""
        anew = letterbox.wishes(term, self.tracks.values())
        for track in self.tracks.values():
            holds, stale = is_letters(track.ref, self.tracks.keys()), anew.get(track.pk, 0)
            if track.box is None and not holds:
                continue
            if track.box is None or track.box.closing is holds or stale not in (0, track.box.stale):
                before = track.box.stale if track.box else 0
                track.box = Box(stale=stale or before, closing=not holds)
                self.due_now("letters")
                if self._round is not None and self._round.track is track:
                    self._end_round()

    def _blind(self, term: Term, why: str) -> float:
        """The server does not answer, or lets us read nothing: say why, and try again after a while that grows."""
        term.drop()
        why = show_controls(why)
        if not self._failures:
            logger.warning("%s: failures cannot be read: %s", self.name, why)
        self._failures += 1
        self._look_anew()
        self._stand.blind(term, why)
        shortest, longest = PATIENCE_S
        pause: float = min(longest, shortest * 2 ** min(self._failures, 8))
        return pause * random.uniform(0.5, 1.0)  # noqa: S311  # so that many do not come at once

    def _look_anew(self) -> None:
        """What comes and goes meanwhile is not seen."""
        self._ahead.drop()
        for track in self.tracks.values():
            track.mark = None
        self.due_now("look", "letters")

    def _is_due(self, what: str, every_s: float) -> bool:
        now = time.monotonic()
        if now < self._due[what]:
            return False
        self._due[what] = now + every_s
        return True


def _moved(track: Track) -> bool:
    return track.newer or bool(track.left or track.events)
