"""What entered each state between two events of a queue."""

from __future__ import annotations

import pytest
import redis

from queues import entered
from queues.errors import QueueError
from queues.registry import SourceConfig
from queues.types import QueueRef, State

pytestmark = pytest.mark.django_db

REF = QueueRef("main", b"bull", b"orders")


def add(valkey: redis.Redis, event_id: str, word: str, job: str = "1") -> None:
    valkey.xadd("bull:orders:events", {"event": word, "jobId": job}, id=event_id)


def test_each_state_is_counted_between_the_two(valkey: redis.Redis, source: SourceConfig) -> None:
    words = ("failed", "waiting", "active", "completed", "failed", "delayed", "waiting-children", "progress", "failed")
    for number, word in enumerate(words, 1):
        add(valkey, f"{number}-0", word)
    expected = {
        State.WAITING: 1,
        State.ACTIVE: 1,
        State.COMPLETED: 1,
        State.FAILED: 1,
        State.DELAYED: 1,
        State.WAITING_CHILDREN: 1,
    }
    assert entered.since(REF, "1-0", "8-0") == expected
    assert entered.since(REF, "1-0", "9-0") == expected | {State.FAILED: 2}
    assert entered.since(REF, "0-0", "1-0") == {State.FAILED: 1}


@pytest.mark.parametrize(("after", "upto"), [("5-0", "5-0"), ("10-0", "9-9"), ("5-10", "5-9")])
def test_nothing_entered_in_an_empty_stretch(valkey: redis.Redis, source: SourceConfig, after: str, upto: str) -> None:
    add(valkey, "20-0", "failed")
    assert entered.since(REF, after, upto) == {}


def test_ids_of_one_millisecond_are_compared_by_number(valkey: redis.Redis, source: SourceConfig) -> None:
    for number in range(12):
        add(valkey, f"5-{number}", "failed")
    assert entered.since(REF, "5-9", "5-10") == {State.FAILED: 1}


def test_one_reading_brings_at_most_its_bound(
    valkey: redis.Redis, source: SourceConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entered, "MOST", 5)
    for number in range(1, 20):
        add(valkey, f"{number}-0", "failed")
    assert entered.since(REF, "0-0", "19-0") == {State.FAILED: 5}


def test_a_queue_without_events_has_nothing(source: SourceConfig) -> None:
    assert entered.since(REF, "1-0", "2-0") == {}


def test_a_source_that_is_not_there_is_an_error(source: SourceConfig) -> None:
    with pytest.raises(QueueError):
        entered.since(QueueRef("nowhere", b"bull", b"orders"), "1-0", "2-0")
