"""What is told about a group: when its failures were, since when a wave goes on, how they are spread, what differs."""

from __future__ import annotations

import json
import struct

import pytest

from queues.failures.about import Span, compared, series, shares, suggested, wave, whole
from queues.failures.about.masked import LIST, OBJECT, leaves, quoted
from queues.failures.about.whole import Whole
from queues.failures.types import Kind
from queues.models import Failure, FailureGroup, FailureHour, FailureSample, FailureStrand, IndexedQueue, Indexing
from queues.payload import show
from queues.quantities import DAY, HOUR, MINUTE
from queues.redaction import DEFAULT
from queues.types import Body
from tests.failing import indexing, make_group

pytestmark = pytest.mark.django_db

NOW = 1_796_000_000_000 // HOUR * HOUR + 37 * MINUTE + 12_000


@pytest.fixture
def group() -> FailureGroup:
    indexing(queues=("payments",))
    Indexing.objects.update(since_ms=NOW - 60 * DAY, beat_at="2099-01-01T00:00Z")
    return make_group(counts=(0, 0, 0, 0, 0), hours={})


def write(group: FailureGroup, minutes: dict[int, int], *, kept: bool = True) -> Whole:
    """Counts by minutes ago, written as the index does."""
    strand = FailureStrand.objects.get(group=group)
    hours: dict[int, list[int]] = {}
    for ago, count in minutes.items():
        at = NOW - ago * MINUTE
        hours.setdefault(at // HOUR, [0] * 60)[at // MINUTE % 60] += count
    for hour, counts in hours.items():
        packed = struct.pack("<60I", *counts) if kept else None
        FailureHour.objects.create(strand=strand, hour=hour, count=sum(counts), minutes=packed)
    return whole(group)


@pytest.mark.parametrize("span", list(Span))
def test_a_series_holds_every_failure_of_its_span_once(group: FailureGroup, span: Span) -> None:
    minutes = {ago: 1 + ago % 3 for ago in range(0, 47 * 60, 7)}
    about = write(group, minutes)
    found = series(about, span, now=NOW)
    begin = found.begin_ms
    assert found.total == sum(
        count for ago, count in minutes.items() if (NOW - ago * MINUTE) // MINUTE * MINUTE >= begin
    )
    assert found.end_ms > NOW >= found.end_ms - found.step_ms
    assert not found.unknown


def test_hours_whose_minutes_are_forgotten_are_counted_too(group: FailureGroup) -> None:
    about = write(group, {600: 5}, kept=False)
    assert series(about, Span.DAY, now=NOW).total == 5


def test_steps_before_the_index_began_in_its_gaps_and_while_it_is_silent_are_unknown(group: FailureGroup) -> None:
    about = whole(group)
    IndexedQueue.objects.update(gaps=[[NOW - 90 * MINUTE, NOW - 60 * MINUTE]])
    found = series(about, Span.THREE, now=NOW)
    assert 15 <= len(found.unknown) <= 17
    IndexedQueue.objects.update(gaps=[])
    Indexing.objects.update(since_ms=NOW - HOUR)
    assert len(series(whole(group), Span.THREE, now=NOW).unknown) in (60, 61)
    Indexing.objects.all().delete()
    assert len(series(whole(group), Span.THREE, now=NOW).unknown) == 90


def test_a_wave_begins_behind_the_calm_before_it_and_not_with_the_first_failure(group: FailureGroup) -> None:
    calm = dict.fromkeys(range(40, 2_000, 9), 1)
    about = write(group, calm | dict.fromkeys(range(29), 60))
    found = wave(about, now=NOW)
    assert found is not None
    assert NOW - 30 * MINUTE <= found.since_ms <= NOW - 28 * MINUTE
    assert not found.coarse


def test_a_short_breath_does_not_end_a_wave_and_half_an_hour_does(group: FailureGroup) -> None:
    about = write(group, dict.fromkeys([*range(10), *range(30, 50), *range(100, 130)], 10))
    found = wave(about, now=NOW)
    assert found is not None
    assert NOW - 51 * MINUTE <= found.since_ms <= NOW - 48 * MINUTE


def test_without_a_failure_in_the_last_hour_there_is_no_wave(group: FailureGroup) -> None:
    assert wave(write(group, {90: 100}), now=NOW) is None
    assert wave(whole(make_group(title="none", counts=(0, 0, 0, 0, 0), hours={})), now=NOW) is None


def test_a_wave_of_days_is_told_by_the_hour(group: FailureGroup) -> None:
    strand = FailureStrand.objects.get(group=group)
    write(group, dict.fromkeys(range(49 * 60), 2))
    for back in range(50, 80):
        FailureHour.objects.create(strand=strand, hour=NOW // HOUR - back, count=120)
    found = wave(whole(group), now=NOW)
    assert found is not None
    assert found.coarse
    assert NOW - 80 * HOUR <= found.since_ms <= NOW - 47 * HOUR


def test_shares_are_of_all_failures_and_the_smallest_are_added_up() -> None:
    indexing(queues=("a", "b"))
    made = make_group(queues=("a", "b"), names=[f"n{at}" for at in range(10)], counts=(40, 40, 40, 40, 40), failures=40)
    about = whole(made)
    found = shares(about, series(about, Span.THREE))
    assert (
        found.counted == sum(share.count for share in found.queues) == sum(share.count for share in found.names) == 40
    )
    assert found.names[-1].others == 2
    month = shares(about, series(about, Span.MONTH))
    assert month.looked == 40
    assert {share.value for share in month.attempts} == {1, 2, 3}


def test_a_group_without_strands_is_told_too() -> None:
    made = make_group(queues=(), counts=(0, 0, 0, 0, 0))
    about = whole(made)
    assert (about.h1, about.present, about.usual, about.growth, about.kind) == (0, 0, None, None, Kind.UNKNOWN)
    assert shares(about, series(about, Span.DAY)).looked == 0
    assert about.newest is None


def test_the_newest_job_is_one_that_is_there(group: FailureGroup) -> None:
    made = make_group(title="other", failures=3, gone=3)
    newest = whole(made).newest
    assert newest is not None
    assert Failure.objects.get(job=newest.slug, queue__slug=newest.queue.slug).in_set


def test_a_class_that_is_none_is_unknown(group: FailureGroup) -> None:
    group.kind_set = "nonsense"
    assert whole(group).kind is Kind.UNKNOWN


MASKED = show(
    Body(raw := b'{"token":"abc","n":9007199254740993127,"a":[{"b":null},2],"cards":{"pan":1}}', len(raw)), DEFAULT
)


def test_masked_json_is_json_again_with_its_paths() -> None:
    found = leaves(quoted(MASKED.text))
    assert found["n",] == "9007199254740993127"
    assert (found["a",], found["a", "0"], found["a", "0", "b"], found["a", "1"]) == (LIST, OBJECT, "null", "2")
    assert found["token",].startswith('"•')
    assert leaves("no json") == {}
    assert leaves('{"a": 1, "b": {"c": "cut he')["a",] == "1"


def samples(*payloads: object) -> list[FailureSample]:
    made = make_group(title="samples", samples=len(payloads))
    rows = list(FailureSample.objects.filter(signature__group=made).order_by("-at_ms"))
    for row, payload in zip(rows, payloads, strict=True):
        row.payload = payload if isinstance(payload, str) else json.dumps(payload)
        row.sizes = {"payload": len(row.payload.encode())}
    return rows


def test_fields_that_differ_are_marked_and_others_not() -> None:
    rows = samples(
        {"id": 1, "tenant": "a", "only": True, "deep": {"x": [1, 2]}}, {"id": 2, "tenant": "a", "deep": {"x": [1, 3]}}
    )
    found = compared(rows[0], rows)
    marked = [token.text for token in found.body.tokens if token.kind.endswith("dif")]
    assert marked == ["1", "true", "2"]
    assert found.body.text.replace(" ", "").replace("\n", "") == rows[0].payload.replace(" ", "")
    assert (found.differing, found.among) == (3, 2)


def test_samples_of_other_job_names_are_not_compared() -> None:
    rows = samples({"a": 1}, {"b": 2})
    rows[1].name = "another"
    assert compared(rows[0], rows).among == 1


def test_masked_and_cut_payloads_are_compared_as_far_as_they_go() -> None:
    rows = samples(MASKED.text, MASKED.text[:40])
    rows[0].sizes = {"payload": 1_000_000}
    found = compared(rows[0], rows)
    assert found.body.hidden == 2
    assert found.body.marks


@pytest.mark.parametrize("payload", ["", "x", "[" * 3_000, "•" * 50, '{"a":' * 400, '"•••"'])
def test_no_payload_is_too_odd(payload: str) -> None:
    rows = samples(payload, payload)
    compared(rows[0], rows)
    suggested(rows)


def test_paths_that_may_tell_something_are_proposed() -> None:
    rows = samples(*({"id": at, "tenant": f"t-{at % 2}", "region": "sa", "list": [1]} for at in range(6)))
    assert suggested(rows) == ["region", "tenant"]
