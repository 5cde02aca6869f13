"""News as messages of the channel layer, and the names of its groups."""

from __future__ import annotations

from dataclasses import replace

import pytest
from channels.layers import InMemoryChannelLayer
from channels_redis.serializers import registry
from hypothesis import given
from hypothesis import strategies as st

from dashboard.live import wire
from dashboard.live.backlog import GROUPS, merge
from dashboard.live.groups import group, message
from queues.events import Event, EventKind, Glance
from queues.history import History
from queues.live import (
    About,
    FailuresNews,
    JobNews,
    News,
    OverviewNews,
    Pulse,
    QueueNews,
    ReplaysNews,
    RowNews,
    Seen,
    SourceNews,
    Standing,
    Topic,
)
from queues.types import Counts, JobRef, Mark, Oldest, Progress, QueueRef, State, Text

REF = QueueRef("main", b"\xff\x00", b"<b>\r\n")
STANDING = Standing(Pulse.BLIND, 5, 3, "no <answer>", 0.5, 7)
TEXT = Text("a\u2028b</script>", 900, (Mark.CUT, Mark.BYTES))
COUNTS = Counts({State.WAITING: 3, State.FAILED: 0}, True, 2, Oldest(4, True, None), "bullmq:6.7.0", 1, 2, 3, False)
ROW = RowNews(REF, 1, 2, COUNTS, None, History(100, {101: [1, 2, 3, 4], 103: [0, 0, 0, 1]}, {102}), 104)
PLAIN = RowNews(QueueRef("main", b"bull", b"orders"), 1, 2, Counts({}, False), 0)
EVENT = Event(REF, "5-1", EventKind.FAILED, b"\xfe", TEXT, Progress(0.5, TEXT, True), "active", 9, 2, 3, 4)
BARE = Event(REF, "5-2", EventKind.GAP)
SEEN = (Seen(EVENT, Glance(TEXT, 1, 2, 3, 4, 5)), Seen(BARE))
QUEUE = QueueNews(REF, STANDING, ROW, SEEN, 70, {State.FAILED: 2}, "5-2", (EVENT,))


def over_the_wire(news: News) -> News:
    serializer = registry.get_serializer("msgpack")
    return wire.decode(serializer.deserialize(serializer.serialize(message(news)))["news"])


def listed(news: News) -> str:
    """Whether what was a tuple comes as a list is of no matter."""
    return repr(news).replace("(", "[").replace(")", "]").replace(",]", "]")


@pytest.mark.parametrize(
    "news",
    [
        SourceNews("main", STANDING),
        OverviewNews("main", STANDING, (ROW, PLAIN), True),
        OverviewNews("main", Standing(Pulse.LIVE, 1)),
        QUEUE,
        QueueNews(REF, STANDING),
        JobNews(JobRef(REF, b"\x00"), STANDING, (EVENT, BARE)),
        FailuresNews("main", STANDING, ("a", "<b>"), 2, 7, True),
        FailuresNews("main", Standing(Pulse.LIVE, 1)),
        ReplaysNews("main", STANDING),
    ],
)
def test_news_arrive_as_they_were(news: News) -> None:
    assert listed(over_the_wire(news)) == listed(news)


@pytest.mark.parametrize(
    "packed", [[], [1], [1, "SourceNews"], [2, "SourceNews", "main", []], [1, "Nothing"], "x", None]
)
def test_what_is_not_news_is_refused(packed: list[object]) -> None:
    with pytest.raises(ValueError, match=r"news|release|enough"):
        wire.decode(packed)


names = st.text(st.characters(codec="utf-8"))


@given(source=names, queue=names, job=names, about=st.sampled_from(About))
def test_every_topic_has_a_group_that_layers_take(source: str, queue: str, job: str, about: About) -> None:
    assert InMemoryChannelLayer().require_valid_group_name(group(Topic(about, source, queue, job)))


def test_no_two_topics_share_a_group() -> None:
    topics = [
        *(Topic(about, "main", "a", "b") for about in About),
        Topic(About.QUEUE, "main", "ab"),
        Topic(About.QUEUE, "main", "a:b"),
        Topic(About.QUEUE, "maina", "b"),
        Topic(About.JOB, "main", "ab", "c"),
        Topic(About.JOB, "main", "a", "bc"),
    ]
    assert len({group(topic) for topic in topics}) == len(topics)


def test_two_batches_of_a_queue_become_one() -> None:
    newer = QueueNews(REF, STANDING, None, (Seen(BARE),), 30, {State.FAILED: 9}, "6-0")
    merged = merge(QUEUE, newer)
    assert isinstance(merged, QueueNews)
    assert (merged.row, merged.total, merged.entered, merged.upto) == (ROW, 100, {State.FAILED: 9}, "6-0")
    assert [seen.event.id for seen in merged.events] == ["5-1", "5-2", "5-2"]
    assert merged.progress == (EVENT,)


def test_two_batches_of_failures_name_each_group_once() -> None:
    older = FailuresNews("main", STANDING, ("a", "b"), 1, 7)
    merged = merge(older, FailuresNews("main", Standing(Pulse.LIVE, 9), ("b", "c"), 2, 8))
    assert merged == FailuresNews("main", Standing(Pulse.LIVE, 9), ("a", "b", "c"), 3, 8)
    many = merge(merged, replace(older, groups=tuple(map(str, range(GROUPS)))))
    assert isinstance(many, FailuresNews)
    assert (len(many.groups), many.whole) == (GROUPS, True)
    again = merge(many, older)
    assert isinstance(again, FailuresNews)
    assert again.whole


def test_however_many_batches_are_merged_they_stay_small() -> None:
    job: News = JobNews(JobRef(REF, b"1"), STANDING, (EVENT,) * 50)
    queue: News = QUEUE
    for _batch in range(100):
        job, queue = merge(job, job), merge(queue, QUEUE)
    assert isinstance(job, JobNews)
    assert isinstance(queue, QueueNews)
    assert len(job.events) <= 200
    assert len(queue.events) <= 40
    assert queue.total == 7_070
