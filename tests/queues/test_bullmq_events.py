"""Event streams: what the library of each major tells is read, and what anybody may write into one hurts nobody."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import cast

import pytest
import redis
from pytest_django.fixtures import Settings

from queues import registry
from queues.backend import Batch
from queues.backends.bullmq import batches
from queues.backends.bullmq.events import positions
from queues.backends.bullmq.reader import BullMQ
from queues.backends.bullmq.replies import LAST_MS, Reply
from queues.errors import NotFound, NotPermitted, Unsupported
from queues.events import Event, EventKind, Glance, Position
from queues.text import text
from queues.types import JobRef, Mark, QueueRef, State, Text
from tests.hostile import BIDI, BYTES, DIGITS, MARKUP, PROGRESS
from tests.node import Node
from tests.seed import seed_job, seed_many
from tests.valkey import RedisCommands, Server, eventually

SHOP = QueueRef("main", b"bull", b"shop")
STREAM = b"bull:shop:events"
NOON = 1_700_000_040_000  # begins a minute


def _read(bullmq: BullMQ, queue: QueueRef = SHOP, after: str = "0-0", most: int = 1000) -> Batch:
    [found] = bullmq.entries({queue: after}, most=most)
    return found


def _events(bullmq: BullMQ, *kinds: EventKind) -> Sequence[Event]:
    return _read(bullmq).events(kinds=kinds or None, most=1000)


def _has(bullmq: BullMQ, *kinds: EventKind) -> bool:
    found = bullmq.entries({SHOP: "0-0"}, most=1000)
    return bool(found) and set(kinds) <= {event.kind for event in found[0].events(most=1000)}


def _tally(found: Batch) -> Mapping[EventKind, int]:
    """Over all minutes: a run may go through the change of one."""
    total: dict[EventKind, int] = {}
    for tally in found.tallies.values():
        for kind, number in tally.items():
            total[kind] = total.get(kind, 0) + number
    return total


def _write(store: redis.Redis, *fields: bytes | str, entry: str = "*", key: bytes = STREAM) -> str:
    """One entry with exactly these fields, also such as no client library would write."""
    added = store.execute_command("XADD", key, entry, *fields)  # type: ignore[no-untyped-call]
    return cast(bytes, added).decode()


def test_a_jobs_life_is_read_with_what_each_event_tells(bullmq: BullMQ, node: Node, server: Server, major: int) -> None:
    node.run(
        """
        const q = queue(args.major, "shop");
        await q.add("fine", {}, { jobId: "fine" });
        await q.add("bad", {}, { jobId: "bad", attempts: 2, backoff: { type: "fixed", delay: 100 } });
        worker(args.major, "shop", async (job) => {
          if (job.name === "bad") throw new Error("no such customer");
          for (const value of [42, { done: 3, total: 4 }, "half way", true, [1]]) await job.updateProgress(value);
          return { ok: true };
        });
        await until(async () => (await q.getJobCounts("failed")).failed === 1);
        await until(async () => (await q.getJobCounts("completed")).completed === 1);
        """,
        url=server.url,
        major=major,
    )
    eventually(lambda: _has(bullmq, EventKind.FAILED, EventKind.COMPLETED, EventKind.DELAYED))
    whole = _read(bullmq)
    tally = _tally(whole)
    assert (tally[EventKind.ADDED], tally[EventKind.ACTIVE], tally[EventKind.PROGRESS]) == (2, 3, 5)
    assert sum(tally.values()) == whole.number
    assert (whole.strange, whole.sample) == (0, "")
    assert sorted(whole.jobs(EventKind.ADDED)) == [b"bad", b"fine"]
    assert [str(event.text) for event in _events(bullmq, EventKind.ADDED)] == ["fine", "bad"]

    told = [event.progress for event in _events(bullmq, EventKind.PROGRESS)]
    assert [(each.percent, str(each.text)) for each in told if each] == [
        (42.0, "42"),
        (75.0, '{"done":3,"total":4}'),
        (None, '"half way"'),
        (None, "true"),
        (None, "[1]"),
    ]
    [failed] = _events(bullmq, EventKind.FAILED)
    assert (failed.job, str(failed.text), failed.queue) == (b"bad", "no such customer", SHOP)
    [completed] = _events(bullmq, EventKind.COMPLETED)
    assert (completed.job, completed.text) == (b"fine", None)
    assert failed.previous == completed.previous == ("active" if major > 4 else "")
    [backoff] = _events(bullmq, EventKind.DELAYED)
    assert backoff.run_at_ms is not None
    assert 0 < backoff.run_at_ms - backoff.at_ms <= 100
    assert [(event.job, event.attempts) for event in _events(bullmq, EventKind.RETRIES_EXHAUSTED)] == [(b"bad", 2)]
    assert [event.kind for event in _read(bullmq).events(job=b"fine", most=3)] == [
        EventKind.PROGRESS,
        EventKind.PROGRESS,
        EventKind.COMPLETED,
    ]


def test_what_is_done_to_a_queue_is_read(bullmq: BullMQ, node: Node, server: Server, major: int) -> None:
    node.run(
        """
        const q = queue(args.major, "shop");
        await q.pause(); await q.resume();
        await q.add("later", {}, { jobId: "later", delay: 3600000 });
        await q.add("one", {}, { jobId: "one" }); await q.add("one", {}, { jobId: "one" });
        await (await q.getJob("later")).remove();
        const w = worker(args.major, "shop", async () => {});
        await until(async () => (await q.getJobCounts("completed")).completed === 1);
        const entries = () => redis.xrange("bull:shop:events", "-", "+");
        await until(async () => (await entries()).some((entry) => entry[1][1] === "drained"));
        await w.close();
        await q.clean(0, 10, "completed");
        """,
        url=server.url,
        major=major,
    )
    assert [(event.kind, event.job) for event in _events(bullmq, EventKind.PAUSED, EventKind.RESUMED)] == [
        (EventKind.PAUSED, None),
        (EventKind.RESUMED, None),
    ]
    [delayed] = _events(bullmq, EventKind.DELAYED)
    assert delayed.run_at_ms is not None
    assert abs(delayed.run_at_ms - delayed.at_ms - 3_600_000) < 60_000
    [removed] = _events(bullmq, EventKind.REMOVED)
    assert (removed.job, removed.previous) == (b"later", "delayed")
    assert [event.job for event in _events(bullmq, EventKind.DUPLICATED)] == [b"one"]
    assert {event.job for event in _events(bullmq, EventKind.DRAINED)} == {None}
    assert [(event.job, event.count) for event in _events(bullmq, EventKind.CLEANED)] == [(None, 1)]
    assert EventKind.OTHER not in _tally(_read(bullmq))


def test_a_job_whose_worker_died_is_stalled_and_fails_in_the_end(
    bullmq: BullMQ, node: Node, server: Server, store: redis.Redis, major: int
) -> None:
    node.run(
        """
        const q = queue(args.major, "shop");
        const hang = () => new Promise(() => {});
        const dead = worker(args.major, "shop", hang, { lockDuration: 60000, stalledInterval: 100 });
        await q.add("hangs", {}, { jobId: "hangs" });
        await until(() => redis.exists("bull:shop:hangs:lock"));
        await dead.close(true);
        await redis.del("bull:shop:hangs:lock");
        keep.next = worker(args.major, "shop", hang,
          { stalledInterval: 100, maxStalledCount: 1, lockDuration: 60000, concurrency: 3 });
        await until(async () => (await redis.xrange("bull:shop:events", "-", "+")).some((e) => e[1][1] === "stalled"));
        """,
        url=server.url,
        major=major,
    )
    [stalled] = _events(bullmq, EventKind.STALLED)
    assert (stalled.job, stalled.text) == (b"hangs", None)
    lock = b"bull:shop:hangs:lock"
    eventually(lambda: store.exists(lock))
    store.delete(lock)
    eventually(lambda: _has(bullmq, EventKind.FAILED))
    [failed] = _events(bullmq, EventKind.FAILED)
    assert str(failed.text) == "job stalled more than allowable limit"
    assert set(_read(bullmq).jobs(EventKind.STALLED)) == {b"hangs"}  # 5.x and 6.x say it before failing it, too


def test_deduplication_children_and_words_of_ones_own_are_read(bullmq: BullMQ, node: Node, server: Server) -> None:
    node.run(
        """
        const q = queue(5, "shop");
        await q.add("a", {}, { jobId: "a", deduplication: { id: "x" } });
        await q.add("b", {}, { jobId: "b", deduplication: { id: "x" } });
        await flow(5).add({ name: "parent", queueName: "shop", opts: { jobId: "parent" },
          children: [{ name: "child", queueName: "other" }] });
        const { QueueEventsProducer } = lib[5];
        const producer = new QueueEventsProducer("shop", { connection });
        await producer.publishEvent({ eventName: "gap", custom: "value" });
        await producer.close();
        """,
        url=server.url,
    )
    tally = _tally(_read(bullmq))
    assert (tally[EventKind.DEDUPLICATED], tally[EventKind.DEBOUNCED]) == (1, 1)
    assert _read(bullmq).jobs(EventKind.WAITING_CHILDREN) == [b"parent"]
    [other] = _events(bullmq, EventKind.OTHER)  # a word of ours, said by somebody else, is not ours
    assert (str(other.text), other.job) == ("gap", None)
    assert EventKind.GAP not in tally


def test_only_what_is_new_is_read_and_no_more_than_was_asked_for(bullmq: BullMQ, store: redis.Redis) -> None:
    for number in range(5):
        _write(store, "event", "active", "jobId", str(number), entry=f"{NOON + number}-{number}")
    first = _read(bullmq, most=2)
    assert (first.number, first.first_id, first.last_id) == (2, f"{NOON}-0", f"{NOON + 1}-1")
    rest = _read(bullmq, after=first.last_id)
    assert [event.job for event in rest.events(most=2)] == [b"3", b"4"]
    assert [event.id for event in rest.events(most=9)] == [f"{NOON + number}-{number}" for number in (2, 3, 4)]
    assert rest.events(most=0) == rest.events(kinds=(), most=9) == rest.events(job=b"9", most=9) == []
    assert bullmq.entries({SHOP: rest.last_id}, most=9) == bullmq.entries({}, most=9) == []


def test_how_many_entries_are_not_behind_an_id_is_told(bullmq: BullMQ, store: redis.Redis) -> None:
    for sequence in (1, 2, 9, 10):
        _write(store, "event", "active", "jobId", "1", entry=f"{NOON}-{sequence}")
    found = _read(bullmq)
    behind = [f"{NOON - 1}-99", f"{NOON}-1", f"{NOON}-9", f"{NOON}-10", f"{NOON + 1}-0"]
    assert [found.upto(each) for each in behind] == [0, 1, 3, 4, 4]


def test_a_batch_over_several_minutes_counts_each_by_itself(bullmq: BullMQ, store: redis.Redis) -> None:
    for ms, word in ((-1, "failed"), (0, "failed"), (59_999, "failed"), (59_999, "active"), (180_000, "active")):
        _write(store, "event", word, "jobId", "1", entry=f"{NOON + ms}-*")
    _write(store, "odd", "one", entry=f"{NOON + 240_000}-0")
    minute = NOON // 60_000
    found = _read(bullmq)
    assert found.tallies == {
        minute - 1: {EventKind.FAILED: 1},
        minute: {EventKind.FAILED: 2, EventKind.ACTIVE: 1},
        minute + 3: {EventKind.ACTIVE: 1},
    }
    assert (found.number, found.strange, found.last_id) == (6, 1, f"{NOON + 240_000}-0")


def test_two_queues_of_one_name_under_two_prefixes_are_told_apart(bullmq: BullMQ, store: redis.Redis) -> None:
    queues = [QueueRef("main", prefix, b"\xffshop") for prefix in (b"bull", b"app:prod")]
    for number, queue in enumerate(queues):
        _write(store, "event", "active", "jobId", f"{number}", key=b"%b:\xffshop:events" % queue.prefix)
    found = bullmq.entries(dict.fromkeys(queues, "0-0"), most=9)
    assert {batch.queue: batch.jobs(EventKind.ACTIVE) for batch in found} == {queues[0]: [b"0"], queues[1]: [b"1"]}
    assert set(bullmq.positions(queues)) == set(queues)


@pytest.mark.parametrize("fields", [
    ("foo", "bar"), ("", ""), ("event", ""), ("jobId", "event", "foo", "event"), (b"\xff", BYTES), ("EVENT", "failed"),
])  # fmt: skip
def test_an_entry_that_tells_nothing_is_skipped_and_counted(
    bullmq: BullMQ, store: redis.Redis, fields: Sequence[str | bytes]
) -> None:
    _write(store, "event", "failed", "jobId", "1", "failedReason", "x", entry=f"{NOON}-0")
    _write(store, *fields, entry=f"{NOON}-1")
    _write(store, "event", "active", "jobId", "2", entry=f"{NOON}-2")
    found = _read(bullmq)
    assert (found.number, found.strange) == (3, 1)
    assert found.tallies == {NOON // 60_000: {EventKind.FAILED: 1, EventKind.ACTIVE: 1}}
    assert [event.job for event in found.events(most=9)] == [b"1", b"2"]
    assert found.sample.startswith(f"{NOON}-1: ")


def test_the_sample_of_a_strange_entry_is_short_visible_and_says_no_values(bullmq: BullMQ, store: redis.Redis) -> None:
    _write(store, BIDI + "\n\x1b" + "n" * 500_000, "s3cret" * 100_000, *["x"] * 100)
    sample = _read(bullmq).sample
    assert len(sample) == 200
    assert sample.isprintable()
    assert "s3cret" not in sample
    assert "\u202e" not in sample


def test_an_entry_is_understood_in_any_order_of_its_fields(bullmq: BullMQ, store: redis.Redis) -> None:
    _write(store, "failedReason", "late", "prev", "active", "jobId", "7", "event", "failed")
    [event] = _events(bullmq)
    assert (event.kind, event.job, str(event.text), event.previous) == (EventKind.FAILED, b"7", "late", "active")
    assert _read(bullmq).jobs(EventKind.FAILED) == [b"7"]


def test_ids_beyond_every_calendar_are_strange_and_reading_goes_on_behind_them(
    bullmq: BullMQ, store: redis.Redis
) -> None:
    _write(store, "event", "active", "jobId", "1", entry=f"{NOON}-0")
    _write(store, "event", "failed", "jobId", "2", entry=f"{LAST_MS + 1}-0")
    found = _read(bullmq)
    assert (found.tallies, found.strange) == ({NOON // 60_000: {EventKind.ACTIVE: 1}}, 1)
    assert _write(store, "event", "failed", entry="18446744073709551615-5") == "18446744073709551615-5"
    last = _read(bullmq, after=found.last_id)
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
    _write(store, "event", "failed", "jobId", "1", "failedReason", "漢" * 350_000)
    found = _read(bullmq)
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
        _write(store, "event", entry[0], "jobId", BYTES, *entry[1:])
    found = _read(bullmq)
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
        _write(store, "event", "progress", "jobId", str(number), "data", value)
    rows = {row.ref.id: row.progress for row in bullmq.jobs(SHOP, [State.COMPLETED]).rows}
    told = {event.job: event.progress for event in _events(bullmq, EventKind.PROGRESS)}
    assert told == rows
    assert len(told) == len(PROGRESS)


def test_a_key_that_is_no_stream_costs_its_own_queue_only_and_is_looked_for_once(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    queues = [QueueRef("main", b"bull", name) for name in (b"a", b"wrong", b"missing", b"b")]
    for name in ("a", "b"):
        _write(store, "event", "active", "jobId", name, key=f"bull:{name}:events".encode())
    store.set("bull:wrong:events", "a string")
    after = dict.fromkeys(queues, "0-0")

    def read() -> list[bytes]:
        return [batch.queue.name for batch in bullmq.entries(after, most=9)]

    with redis_commands(max=6) as sent:
        assert read() == [b"a", b"b"]
    assert sent == ["XREAD", "TYPE", "TYPE", "TYPE", "TYPE", "XREAD"]
    with redis_commands(max=1):
        assert read() == [b"a", b"b"]
    assert bullmq.entries({queues[1]: "0-0"}, most=9) == []
    assert list(bullmq.positions(queues)) == [queues[0], queues[2], queues[3]]

    store.delete("bull:wrong:events")
    _write(store, "event", "active", "jobId", "1", key=b"bull:wrong:events")
    monkeypatch.setattr(bullmq._streams, "_again", 0.0)  # a minute later
    assert read() == [b"a", b"wrong", b"b"]


def test_reading_a_thousand_streams_is_one_command(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    queues = seed_many(store, 1000)
    for queue in queues[::10]:
        _write(store, "event", "active", "jobId", queue.name, key=b"bull:%b:events" % queue.name)
    with redis_commands(max=1) as sent:
        found = bullmq.entries(dict.fromkeys(queues, "0-0"), most=100)
    assert sent == ["XREAD"]
    assert {batch.queue for batch in found} == set(queues[::10])
    bullmq.positions(queues[:1])
    with redis_commands(max=8):
        assert len(bullmq.positions(queues)) == 1000
    with redis_commands(max=0):
        assert not bullmq.positions([])
        assert not bullmq.glances([])


def test_positions_follow_adding_trimming_and_deleting(bullmq: BullMQ, store: redis.Redis) -> None:
    def stands() -> Position:
        return bullmq.positions([SHOP])[SHOP]

    assert stands() == Position("0-0", 0, added=0, exists=False)
    for number in range(1, 11):
        _write(store, "event", "failed", "failedReason", "x" * 100_000, entry=f"{NOON}-{number}")
    assert stands() == Position(f"{NOON}-10", 10, added=10, first_id=f"{NOON}-1")
    store.xtrim(STREAM, maxlen=4, approximate=False)
    assert stands() == Position(f"{NOON}-10", 4, added=10, first_id=f"{NOON}-7")
    store.xdel(STREAM, f"{NOON}-7", f"{NOON}-10")
    assert stands() == Position(f"{NOON}-10", 2, added=10, first_id=f"{NOON}-8")
    store.xtrim(STREAM, maxlen=0, approximate=False)
    assert stands() == Position(f"{NOON}-10", 0, added=10, first_id="")
    assert bullmq.entries({SHOP: "0-0"}, most=9) == []
    store.delete(STREAM)
    assert stands() == Position("0-0", 0, added=0, exists=False)
    assert bullmq.entries({SHOP: f"{NOON}-10"}, most=9) == []
    _write(store, "event", "active", entry=f"{NOON}-3")
    assert stands() == Position(f"{NOON}-3", 1, added=1, first_id=f"{NOON}-3")


def test_large_entries_are_copied_in_the_server_a_few_at_a_time(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    queues = [QueueRef("main", b"bull", b"%d" % number) for number in range(10)]
    for queue in queues[:3]:
        _write(store, "event", "failed", "failedReason", "x" * 1_000_000, key=b"bull:%b:events" % queue.name)
    bullmq.positions(queues)
    with redis_commands(max=4) as sent:
        found = bullmq.positions(queues)
    assert len(sent) == 4
    assert [found[queue].length for queue in queues] == [1, 1, 1, *[0] * 7]


def test_a_server_that_does_not_count_what_was_added_leaves_that_unknown() -> None:
    """Redis 6 has no `entries-added`: the script gives nothing in its place."""

    class Redis6:
        def call(self, *command: object) -> Reply:
            return [[3, b"9-0", None, b"7-0"], 0, None]

    queues = [QueueRef("main", b"bull", name) for name in (b"a", b"b", b"c")]
    found = positions(Redis6(), queues)  # type: ignore[arg-type]
    assert found[queues[0]] == Position("9-0", 3, added=None, first_id="7-0")
    assert set(found) == set(queues[:2])


def test_a_user_who_may_not_look_into_streams_is_told_so(store: redis.Redis, server: Server) -> None:
    _write(store, "event", "active", "jobId", "1")
    store.acl_setuser("viewer", enabled=True, passwords=["+s3cret"], keys=["*"], commands=["+@all", "-xread", "-xinfo"])
    reader = BullMQ(server.config(url=server.url.replace("//", "//viewer:s3cret@")))
    with pytest.raises(NotPermitted, match="XREAD"):
        reader.entries({SHOP: "0-0"}, most=9)
    with pytest.raises((NotPermitted, Unsupported)):
        reader.positions([SHOP])
    reader.close()
    store.acl_deluser("viewer")


def test_glances_tell_the_small_fields_of_jobs_and_leave_out_those_that_are_gone(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    jobs = [JobRef(SHOP, b"%d" % number) for number in range(150)]
    for job in jobs[:100]:
        seed_job(
            store,
            SHOP,
            job.id,
            atm=2,
            ats=3,
            opts='{"attempts":5}',
            processedOn=NOON,
            finishedOn=NOON + 9,
            data="d" * 9999,
        )
    seed_job(store, SHOP, "100", name=MARKUP + "n" * 1_000_000, opts="{", atm="many")
    store.set("bull:shop:101", "a string")
    bullmq.glances(jobs)
    with redis_commands(max=3):
        found = bullmq.glances(jobs)
    assert set(found) == set(jobs[:101])
    plain = found[jobs[0]]
    assert str(plain.name) == "send"
    assert plain == Glance(plain.name, 2, 3, 5, NOON, NOON + 9)
    odd = found[jobs[100]]
    assert odd.name is not None
    assert (len(odd.name.value), odd.name.size, odd.attempts_made) == (300, 1_000_000 + len(MARKUP), None)
    assert odd.name.value.startswith(MARKUP)


def test_the_clock_is_that_of_the_server(bullmq: BullMQ, store: redis.Redis) -> None:
    before, found, after = store.time(), bullmq.server_ms(), store.time()
    assert before[0] * 1000 + before[1] // 1000 <= found <= after[0] * 1000 + after[1] // 1000


SOUND: list[object] = [b"event", b"active", b"jobId", b"1"]


@pytest.mark.parametrize("entry", [
    [b"1-1", None], [b"1-1", []], [b"1-1", [b"event"]], [b"1-1", [b"event", b"active", b"jobId"]], [b"1-1"], [], None,
    [b"1-1", [b"event", 7]], [b"1-1", [b"event", [b"active"]]], [7, SOUND], [b"1-1", b"event"], [b"1-1", SOUND, 7], 7,
])  # fmt: skip
def test_an_entry_of_no_known_shape_costs_itself_only(entry: object) -> None:
    reply = cast(Reply, [[b"1-0", SOUND], entry, [b"1-2", SOUND]])
    found = batches.batch(SHOP, reply)
    assert (found.number, found.strange, _tally(found)) == (3, 1, {EventKind.ACTIVE: 2})
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
        _write(store, "event", kind.value, "jobId", "1")
    assert _tally(_read(bullmq)) == {kind: 1 for kind in EventKind if kind not in ours} | {EventKind.OTHER: len(ours)}
    assert [str(event.text) for event in _events(bullmq, EventKind.OTHER)] == [
        kind.value for kind in EventKind if kind in ours
    ]


def test_a_dedicated_backend_has_one_connection_of_its_own(settings: Settings, server: Server) -> None:
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    with server.client() as client:
        mine = registry.dedicated("main")
        shared = registry.backend("main")
        assert mine is not shared
        assert ("main", mine) in registry.made()  # what it sends is counted
        before = {entry["id"] for entry in client.client_list()}
        for _time in range(3):
            mine.counts([SHOP])
            mine.workers()
            cast(BullMQ, mine).entries({SHOP: "0-0"}, most=9)
        assert len({entry["id"] for entry in client.client_list()} - before) == 1
        mine.close()
        eventually(lambda: {entry["id"] for entry in client.client_list()} <= before)
        assert not mine.counts([SHOP])[SHOP].exists  # and it connects again
        mine.close()
    with pytest.raises(NotFound):
        registry.dedicated("other")
    registry.forget()
