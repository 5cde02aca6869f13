"""Event streams: what the library of each major tells is read, where streams stand, and what else servers say."""

from __future__ import annotations

from typing import cast

import pytest
import redis
from pytest_django.fixtures import Settings

from queues import registry
from queues.backends.bullmq.events import positions
from queues.backends.bullmq.reader import BullMQ
from queues.backends.bullmq.replies import Reply
from queues.errors import NotFound, NotPermitted, Unsupported
from queues.events import EventKind, Glance, Position
from queues.types import JobRef, QueueRef
from tests.hostile import MARKUP
from tests.node import Node
from tests.queues.streams import NOON, SHOP, STREAM, events, has, read, tallied, write
from tests.seed import seed_job, seed_many
from tests.valkey import RedisCommands, Server, eventually


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
    eventually(lambda: has(bullmq, EventKind.FAILED, EventKind.COMPLETED, EventKind.DELAYED))
    whole = read(bullmq)
    tally = tallied(whole)
    assert (tally[EventKind.ADDED], tally[EventKind.ACTIVE], tally[EventKind.PROGRESS]) == (2, 3, 5)
    assert sum(tally.values()) == whole.number
    assert (whole.strange, whole.sample) == (0, "")
    assert sorted(whole.jobs(EventKind.ADDED)) == [b"bad", b"fine"]
    assert [str(event.text) for event in events(bullmq, EventKind.ADDED)] == ["fine", "bad"]

    told = [event.progress for event in events(bullmq, EventKind.PROGRESS)]
    assert [(each.percent, str(each.text)) for each in told if each] == [
        (42.0, "42"),
        (75.0, '{"done":3,"total":4}'),
        (None, '"half way"'),
        (None, "true"),
        (None, "[1]"),
    ]
    [failed] = events(bullmq, EventKind.FAILED)
    assert (failed.job, str(failed.text), failed.queue) == (b"bad", "no such customer", SHOP)
    [completed] = events(bullmq, EventKind.COMPLETED)
    assert (completed.job, completed.text) == (b"fine", None)
    assert failed.previous == completed.previous == ("active" if major > 4 else "")
    [backoff] = events(bullmq, EventKind.DELAYED)
    assert backoff.run_at_ms is not None
    assert 0 < backoff.run_at_ms - backoff.at_ms <= 100
    assert [(event.job, event.attempts) for event in events(bullmq, EventKind.RETRIES_EXHAUSTED)] == [(b"bad", 2)]
    assert [event.kind for event in read(bullmq).events(job=b"fine", most=3)] == [
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
    assert [(event.kind, event.job) for event in events(bullmq, EventKind.PAUSED, EventKind.RESUMED)] == [
        (EventKind.PAUSED, None),
        (EventKind.RESUMED, None),
    ]
    [delayed] = events(bullmq, EventKind.DELAYED)
    assert delayed.run_at_ms is not None
    assert abs(delayed.run_at_ms - delayed.at_ms - 3_600_000) < 60_000
    [removed] = events(bullmq, EventKind.REMOVED)
    assert (removed.job, removed.previous) == (b"later", "delayed")
    assert [event.job for event in events(bullmq, EventKind.DUPLICATED)] == [b"one"]
    assert {event.job for event in events(bullmq, EventKind.DRAINED)} == {None}
    assert [(event.job, event.count) for event in events(bullmq, EventKind.CLEANED)] == [(None, 1)]
    assert EventKind.OTHER not in tallied(read(bullmq))


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
    [stalled] = events(bullmq, EventKind.STALLED)
    assert (stalled.job, stalled.text) == (b"hangs", None)
    lock = b"bull:shop:hangs:lock"
    eventually(lambda: store.exists(lock))
    store.delete(lock)
    eventually(lambda: has(bullmq, EventKind.FAILED))
    [failed] = events(bullmq, EventKind.FAILED)
    assert str(failed.text) == "job stalled more than allowable limit"
    assert set(read(bullmq).jobs(EventKind.STALLED)) == {b"hangs"}  # 5.x and 6.x say it before failing it, too


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
    tally = tallied(read(bullmq))
    assert (tally[EventKind.DEDUPLICATED], tally[EventKind.DEBOUNCED]) == (1, 1)
    assert read(bullmq).jobs(EventKind.WAITING_CHILDREN) == [b"parent"]
    [other] = events(bullmq, EventKind.OTHER)  # a word of ours, said by somebody else, is not ours
    assert (str(other.text), other.job) == ("gap", None)
    assert EventKind.GAP not in tally


def test_a_key_that_is_no_stream_costs_its_own_queue_only_and_is_looked_for_once(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    queues = [QueueRef("main", b"bull", name) for name in (b"a", b"wrong", b"missing", b"b")]
    for name in ("a", "b"):
        write(store, "event", "active", "jobId", name, key=f"bull:{name}:events".encode())
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
    write(store, "event", "active", "jobId", "1", key=b"bull:wrong:events")
    monkeypatch.setattr(bullmq._streams, "_again", 0.0)  # a minute later
    assert read() == [b"a", b"wrong", b"b"]


def test_reading_a_thousand_streams_is_one_command(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    queues = seed_many(store, 1000)
    for queue in queues[::10]:
        write(store, "event", "active", "jobId", queue.name, key=b"bull:%b:events" % queue.name)
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
        write(store, "event", "failed", "failedReason", "x" * 100_000, entry=f"{NOON}-{number}")
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
    write(store, "event", "active", entry=f"{NOON}-3")
    assert stands() == Position(f"{NOON}-3", 1, added=1, first_id=f"{NOON}-3")


def test_large_entries_are_copied_in_the_server_a_few_at_a_time(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    queues = [QueueRef("main", b"bull", b"%d" % number) for number in range(10)]
    for queue in queues[:3]:
        write(store, "event", "failed", "failedReason", "x" * 1_000_000, key=b"bull:%b:events" % queue.name)
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
    write(store, "event", "active", "jobId", "1")
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
