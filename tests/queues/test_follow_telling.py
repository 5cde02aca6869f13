"""What the follower tells those who watch, and what it spares those who do not."""

# mypy: allow-untyped-calls

from __future__ import annotations

import time

import pytest
import redis

from queues.events import EventKind
from queues.live import About, JobNews, OverviewNews, QueueNews, SourceNews, Topic
from queues.registry import SourceConfig
from queues.types import QueueRef, State
from tests.queues.following import Listening, add, follower, know, overview, queue_topic, step

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(valkey: redis.Redis, source: SourceConfig) -> QueueRef:
    valkey.hset("bull:shop:meta", "opts.maxLenEvents", "10000")
    return know(b"shop")[0]


def test_news_of_a_watched_queue_tell_its_events_counts_and_entries(valkey: redis.Redis, shop: QueueRef) -> None:
    audience = Listening(queue_topic(shop))
    one = follower(audience)
    step(one)
    valkey.hset("bull:shop:7", mapping={"name": "pay", "data": "{}", "timestamp": "1", "attemptsMade": "1"})
    for kind in ("waiting", "active", "completed"):
        add(valkey, "shop", kind, "jobId", "7")
    valkey.zadd("bull:shop:completed", {"7": 1})
    time.sleep(1.1)
    step(one)
    [news] = [each for each in audience.news if isinstance(each, QueueNews) and each.total]
    assert [seen.event.kind for seen in news.events] == ["waiting", "active", "completed"]
    assert news.events[0].glance is not None
    assert str(news.events[0].glance.name) == "pay"
    assert news.entered == {State.WAITING: 1, State.ACTIVE: 1, State.COMPLETED: 1}
    assert news.row is not None
    assert news.row.counts[State.COMPLETED] == 1


def test_who_begins_to_watch_is_told_the_last_seconds_and_nothing_twice(valkey: redis.Redis, shop: QueueRef) -> None:
    audience = Listening()
    one = follower(audience)
    step(one)
    for kind in ("waiting", "active"):
        add(valkey, "shop", kind, "jobId", "7")
    add(valkey, "shop", "progress", "jobId", "7", "data", "10")
    step(one)
    audience.topics = {queue_topic(shop), Topic(About.JOB, "main", "shop", "7")}
    add(valkey, "shop", "completed", "jobId", "7")
    time.sleep(1.1)
    step(one)
    time.sleep(1.1)
    step(one)
    seen = [seen.event.kind for each in audience.news if isinstance(each, QueueNews) for seen in each.events]
    of_job = [event.kind for each in audience.news if isinstance(each, JobNews) for event in each.events]
    assert seen == of_job == ["waiting", "active", "progress", "completed"]
    told = [event for each in audience.news if isinstance(each, QueueNews) for event in each.progress]
    assert [event.progress and event.progress.percent for event in told] == [10.0]


def test_a_burst_becomes_a_sample_that_says_of_how_many(valkey: redis.Redis, shop: QueueRef) -> None:
    audience = Listening(queue_topic(shop))
    one = follower(audience)
    step(one)
    pipe = valkey.pipeline()
    for number in range(3000):
        pipe.execute_command(
            "XADD", "bull:shop:events", "*", "event", "active", "jobId", str(number), "prev", "waiting"
        )
    pipe.execute()
    add(valkey, "shop", "stalled", "jobId", "5")
    pipe = valkey.pipeline()
    for number in range(3000):
        pipe.execute_command("XADD", "bull:shop:events", "*", "event", "completed", "jobId", str(number))
    pipe.execute()
    time.sleep(0.6)
    one.step()
    told = [each for each in audience.news if isinstance(each, QueueNews)]
    assert sum(each.total for each in told) == 6001
    assert all(len(each.events) <= 20 for each in told)
    assert EventKind.STALLED in {seen.event.kind for each in told for seen in each.events}


def test_nobody_is_told_what_nobody_watches(valkey: redis.Redis, shop: QueueRef) -> None:
    audience = Listening()
    one = follower(audience)
    step(one)
    add(valkey, "shop", "completed", "jobId", "1")
    time.sleep(0.6)
    step(one)
    assert {type(each) for each in audience.news} == {SourceNews}


def test_the_overview_is_told_whole_first_and_then_what_changed(valkey: redis.Redis, shop: QueueRef) -> None:
    know(b"still")
    valkey.hset("bull:still:meta", "opts.maxLenEvents", "10000")
    audience = Listening(overview())
    one = follower(audience)
    step(one)
    first = next(each for each in audience.news if isinstance(each, OverviewNews))
    assert first.whole
    assert len(first.rows) == 2
    assert all(row.history is not None for row in first.rows)
    audience.news.clear()
    valkey.lpush("bull:shop:wait", "1")
    time.sleep(1.1)
    one.step()
    [changed] = [
        row for each in audience.news if isinstance(each, OverviewNews) and not each.whole for row in each.rows
    ]
    assert (changed.ref, changed.counts[State.WAITING]) == (shop, 1)
