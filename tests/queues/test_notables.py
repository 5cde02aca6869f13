"""Events that are kept: read back as they were, with those of the source among them, and the holes of the last hour."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pytest_django import DjangoAssertNumQueries

from queues import notables
from queues.events import STALLED_TOO_OFTEN, Event, EventKind
from queues.models import Notable, Queue, Source
from queues.quantities import now_ms
from queues.types import JobRef, Mark, QueueRef

pytestmark = pytest.mark.django_db

REF = QueueRef("main", b"bull", b"mail")
OTHER = QueueRef("main", b"bull", b"other")


def keep(kind: str, ago_ms: int, ref: QueueRef | None = REF, source: str = "main", **fields: object) -> Notable:
    """Store an event as the follower would."""
    row, _ = Source.objects.get_or_create(name=source)
    queue = Queue.objects.get_or_create(source=row, slug=ref.slug)[0] if ref else None
    at_ms = now_ms() - ago_ms
    values = {"source": row, "queue": queue, "event_id": f"{at_ms}-0", "at_ms": at_ms, "kind": kind} | fields
    return Notable.objects.create(**values)


def kinds(events: Sequence[Event]) -> list[str]:
    return [str(event.kind) for event in events]


def test_what_is_kept_of_a_queue_comes_newest_first_with_what_happened_to_its_source() -> None:
    keep("failed", 9_000)
    keep("source-down", 6_000, None)
    keep("source-up", 4_000, None)
    keep("stalled", 2_000)
    keep("failed", 1_000, OTHER)
    keep("source-down", 500, None, "elsewhere")
    assert kinds(notables.of(REF)) == ["stalled", "source-up", "source-down", "failed"]
    assert {event.queue for event in notables.of(REF)} == {REF}


def test_reading_costs_two_queries_and_gives_no_more_than_was_asked_for(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for second in range(20):
        keep("failed", second * 1000)
        keep("source-up", second * 1000 + 500, None)
    with django_assert_num_queries(2):
        found = notables.of(REF, 10)
    assert kinds(found) == ["failed", "source-up"] * 5


def test_of_one_job_the_newest_stand_in_the_order_in_which_they_happened() -> None:
    for kind, ago_ms in (("stalled", 3_000), ("failed", 2_000), ("retries-exhausted", 1_000)):
        keep(kind, ago_ms, job="7")
    keep("failed", 500, job="8")
    assert kinds(notables.of_job(JobRef(REF, b"7"), 2)) == ["failed", "retries-exhausted"]


def test_an_event_is_what_it_was_when_it_was_kept() -> None:
    job = b"\xff<b>x</b>"
    keep("failed", 3_000, job=JobRef(REF, job).slug, text="y" * 500, size=1_000_000)
    keep("retries-exhausted", 2_000, job="7", count=3)
    keep("cleaned", 1_000, count=400)
    cleaned, exhausted, failed = notables.of(REF)
    assert (failed.job, failed.text and failed.text.size, failed.text and failed.text.marks) == (
        job,
        1_000_000,
        (Mark.CUT,),
    )
    assert (exhausted.attempts, exhausted.count) == (3, None)
    assert (cleaned.attempts, cleaned.count) == (None, 400)


def test_a_failure_by_stalling_is_known_as_one_after_it_was_kept() -> None:
    keep("failed", 2_000, text=STALLED_TOO_OFTEN, size=len(STALLED_TOO_OFTEN))
    keep("failed", 1_000, text="job stalled more than allowable limit, twice", size=44)
    assert [event.by_stall for event in notables.of(REF)] == [False, True]


def test_a_row_that_makes_no_sense_costs_itself_alone() -> None:
    keep("a-kind-of-tomorrow", 3_000)
    keep("failed", 2_000, job="~~~")
    failed, odd = notables.of(REF)
    assert failed.job is None
    assert (odd.kind, str(odd.text)) == (EventKind.OTHER, "a-kind-of-tomorrow")


def test_gaps_are_those_that_reach_into_the_last_hour() -> None:
    hour = notables.HOUR_MS
    keep("gap", 3 * hour, until_ms=now_ms() - 2 * hour, count=1)
    keep("gap", 2 * hour, until_ms=now_ms() - hour // 2, count=2)
    keep("gap", 60_000, None, until_ms=now_ms() - 50_000)
    keep("gap", 60_000, OTHER, until_ms=now_ms() - 50_000, count=4)
    keep("failed", 1_000)
    assert [gap.count for gap in notables.gaps(REF)] == [2, None]


def test_a_gap_stands_in_the_feed_where_it_ended() -> None:
    keep("failed", 30_000)
    keep("gap", 60_000, until_ms=now_ms() - 10_000, count=2)
    assert kinds(notables.of(REF)) == ["gap", "failed"]


def test_outages_and_what_was_left_out_are_told_beside_gaps() -> None:
    keep("omitted", 4_000, count=12)
    keep("source-down", 3_000, None, text="refused")
    keep("source-up", 2_000, None)
    keep("failed", 1_000)
    assert kinds(notables.breaks(REF)) == ["omitted", "source-down", "source-up"]


def test_nothing_kept_is_nothing_and_no_error() -> None:
    assert notables.of(REF) == []
    assert notables.gaps(REF) == []
