"""Events that were gone before the follower could read them are told also where no reading or no number shows it."""

# mypy: allow-untyped-calls

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
import redis

from queues.backends.bullmq.reader import BullMQ
from queues.events import EventKind, Position
from queues.models import Notable, Stream
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.queues.following import add, follower, know, step

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(valkey: redis.Redis, source: SourceConfig) -> QueueRef:
    add_more(valkey, 3)
    return know(b"shop")[0]


@pytest.fixture
def uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server does not tell how many entries a stream ever had, as before Redis 7."""
    real = BullMQ.positions

    def positions(self: BullMQ, queues: Sequence[QueueRef]) -> Mapping[QueueRef, Position]:
        return {queue: replace(each, added=None) for queue, each in real(self, queues).items()}

    monkeypatch.setattr(BullMQ, "positions", positions)


def add_more(valkey: redis.Redis, number: int) -> None:
    for each in range(number):
        add(valkey, "shop", "completed", "jobId", str(each))


def gaps() -> list[int | None]:
    return list(Notable.objects.filter(kind=EventKind.GAP).order_by("id").values_list("count", flat=True))


def test_entries_that_were_trimmed_until_none_was_left_are_told_at_once(valkey: redis.Redis, shop: QueueRef) -> None:
    one = follower()
    step(one)
    add_more(valkey, 7)
    valkey.xtrim("bull:shop:events", 0, approximate=False)
    step(one)
    step(one)
    assert (gaps(), one.streams[shop].lost) == ([7], 7)
    add_more(valkey, 2)
    step(one)
    step(one)
    assert (gaps(), one.streams[shop].read) == ([7], 5)
    one.close()
    assert (Stream.objects.get().read, Stream.objects.get().lost) == (5, 7)


def test_an_emptied_stream_of_which_all_was_read_lost_nothing(valkey: redis.Redis, shop: QueueRef) -> None:
    one = follower()
    step(one)
    valkey.xtrim("bull:shop:events", 0, approximate=False)
    step(one)
    assert gaps() == []


def test_a_server_that_does_not_count_entries_shows_by_its_oldest_that_some_are_lost(
    valkey: redis.Redis, shop: QueueRef, uncounted: None
) -> None:
    one = follower()
    step(one)
    step(one)
    assert gaps() == []
    one.close()
    add_more(valkey, 30)
    valkey.xtrim("bull:shop:events", 10, approximate=False)
    other = follower(holder="two")
    step(other)
    step(other)
    assert (gaps(), other.streams[shop].read) == ([None], 13)


def test_a_server_that_does_not_count_entries_lost_none_as_long_as_the_last_that_was_read_is_there(
    valkey: redis.Redis, shop: QueueRef, uncounted: None
) -> None:
    one = follower()
    step(one)
    add_more(valkey, 8)
    valkey.xtrim("bull:shop:events", 9, approximate=False)
    step(one)
    step(one)
    assert gaps() == []
    add_more(valkey, 5)
    valkey.xtrim("bull:shop:events", 0, approximate=False)
    step(one)
    step(one)
    assert gaps() == [None]


def test_failures_in_their_thousands_do_not_push_out_what_is_said_of_lost_events(
    valkey: redis.Redis, shop: QueueRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queues.follow.store.KEPT", 25)
    one = follower()
    step(one)
    add_more(valkey, 7)
    valkey.xtrim("bull:shop:events", 0, approximate=False)
    step(one)
    for number in range(60):
        add(valkey, "shop", "failed", "jobId", str(number), "failedReason", "h")
        if number % 20 == 19:
            step(one)
    assert gaps() == [7]
    kept = Notable.objects.filter(kind=EventKind.FAILED).order_by("id")
    assert [row.job for row in kept] == [str(number) for number in range(36, 60)]
