"""What anybody may write into a stream costs the follower that entry at most, and never the view of the source."""

# mypy: allow-untyped-calls

from __future__ import annotations

import pytest
import redis

from queues.events import EventKind
from queues.models import Notable, Stream
from queues.quantities import LARGEST, LAST_MS
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.queues.following import add, follower, know, step

pytestmark = pytest.mark.django_db

LAST_ID = "18446744073709551615-18446744073709551615"


@pytest.fixture
def shop(valkey: redis.Redis, source: SourceConfig) -> QueueRef:
    add(valkey, "shop", "completed", "jobId", "1")
    return know(b"shop")[0]


def test_numbers_that_no_database_holds_are_unknown(valkey: redis.Redis, shop: QueueRef) -> None:
    one = follower()
    step(one)
    for number in (LARGEST, LARGEST + 1, 2**70):
        add(valkey, "shop", "cleaned", "count", str(number))
        add(valkey, "shop", "retries-exhausted", "jobId", "1", "attemptsMade", str(number))
    step(one)
    assert list(Notable.objects.order_by("id").values_list("count", flat=True)) == [LARGEST] * 2 + [None] * 4
    assert Stream.objects.get().read == 7


def test_a_stream_that_ends_with_the_last_of_all_ids_is_followed_and_may_be_deleted(
    valkey: redis.Redis, shop: QueueRef
) -> None:
    one = follower()
    step(one)
    add(valkey, "shop", "failed", "jobId", "1", id=LAST_ID)
    step(one)
    assert Stream.objects.get().last_id == LAST_ID
    valkey.delete("bull:shop:events")
    step(one)
    [gap] = Notable.objects.all()
    assert (gap.kind, gap.until_ms) == (EventKind.GAP, LAST_MS)
    add(valkey, "shop", "completed", "jobId", "2")
    step(one)
    add(valkey, "shop", "completed", "jobId", "3")
    step(one)
    assert one.streams[shop].read == 3


def test_a_number_of_entries_that_nobody_can_have_counted_is_not_believed(valkey: redis.Redis, shop: QueueRef) -> None:
    one = follower()
    step(one)
    valkey.execute_command("XSETID", "bull:shop:events", add(valkey, "shop", "completed"), "ENTRIESADDED", 2**62)
    step(one)
    add(valkey, "shop", "completed", "jobId", "2")
    step(one)
    assert (Stream.objects.get().read, Stream.objects.get().lost) == (3, 0)


def test_an_id_of_a_megabyte_is_not_kept_with_what_happened_to_its_job(valkey: redis.Redis, shop: QueueRef) -> None:
    one = follower()
    step(one)
    add(valkey, "shop", "failed", "jobId", "j" * 1_000_000, "failedReason", "no luck")
    add(valkey, "shop", "failed", "jobId", "j" * 300, "failedReason", "no luck")
    step(one)
    assert list(Notable.objects.order_by("id").values_list("job", "text")) == [("", "no luck"), ("j" * 300, "no luck")]
