"""Watching, a step at a time."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from queues.events import Position, order
from queues.replay import originals
from queues.replay.hands import Hands
from queues.replay.terms import Originals
from queues.replay.watching import looking
from queues.replay.watching.beginning import join
from queues.replay.watching.learnt import Learnt, named
from queues.replay.watching.memory import Memory, fresh, keep, recall
from queues.replay.watching.streams import MOST, Gap, Stream
from queues.replay.watching.taking import Taking
from queues.replay.watching.ways import Landed
from queues.replay.watching.writing import Overtaken, write
from queues.sendings import Fate
from queues.types import QueueRef

READ_S = 0.5  # that a step reads on while there is more; what is left is read by the next
LOOK_S = 2.0  # between two looks at the jobs themselves
STORE_S = 2.0  # between two writings of how far was read, where nothing was learnt
SHARE = 3  # a stream is read before so much of what it holds has gone: one part in three


@dataclass
class Watching:
    """Reads what happened, and every two seconds looks at what has not ended. What is learnt is written by each step.

    Where it is busy a stream holds no more than what came in the last seconds: `within_s` says when to come again.
    """

    run: Hands
    within_s: float = math.inf  # seconds within which the next step should be, or events may be lost
    _memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        self._memory = recall(self.run)

    def step(self) -> None:
        """Two calls and some queries where nothing happened. Raises what the backend raises, and is right after that.

        May be repeated after any interruption: fates are written together with how far was read.
        """
        memory, self._memory = self._memory, fresh(self.run)  # of one that breaks off nothing is remembered
        try:
            _Step(self.run, memory).take()
        except Overtaken:
            memory = fresh(self.run)
            _Step(self.run, memory).take()
        self._memory = memory
        held_ms = min((stream.held_ms for stream in memory.streams.values()), default=math.inf)
        self.within_s = held_ms / 1000 / SHARE

    def read(self) -> None:
        """All that has happened until now, without looking at jobs."""
        memory, self._memory = self._memory, fresh(self.run)
        _Step(self.run, memory).read(float("inf"))
        self._memory = memory

    def rest(self) -> None:
        """Keep in mind what is known, for the next slice. Nothing is pending between two steps."""
        keep(self.run, self._memory)


@dataclass
class _Step:
    run: Hands
    memory: Memory
    _positions: Mapping[QueueRef, Position] = field(default_factory=dict)

    def take(self) -> None:
        memory, now = self.memory, time.monotonic()
        self.read(now + READ_S)
        if now >= memory.look_at:
            self._look()
            memory.look_at = time.monotonic() + LOOK_S
        moved = [stream for stream in memory.streams.values() if stream.position != stream.stored]
        if moved and now >= memory.store_at:
            self._write(Learnt())
            memory.store_at = time.monotonic() + STORE_S
        self._remove_originals()

    def read(self, until: float) -> None:
        """The streams, from where they were read to, for so long (monotonic)."""
        join(self.run, self.memory.streams)
        if self.memory.streams:
            new = self.memory.ways.refresh()
            self._read(until, new or ())

    def _read(self, until: float, new: Sequence[Landed] = ()) -> None:
        learnt = Learnt()
        self._compare(learnt)
        self._catch_up(learnt, new)
        while True:
            for group, most in _groups(self.memory.streams.values()):
                self._hear(learnt, group, most)
            if learnt.ends or learnt.gaps:
                self._write(learnt)
            self._note(learnt)
            if time.monotonic() >= until or not any(stream.behind for stream in self.memory.streams.values()):
                return
            learnt = Learnt()

    def _compare(self, learnt: Learnt) -> None:
        """Where the streams stand. Those of queues in which nothing is under way are passed over."""
        streams = self.memory.streams.values()
        self._positions = self.run.reader.positions([stream.ref for stream in streams])
        for stream in streams:
            position = self._positions.get(stream.ref)
            stream.note(position)
            if self.memory.ways.whole and not self.memory.ways.among(stream.queue, ()):
                stream.skip(position)
            else:
                self._lost(learnt, stream, stream.compare(position))

    def _hear(self, learnt: Learnt, group: Sequence[Stream], most: int) -> None:
        """One reading of some streams."""
        by_ref = {stream.ref: stream for stream in group}
        batches = self.run.reader.entries({ref: stream.position for ref, stream in by_ref.items()}, most=most)
        taking = Taking.of(self.run.replay)
        for batch in batches:
            stream = by_ref.pop(batch.queue)
            self._lost(learnt, stream, stream.take(batch))
            ways = self.memory.ways.among(stream.queue, () if self.memory.ways.whole else named(batch))
            learnt.hear(batch, stream.queue, ways, taking)
        for stream in by_ref.values():
            stream.give_up()

    def _catch_up(self, learnt: Learnt, new: Sequence[Landed]) -> None:
        """What happened to jobs that are written down as sent only now, after the events of that time were read.

        So it is where the worker was lost that had sent them.
        """
        late: dict[int, list[Landed]] = defaultdict(list)
        by_queue = {stream.queue: stream for stream in self.memory.streams.values()}
        for job in new:
            stream = by_queue.get(job.queue)
            if stream is not None and stream.readable and job.way.sent_ms <= stream.read_ms:
                late[job.queue].append(job)
        for queue, jobs in late.items():
            self._reread(learnt, by_queue[queue], jobs)

    def _reread(self, learnt: Learnt, stream: Stream, jobs: Sequence[Landed]) -> None:
        ways = {job.id: job.way for job in jobs}
        since = min(way.sent_ms for way in ways.values())
        first = self._positions[stream.ref].first_id
        if not first or order(first)[0] > since:
            stream.blind_ms = max(stream.blind_ms, stream.read_ms)
        after = f"{max(since - 1, 0)}-0"
        while order(after) < order(stream.position):
            batches = self.run.reader.entries({stream.ref: after}, most=stream.most)
            if not batches:
                return
            learnt.hear(batches[0], stream.queue, ways, Taking.of(self.run.replay))
            after = batches[0].last_id

    def _lost(self, learnt: Learnt, stream: Stream, gap: Gap | None) -> None:
        """Events were lost; it matters where something that was sent by then is under way."""
        if gap is None:
            return
        until = self.run.reader.server_ms() if gap.until_ms is None else gap.until_ms
        stream.blind_ms = max(stream.blind_ms, until)
        ways = self.memory.ways
        if not ways.whole or any(way.sent_ms <= until for way in ways.among(stream.queue, ()).values()):
            learnt.gaps.append((stream, gap))

    def _look(self) -> None:
        """At the jobs themselves, and into which groups they failed."""
        memory, run = self.memory, self.run
        refs = {stream.queue: stream.ref for stream in memory.streams.values()}
        learnt = Learnt()
        gone = memory.looking.look(learnt, refs, list(memory.moved))
        memory.moved.clear()
        if learnt.ends or learnt.states:
            self._write(learnt)
        if gone:
            self._account_for(gone)
        seen = looking.busy(run)
        if seen != {name: getattr(run.replay, name) for name in seen}:
            with run.saving(**seen):
                pass
        memory.explaining.step()

    def _account_for(self, gone: Sequence[Landed]) -> None:
        """Jobs that are nowhere: the events up to now tell why, unless some were lost."""
        self._read(time.monotonic() + READ_S)
        learnt, at_ms = Learnt(), self.run.reader.server_ms()
        by_queue = {stream.queue: stream for stream in self.memory.streams.values()}
        for job in gone:
            stream = by_queue.get(job.queue)
            if stream is not None and stream.behind:
                continue  # told by what is read next
            if job.id in self.memory.ways.among(job.queue, (job.id,)):
                known = stream is not None and stream.knows(job.way.sent_ms)
                learnt.end(job, Fate.GONE if known else Fate.UNKNOWN, at_ms)
        if learnt.ends:
            self._write(learnt)

    def _write(self, learnt: Learnt) -> None:
        memory = self.memory
        write(self.run, learnt, [stream for stream in memory.streams.values() if stream.position != stream.stored])
        for end in learnt.ends.values():
            memory.ways.drop(end.job.queue, end.job.id)
        if memory.originals is not None:
            memory.originals.update(pk for pk, end in learnt.ends.items() if end.fate is Fate.COMPLETED)

    def _note(self, learnt: Learnt) -> None:
        """Remember who moved, for the next look: the newest."""
        moved = self.memory.moved
        for pk in learnt.moved:
            moved.pop(pk, None)
            moved[pk] = None
        while len(moved) > looking.MOVED:
            del moved[next(iter(moved))]

    def _remove_originals(self) -> None:
        if originals.when(self.run.terms) is not Originals.WHEN_DONE:
            return
        if self.memory.originals is None:
            self.memory.originals = set(originals.left(self.run))
        if self.memory.originals:
            originals.remove_completed(self.run, self.memory.originals)
            self.memory.originals.clear()


def _groups(streams: Iterable[Stream]) -> Iterable[tuple[Sequence[Stream], int]]:
    """The streams that are behind, in groups that are read by one call each: those with large entries by themselves."""
    behind = [stream for stream in streams if stream.behind]
    thin = [stream for stream in behind if stream.most == MOST]
    if thin:
        yield thin, max(1, MOST // len(thin))
    for stream in behind:
        if stream.most != MOST:
            yield [stream], stream.most
