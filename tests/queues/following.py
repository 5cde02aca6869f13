"""What tests of the follower share: one whose steps a test takes itself, and an audience that remembers."""

# mypy: allow-untyped-calls

from __future__ import annotations

from collections.abc import Collection, Sequence

import redis

from queues.follow.source import SourceFollower
from queues.follow.teller import Reader
from queues.live import About, News, Topic
from queues.models import Queue, Source
from queues.registry import dedicated
from queues.types import QueueRef

EVERYTHING = ("join", "verify", "save", "save all")


class Listening:
    """An audience that watches what a test says, and keeps all news."""

    def __init__(self, *topics: Topic) -> None:
        self.topics: set[Topic] = set(topics)
        self.news: list[News] = []

    def watched(self, source: str) -> Collection[Topic]:
        return {topic for topic in self.topics if topic.source == source}

    def publish(self, news: Sequence[News]) -> None:
        self.news += news


def know(*names: bytes, source: str = "main", prefix: bytes = b"bull") -> list[QueueRef]:
    """Queues as a scan would have found them."""
    row, _ = Source.objects.get_or_create(name=source)
    refs = [QueueRef(source, prefix, name) for name in names]
    for ref in refs:
        Queue.objects.get_or_create(source=row, slug=ref.slug)
    return refs


def follower(audience: Listening | None = None, *, holder: str = "one", source: str = "main") -> SourceFollower:
    reader = dedicated(source)
    assert isinstance(reader, Reader)
    return SourceFollower(source, reader, audience or Listening(), holder)


def step(one: SourceFollower) -> None:
    """A step in which everything is due."""
    for what in EVERYTHING:
        one.due_now(what)
    one.step()


def add(client: redis.Redis, name: str, kind: str, *fields: str, id: str = "*", prefix: str = "bull") -> str:  # noqa: A002
    """An entry as BullMQ writes it."""
    found = client.execute_command("XADD", f"{prefix}:{name}:events", id, "event", kind, *fields)
    return str(found.decode())


def overview(source: str = "main") -> Topic:
    return Topic(About.OVERVIEW, source)


def queue_topic(ref: QueueRef) -> Topic:
    return Topic(About.QUEUE, ref.source, ref.slug)
