"""Batches of entries: counted by kind and minute, shown as text; what anybody may write hurts its own entry alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast

import pytest
import redis

from queues.backends.bullmq import batches
from queues.backends.bullmq.reader import BullMQ
from queues.backends.bullmq.replies import Reply
from queues.errors import Unsupported
from queues.events import EventKind
from queues.quantities import LAST_MS
from queues.text import text
from queues.types import Mark, QueueRef, State, Text
from tests.hostile import BIDI, BYTES, DIGITS, MARKUP, PROGRESS
from tests.queues.streams import NOON, SHOP, events, read, tallied, write
from tests.seed import seed_job


def test_only_what_is_new_is_read_and_no_more_than_was_asked_for(bullmq: BullMQ, store: redis.Redis) -> None:
    for number in range(5):
        write(store, "event", "active", "jobId", str(number), entry=f"{NOON + number}-{number}")
    first = read(bullmq, most=2)
    assert (first.number, first.last_id) == (2, f"{NOON + 1}-1")
    rest = read(bullmq, after=first.last_id)
    assert [event.job for event in rest.events(most=2)] == [b"3", b"4"]
    assert [event.id for event in rest.events(most=9)] == [f"{NOON + number}-{number}" for number in (2, 3, 4)]
    assert rest.events(most=0) == rest.events(kinds=(), most=9) == rest.events(job=b"9", most=9) == []
    assert bullmq.entries({SHOP: rest.last_id}, most=9) == bullmq.entries({}, most=9) == []


def test_how_many_entries_are_not_behind_an_id_is_told(bullmq: BullMQ, store: redis.Redis) -> None:
    for sequence in (1, 2, 9, 10):
        write(store, "event", "active", "jobId", "1", entry=f"{NOON}-{sequence}")
    found = read(bullmq)
    behind = [f"{NOON - 1}-99", f"{NOON}-1", f"{NOON}-9", f"{NOON}-10", f"{NOON + 1}-0"]
    assert [found.upto(each) for each in behind] == [0, 1, 3, 4, 4]


def test_a_batch_over_several_minutes_counts_each_by_itself(bullmq: BullMQ, store: redis.Redis) -> None:
    for ms, word in ((-1, "failed"), (0, "failed"), (59_999, "failed"), (59_999, "active"), (180_000, "active")):
        write(store, "event", word, "jobId", "1", entry=f"{NOON + ms}-*")
    write(store, "odd", "one", entry=f"{NOON + 240_000}-0")
    minute = NOON // 60_000
    found = read(bullmq)
    assert found.tallies == {
        minute - 1: {EventKind.FAILED: 1},
        minute: {EventKind.FAILED: 2, EventKind.ACTIVE: 1},
        minute + 3: {EventKind.ACTIVE: 1},
    }
    assert (found.number, found.strange, found.last_id) == (6, 1, f"{NOON + 240_000}-0")


def test_two_queues_of_one_name_under_two_prefixes_are_told_apart(bullmq: BullMQ, store: redis.Redis) -> None:
    queues = [QueueRef("main", prefix, b"\xffshop") for prefix in (b"bull", b"app:prod")]
    for number, queue in enumerate(queues):
        write(store, "event", "active", "jobId", f"{number}", key=b"%b:\xffshop:events" % queue.prefix)
    found = bullmq.entries(dict.fromkeys(queues, "0-0"), most=9)
    assert {batch.queue: batch.jobs(EventKind.ACTIVE) for batch in found} == {queues[0]: [b"0"], queues[1]: [b"1"]}
    assert set(bullmq.positions(queues)) == set(queues)


@pytest.mark.parametrize("fields", [
    ("foo", "bar"), ("", ""), ("event", ""), ("jobId", "event", "foo", "event"), (b"\xff", BYTES), ("EVENT", "failed"),
])  # fmt: skip
def test_an_entry_that_tells_nothing_is_skipped_and_counted(
    bullmq: BullMQ, store: redis.Redis, fields: Sequence[str | bytes]
) -> None:
    write(store, "event", "failed", "jobId", "1", "failedReason", "x", entry=f"{NOON}-0")
    write(store, *fields, entry=f"{NOON}-1")
    write(store, "event", "active", "jobId", "2", entry=f"{NOON}-2")
    found = read(bullmq)
    assert (found.number, found.strange) == (3, 1)
    assert found.tallies == {NOON // 60_000: {EventKind.FAILED: 1, EventKind.ACTIVE: 1}}
    assert [event.job for event in found.events(most=9)] == [b"1", b"2"]
    assert found.sample.startswith(f"{NOON}-1: ")


def test_the_sample_of_a_strange_entry_is_short_visible_and_says_no_values(bullmq: BullMQ, store: redis.Redis) -> None:
    write(store, BIDI + "\n\x1b" + "n" * 500_000, "s3cret" * 100_000, *["x"] * 100)
    sample = read(bullmq).sample
    assert len(sample) == 200
    assert sample.isprintable()
    assert "s3cret" not in sample
    assert "\u202e" not in sample


def test_an_entry_is_understood_in_any_order_of_its_fields(bullmq: BullMQ, store: redis.Redis) -> None:
    write(store, "failedReason", "late", "prev", "active", "jobId", "7", "event", "failed")
    [event] = events(bullmq)
    assert (event.kind, event.job, str(event.text), event.previous) == (EventKind.FAILED, b"7", "late", "active")
    assert read(bullmq).jobs(EventKind.FAILED) == [b"7"]


def test_ids_beyond_every_calendar_are_strange_and_reading_goes_on_behind_them(
    bullmq: BullMQ, store: redis.Redis
) -> None:
    write(store, "event", "active", "jobId", "1", entry=f"{NOON}-0")
    write(store, "event", "failed", "jobId", "2", entry=f"{LAST_MS + 1}-0")
    found = read(bullmq)
    assert (found.tallies, found.strange) == ({NOON // 60_000: {EventKind.ACTIVE: 1}}, 1)
    assert write(store, "event", "failed", entry="18446744073709551615-5") == "18446744073709551615-5"
    last = read(bullmq, after=found.last_id)
    assert (last.tallies, last.strange, last.events(most=9)) == ({}, 1, [])
    assert bullmq.entries({SHOP: last.last_id}, most=9) == []


def test_a_reason_of_a_megabyte_is_shown_by_its_beginning_and_its_true_size(
    bullmq: BullMQ, store: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[int] = []

    def watched(raw: bytes, *, size: int, cap: int) -> Text:
        decoded.append(len(raw))
        return text(raw, size=size, cap=cap)

    monkeypatch.setattr(batches, "text", watched)
    write(store, "event", "failed", "jobId", "1", "failedReason", "漢" * 350_000)
    found = read(bullmq)
    assert found.size > 1_050_000
    [event] = found.events(most=9)
    assert event.text is not None
    assert (event.text.value, event.text.size, event.text.marks) == ("漢" * 500, 1_050_000, (Mark.CUT,))
    assert decoded == [2000]


def test_hostile_text_is_text_and_numbers_that_are_none_are_unknown(bullmq: BullMQ, store: redis.Redis) -> None:
    for entry in (
        ("failed", "failedReason", MARKUP),
        ("failed", "failedReason", BYTES),
        ("added", "name", BIDI),
        (MARKUP, "x", "y"),
        (BYTES, "x", "y"),
        ("w" * 1_000_000, "x", "y"),
        ("active", "prev", BIDI + "p" * 1_000_000),
        ("delayed", "delay", "soon"),
        ("delayed", "delay", DIGITS),
        ("retries-exhausted", "attemptsMade", "-1"),
        ("cleaned", "count", "1e400"),
        ("cleaned", "other", "7"),
        ("progress", "data", BYTES),
        ("progress", "data", '{"p":"' + "p" * 1_000_000),
    ):
        write(store, "event", entry[0], "jobId", BYTES, *entry[1:])
    found = read(bullmq)
    events = found.events(most=99)
    assert (found.strange, len(events), {event.job for event in events}) == (0, 14, {BYTES})
    assert str(events[0].text) == str(events[3].text) == MARKUP
    assert events[3].kind is events[4].kind is events[5].kind is EventKind.OTHER
    for event in events:
        assert len(str(event.text)) <= 500
        assert "\u202e" not in str(event.text) + event.previous
        assert len(event.previous) <= 40
        assert (event.run_at_ms, event.attempts, event.count) == (None, None, None)
    assert events[1].text is not None
    assert Mark.BYTES in events[1].text.marks
    assert events[-1].progress is not None
    assert events[-1].progress.text.size == 1_000_006


def test_progress_of_every_shape_is_read_as_a_row_of_a_list_reads_it(bullmq: BullMQ, store: redis.Redis) -> None:
    for number, value in enumerate(PROGRESS):
        seed_job(store, SHOP, str(number), progress=value)
        store.zadd("bull:shop:completed", {str(number): number})
        write(store, "event", "progress", "jobId", str(number), "data", value)
    rows = {row.ref.id: row.progress for row in bullmq.jobs(SHOP, [State.COMPLETED]).rows}
    told = {event.job: event.progress for event in events(bullmq, EventKind.PROGRESS)}
    assert told == rows
    assert len(told) == len(PROGRESS)


SOUND: list[object] = [b"event", b"active", b"jobId", b"1"]


@pytest.mark.parametrize("entry", [
    [b"1-1", None], [b"1-1", []], [b"1-1", [b"event"]], [b"1-1", [b"event", b"active", b"jobId"]], [b"1-1"], [], None,
    [b"1-1", [b"event", 7]], [b"1-1", [b"event", [b"active"]]], [7, SOUND], [b"1-1", b"event"], [b"1-1", SOUND, 7], 7,
])  # fmt: skip
def test_an_entry_of_no_known_shape_costs_itself_only(entry: object) -> None:
    reply = cast(Reply, [[b"1-0", SOUND], entry, [b"1-2", SOUND]])
    found = batches.batch(SHOP, reply)
    assert (found.number, found.strange, tallied(found)) == (3, 1, {EventKind.ACTIVE: 2})
    assert [event.id for event in found.events(most=9)] == ["1-0", "1-2"]
    assert found.jobs(EventKind.ACTIVE) == [b"1", b"1"]
    assert found.sample


@pytest.mark.parametrize("found", [b"", b"x", b"1", b"1-", b"-1", b"1-x", b"\xff", b"9" * 50 + b"-1"])
def test_ids_that_no_server_gives_are_not_gone_on_from(found: bytes) -> None:
    with pytest.raises(Unsupported):
        batches.batch(SHOP, cast(Reply, [[found, SOUND]]))


def test_every_word_of_the_library_is_a_kind_and_none_of_ours_is(bullmq: BullMQ, store: redis.Redis) -> None:
    ours: Collection[EventKind] = {EventKind.OTHER, EventKind.GAP, EventKind.OMITTED}
    ours = {*ours, EventKind.SOURCE_DOWN, EventKind.SOURCE_UP}
    for kind in EventKind:
        write(store, "event", kind.value, "jobId", "1")
    assert tallied(read(bullmq)) == {kind: 1 for kind in EventKind if kind not in ours} | {EventKind.OTHER: len(ours)}
    assert [str(event.text) for event in events(bullmq, EventKind.OTHER)] == [
        kind.value for kind in EventKind if kind in ours
    ]
