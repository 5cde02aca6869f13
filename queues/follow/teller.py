"""What those who watch are told, and how often: at most two batches a second about each topic, at least one."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from queues.backend import Backend, Events
from queues.errors import QueueError
from queues.events import Event, Glance
from queues.failures.desk import Desk
from queues.follow.counting import Counting
from queues.follow.failing import Changed
from queues.follow.streams import PROGRESS, Stream, Watched
from queues.history import MINUTE_MS
from queues.live import (
    About,
    Audience,
    JobNews,
    News,
    OverviewNews,
    QueueNews,
    ReplaysNews,
    RowNews,
    Seen,
    SourceNews,
    Standing,
    Topic,
)
from queues.names import decode_part
from queues.types import JobRef, QueueRef

ASK_S = 1.0
RECALL_MS = 4_000  # a page is read, connects and is asked for within that: what happened meanwhile is told it too
RECALLED = 500  # entries of a stream that are looked at for it
MOVED_MOST = 250  # queues that are counted twice a second, as events told that they moved
TELL_S = 0.5
STILL_S = 1.0  # something is said about a topic at least so often, also when nothing happened
WHOLE_S = 5.0  # all rows of an overview: for who came later, and for what a lost message left wrong
GLANCES = 500  # jobs looked up for one batch of news of all topics


@runtime_checkable
class Reader(Backend, Events, Protocol):
    """What the follower needs of a backend, on one connection of its own."""

    def close(self) -> None:
        """Close the connection; the next call opens another."""


class Teller:
    """Composes news for the topics of one source. For the follower's thread."""

    def __init__(self, source: str, reader: Reader, audience: Audience, desk: Desk | None = None) -> None:
        self._source = source
        self._reader = reader
        self._audience = audience
        self._counting = Counting(reader)
        self._changed = Changed(desk)
        self._topics: frozenset[Topic] = frozenset()
        self._asked = self._told_at = self._whole_at = 0.0
        self._minute = 0
        self._told: dict[Topic, float] = {}
        self._rows: set[QueueRef] = set()  # that an overview has not been told of

    def forget(self) -> None:
        """Begin anew: another follower ruled meanwhile."""
        self._counting = Counting(self._reader)
        self._rows.clear()
        self._told.clear()

    def recount(self, queues: Iterable[QueueRef]) -> None:
        """Read these at once: what is known of them may be wrong."""
        self._counting.at_once(queues)

    def ask(self) -> None:
        """Who watches what now. At most once a second."""
        now = time.monotonic()
        if now - self._asked >= ASK_S:
            self._asked = now
            self._topics = frozenset(self._audience.watched(self._source))
            kept = self._topics | {Topic(About.SOURCE, self._source)}
            self._told = {topic: at for topic, at in self._told.items() if topic in kept}

    def attach(self, streams: Mapping[QueueRef, Stream], server_ms: float) -> None:
        """Have the streams collect for those who watch them. One call where somebody has begun to."""
        jobs: dict[QueueRef, set[bytes]] = {}
        for job in map(_job, self._topics):
            if job:
                jobs.setdefault(job.queue, set()).add(job.id)
        queues = {topic.queue for topic in self._topics if topic.about is About.QUEUE}
        begun: dict[QueueRef, str] = {}
        for ref, stream in streams.items():
            wanted = jobs.get(ref, set())
            if (ref.slug in queues and stream.watched is None) or wanted - stream.jobs.keys():
                begun[ref] = f"{max(0, int(server_ms) - RECALL_MS)}-0"
            if ref.slug not in queues:
                stream.watched = None
        self._begin([streams[ref] for ref in begun], begun, queues, jobs)
        for ref, stream in streams.items():
            if stream.jobs:
                stream.jobs = {job: events for job, events in stream.jobs.items() if job in jobs.get(ref, ())}

    def _begin(
        self,
        streams: Sequence[Stream],
        after: Mapping[QueueRef, str],
        queues: Collection[str],
        jobs: Mapping[QueueRef, Collection[bytes]],
    ) -> None:
        """Look back at the last seconds of streams that somebody has begun to watch."""
        if not streams:
            return
        self.recount(after)
        batches = {batch.queue: batch for batch in self._reader.entries(after, most=RECALLED)}
        for stream in streams:
            batch = batches.get(stream.ref)
            if stream.ref.slug in queues and stream.watched is None:
                stream.watched = Watched()
                if batch:
                    stream.watched.recall(batch, stream.last_id, whole=batch.number < RECALLED)
            for job in jobs.get(stream.ref, ()):
                if job not in stream.jobs:
                    stream.jobs[job] = stream.recalled(batch, job) if batch else []

    def count(self, streams: Mapping[QueueRef, Stream], now: float) -> None:
        """Read the depths of the queues whose turn it is, and right before telling those that have just moved."""
        watched = self._looked_at(streams)
        moved = [ref for ref in watched if streams[ref].moved]
        if len(moved) <= MOVED_MOST and now - self._told_at >= TELL_S:
            self._counting.at_once(moved)
            for ref in moved:
                streams[ref].moved = False
        self._rows.update(self._counting.read(streams.keys(), watched, now))

    def tell(self, standing: Standing, streams: Mapping[QueueRef, Stream], covered_ms: int, now: float) -> None:
        """Hand over what is new to those who watch. Looks up the jobs of the events that are shown: some 10 calls."""
        if now - self._told_at < TELL_S:
            return
        self._told_at = now
        news: list[News] = []
        if self._is_due(Topic(About.SOURCE, self._source), now, new=False):
            news.append(SourceNews(self._source, standing))
        minute = covered_ms // MINUTE_MS - 1
        turned, self._minute = minute != self._minute, minute
        if turned:
            self._counting.touch(streams)
        news += self._overview(standing, streams, now, turned=turned)
        news += self._queues(standing, streams, now, turned=turned)
        news += self._jobs(standing, streams, now)
        news += self._failures(standing, now)
        news += self._replays(standing, now)
        self._audience.publish(news)

    def _looked_at(self, streams: Mapping[QueueRef, Stream]) -> Collection[QueueRef]:
        if any(topic.about is About.OVERVIEW for topic in self._topics):
            return streams.keys()
        return [ref for ref, stream in streams.items() if stream.watched is not None or stream.jobs]

    def _overview(
        self, standing: Standing, streams: Mapping[QueueRef, Stream], now: float, *, turned: bool
    ) -> Iterable[News]:
        topic = Topic(About.OVERVIEW, self._source)
        if topic not in self._topics:
            self._rows.clear()
            return
        whole = turned or topic not in self._told or now - self._whole_at >= WHOLE_S
        if whole:
            self._whole_at = now
        if not self._is_due(topic, now, new=whole or bool(self._rows)):
            return
        wanted = streams.keys() if whole else self._rows & streams.keys()
        rows = [row for ref in wanted if (row := self._row(streams[ref], whole=whole))]
        self._rows.clear()
        yield OverviewNews(self._source, standing, rows, whole)

    def _queues(
        self, standing: Standing, streams: Mapping[QueueRef, Stream], now: float, *, turned: bool
    ) -> Iterable[News]:
        due: list[tuple[Stream, Watched, bool]] = []
        for stream in streams.values():
            topic = Topic(About.QUEUE, self._source, stream.ref.slug)
            if stream.watched is not None:
                first = topic not in self._told
                if self._is_due(topic, now, new=first or turned or bool(stream.watched.total)):
                    due.append((stream, stream.watched, first or turned))
                    stream.watched = Watched()
        samples = {stream.ref: collected.sample() for stream, collected, _whole in due}
        glances = self._glances([event for events in samples.values() for event in events])
        for stream, collected, whole in due:
            events = [Seen(event, _glance(glances, event)) for event in samples[stream.ref]]
            yield QueueNews(
                stream.ref,
                standing,
                self._row(stream, whole=whole),
                events,
                collected.total,
                dict(stream.entered),
                stream.last_id,
                list(collected.progress.values())[-PROGRESS:],
            )

    def _jobs(self, standing: Standing, streams: Mapping[QueueRef, Stream], now: float) -> Iterable[News]:
        for stream in streams.values():
            for job, events in stream.jobs.items():
                ref = JobRef(stream.ref, job)
                topic = Topic(About.JOB, self._source, stream.ref.slug, ref.slug)
                if self._is_due(topic, now, new=bool(events)):
                    yield JobNews(ref, standing, tuple(events))
                    events.clear()

    def _failures(self, standing: Standing, now: float) -> Iterable[News]:
        topic = Topic(About.FAILURES, self._source)
        watched = topic in self._topics
        new = self._changed.collect(now, watched=watched)
        if watched and self._is_due(topic, now, new=new):
            yield self._changed.news(self._source, standing)

    def _replays(self, standing: Standing, now: float) -> Iterable[News]:
        topic = Topic(About.REPLAYS, self._source)
        if topic in self._topics and self._is_due(topic, now, new=False):
            yield ReplaysNews(self._source, standing)

    def _row(self, stream: Stream, *, whole: bool) -> RowNews | None:
        row = self._counting.rows.get(stream.ref)
        if row is None or not whole:
            return row
        return replace(row, history=stream.history, upto=self._minute)

    def _glances(self, events: list[Event]) -> Mapping[JobRef, Glance]:
        jobs = list({JobRef(event.queue, event.job): None for event in reversed(events) if event.job is not None})
        try:
            return self._reader.glances(jobs[:GLANCES]) if jobs else {}
        except QueueError:
            return {}  # the next reading says what is wrong; events are shown without the names of their jobs

    def _is_due(self, topic: Topic, now: float, *, new: bool) -> bool:
        """Whether something is to be said about a topic now: there is news, or it was still for a second."""
        if not new and now - self._told.get(topic, 0.0) < STILL_S:
            return False
        self._told[topic] = now
        return True


def _job(topic: Topic) -> JobRef | None:
    if topic.about is not About.JOB:
        return None
    try:
        return JobRef(QueueRef.from_slug(topic.source, topic.queue), decode_part(topic.job, colon=True))
    except ValueError:
        return None


def _glance(glances: Mapping[JobRef, Glance], event: Event) -> Glance | None:
    return None if event.job is None else glances.get(JobRef(event.queue, event.job))
