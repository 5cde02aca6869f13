"""Who watches replays gets a beat from the follower, which knows nothing of plans."""

# mypy: allow-untyped-calls

from __future__ import annotations

import pytest
import redis

from queues.live import About, ReplaysNews, Topic
from queues.registry import SourceConfig
from tests.queues.following import Listening, follower, know, step
from tests.valkey import eventually

pytestmark = pytest.mark.django_db

REPLAYS = Topic(About.REPLAYS, "main")


def beats(audience: Listening) -> list[ReplaysNews]:
    return [news for news in audience.news if isinstance(news, ReplaysNews)]


def test_who_watches_replays_is_told_again_and_again(valkey: redis.Redis, source: SourceConfig) -> None:
    know(b"shop")
    audience = Listening(REPLAYS)
    one = follower(audience)

    def told() -> bool:
        step(one)
        return len(beats(audience)) > 1

    eventually(told)
    assert {news.topic for news in beats(audience)} == {REPLAYS}


def test_nobody_is_told_who_does_not_watch_them(valkey: redis.Redis, source: SourceConfig) -> None:
    know(b"shop")
    audience = Listening(Topic(About.FAILURES, "main"))
    one = follower(audience)
    for _step in range(3):
        step(one)
    assert audience.news
    assert beats(audience) == []
