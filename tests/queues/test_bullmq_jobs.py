"""One job in full, as the real library of each major leaves it: retries, delays, flows, logs, locks, look-alikes."""

from __future__ import annotations

import pytest
import redis

from queues.backends.bullmq.reader import BullMQ
from queues.errors import BadInput, NotFound
from queues.types import Job, JobRef, JobRow, QueueRef, State
from tests.node import Node
from tests.seed import seed_job, seed_queue
from tests.valkey import RedisCommands, Server, eventually

SHOP = QueueRef("main", b"bull", b"shop")


def _job(bullmq: BullMQ, job_id: str, queue: QueueRef = SHOP) -> Job:
    return bullmq.job(JobRef(queue, job_id.encode()))


FAILING = """
const q = queue(args.major, "shop");
let attempt = 0;
worker(args.major, "shop", async (job) => {
  attempt += 1;
  await job.log(`attempt ${attempt}`);
  await job.updateProgress({ done: attempt, total: 4 });
  throw new Error(`error ${attempt}`);
}, { name: "bob" });
const backoff = { type: "fixed", delay: 10 };
await q.add("charge", { customer: 4711 }, { jobId: "j", attempts: 3, backoff });
await until(async () => (await q.getFailedCount()) === 1);
return Date.now();
"""


def test_every_attempt_of_a_failed_job_is_told_newest_first(
    bullmq: BullMQ, node: Node, server: Server, major: int
) -> None:
    now = node.run(FAILING, url=server.url, major=major)
    job = _job(bullmq, "j")
    assert job.states == (State.FAILED,)
    assert [stack.raw.partition(b"\n")[0] for stack in job.stacks] == [
        b"Error: error 3",
        b"Error: error 2",
        b"Error: error 1",
    ]
    assert (job.stack_count, job.stacks_raw) == (3, None)
    assert job.reason is not None
    assert job.reason.raw == b"error 3"
    assert job.data is not None
    assert job.data.raw == b'{"customer":4711}'
    assert job.logs_count == 3
    assert [str(line) for line in bullmq.logs(job.row.ref).lines] == ["attempt 1", "attempt 2", "attempt 3"]
    row = job.row
    assert (row.attempts_made, row.attempts_max, str(row.name), row.damaged) == (3, 3, "charge", ())
    assert row.progress is not None
    assert row.progress.percent == 75
    assert str(row.worker) == "bob" if major > 4 else row.worker is None
    assert row.timestamp_ms is not None
    assert row.finished_ms is not None
    assert row.timestamp_ms <= row.finished_ms <= int(str(now))
    assert job.options["attempts"] == 3


DELAYED = """
const q = queue(args.major, "shop");
await q.add("scheduled", {}, { jobId: "scheduled", delay: 3600000 });
await q.add("retry", {}, { jobId: "retry", attempts: 3, backoff: { type: "fixed", delay: 3600000 } });
await q.add("step", {}, { jobId: "step" });
await q.add("both", {}, { jobId: "both", attempts: 3, backoff: { type: "fixed", delay: 1 } });
if (args.major > 4) await q.upsertJobScheduler("nightly", { every: 3600000 }, { name: "tick" });
else await q.add("tick", {}, { repeat: { every: 3600000 } });
const { DelayedError } = lib[args.major];
worker(args.major, "shop", async (job, token) => {
  if (job.name === "tick") return;
  if (job.name === "retry") throw new Error("try later");
  if (job.name === "both" && !job.failedReason) throw new Error("first");
  await job.moveToDelayed(Date.now() + 3600000, token);
  throw new DelayedError();
});
await until(async () => {
  const { delayed, active, waiting } = await q.getJobCounts("delayed", "active", "waiting");
  return delayed === 5 && active === 0 && waiting === 0;
});
"""


def test_delayed_jobs_say_why_they_are_delayed_and_until_when(
    bullmq: BullMQ, node: Node, server: Server, store: redis.Redis, major: int
) -> None:
    node.run(DELAYED, url=server.url, major=major)

    def delayed() -> dict[bytes, JobRow]:
        """All of them at once: a worker may still hold one that goes back for its next delay."""
        found = {row.ref.id: row for row in bullmq.jobs(SHOP, [State.DELAYED]).rows}
        return found if {b"scheduled", b"retry", b"step", b"both"} <= found.keys() else {}

    rows = eventually(delayed)
    kinds = {job.decode(): row.kind for job, row in rows.items() if not job.startswith(b"repeat:")}
    # 4.x counts an attempt when it begins, so a step after a failure looks like a retry there.
    assert kinds == {
        "scheduled": "scheduled",
        "retry": "backoff",
        "step": "step",
        "both": "step" if major > 4 else "backoff",
    }
    for job, row in rows.items():
        score = store.zscore("bull:shop:delayed", job)
        assert score is not None
        assert row.run_at_ms == int(score) // 4096
    ticks = [row for job, row in rows.items() if job.startswith(b"repeat:")]
    assert ticks
    assert {row.kind for row in ticks} == {"schedule"}
    assert all(int(row.ref.id.rsplit(b":", 1)[1]) == row.run_at_ms for row in ticks)
    info = bullmq.queue(SHOP)
    assert info.schedulers == 1
    assert info.next_delayed_ms == min(row.run_at_ms or 0 for row in rows.values())
    assert info.due_now == 0


FLOW = """
const f = flow(args.major);
const extra = args.major > 4 ? { ignoreDependencyOnFailure: true } : {};
await f.add({ name: "order", queueName: "shop", data: {}, opts: { jobId: "order" }, children: [
  { name: "invoice", queueName: "invoices", data: {}, opts: { jobId: "good" } },
  { name: "mail", queueName: "mails", data: {}, opts: { jobId: "pending" } },
  { name: "bad", queueName: "invoices", data: {}, opts: { jobId: "bad", ...extra } },
] });
worker(args.major, "invoices", async (job) => {
  if (job.name === "bad") throw new Error("no address");
  return { invoice: 7 };
});
const q = queue(args.major, "invoices");
await until(async () => (await q.getFailedCount()) === 1 && (await q.getCompletedCount()) === 1);
"""


def test_a_parent_and_its_children_are_linked_with_their_states(
    bullmq: BullMQ, node: Node, server: Server, store: redis.Redis, major: int
) -> None:
    node.run(FLOW, url=server.url, major=major)
    order = _job(bullmq, "order")
    assert order.states == (State.WAITING_CHILDREN,)
    family = order.family
    assert (family.pending_count, family.processed_count) == (1 if major > 4 else 2, 1)
    [processed] = family.processed
    assert (processed.key, processed.state, processed.gone) == ("bull:invoices:good", State.COMPLETED, False)
    assert str(processed.outcome) == '{"invoice":7}'
    pending = next(child for child in family.pending if child.key == "bull:mails:pending")
    assert pending.state is State.WAITING
    if major > 4:
        [ignored] = family.ignored
        assert (ignored.key, ignored.state, str(ignored.outcome)) == ("bull:invoices:bad", State.FAILED, "no address")
        assert family.ignored_count == 1
    assert pending.ref is not None
    child = bullmq.job(pending.ref)
    assert child.family.parent is not None
    assert child.family.parent.ref == order.row.ref
    assert child.family.parent.state is State.WAITING_CHILDREN
    store.delete("bull:invoices:good")
    assert _job(bullmq, "order").family.processed[0].gone


def test_children_that_fail_their_parent_are_counted_and_linked(bullmq: BullMQ, store: redis.Redis) -> None:
    seed_queue(store, "shop", failed=2)
    store.zadd("bull:shop:1:unsuccessful", {f"bull:shop:{number}": number for number in range(2, 300)})
    family = _job(bullmq, "1").family
    assert (family.failed_count, len(family.failed)) == (298, 100)
    assert (family.failed[0].state, family.failed[1].gone) == (State.FAILED, True)


def test_the_family_of_a_job_is_capped_and_its_counts_are_true(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    seed_queue(store, "shop", waiting_children=1)
    children = [f"bull:kids:{number}" for number in range(1000)]
    store.sadd("bull:shop:1:dependencies", *children)
    store.hset("bull:shop:1:processed", mapping={f"bull:done:{number}": "x" * 5000 for number in range(1000)})
    # 1,000 children of each kind, of which 100 are shown; each may be cut, and each is asked for its state.
    with redis_commands(max=11 + 100 + 200):
        family = _job(bullmq, "1").family
    assert (family.pending_count, family.processed_count) == (1000, 1000)
    assert (len(family.pending), len(family.processed)) == (100, 100)
    assert family.processed[0].outcome is not None
    assert family.processed[0].outcome.size == 5000


def test_keys_of_relatives_are_read_whatever_their_prefix(bullmq: BullMQ, store: redis.Redis) -> None:
    seed_queue(store, "shop", waiting_children=1)
    expected = {
        "bull:mail:7": JobRef(QueueRef("main", b"bull", b"mail"), b"7"),
        "bull:mail:repeat:nightly:1700000000000": JobRef(
            QueueRef("main", b"bull", b"mail"), b"repeat:nightly:1700000000000"
        ),
        "bull:mail:a:b:c": JobRef(QueueRef("main", b"bull", b"mail"), b"a:b:c"),
        "app:prod:mail:7": JobRef(QueueRef("main", b"app:prod", b"mail"), b"7"),
        "no colon": None,
        "one:colon": None,
    }
    store.sadd("bull:shop:1:dependencies", *expected)
    assert {child.key: child.ref for child in _job(bullmq, "1").family.pending} == expected


def test_an_active_job_shows_its_lock_and_a_stalled_one_shows_none(
    bullmq: BullMQ, node: Node, server: Server, store: redis.Redis, major: int
) -> None:
    node.run(
        """
        const q = queue(args.major, "shop");
        worker(args.major, "shop", async () => { keep.started = true; await sleep(600000); }, { lockDuration: 60000 });
        await q.add("hold", {}, { jobId: "hold" });
        await until(() => keep.started);
        """,
        url=server.url,
        major=major,
    )
    job = _job(bullmq, "hold")
    assert job.lock_ttl_ms is not None
    assert 0 < job.lock_ttl_ms <= 60_000
    store.delete("bull:shop:hold:lock")
    job = _job(bullmq, "hold")
    assert (job.states, job.lock_ttl_ms) == ((State.ACTIVE,), None)


def test_the_last_children_that_are_pending_are_shown_of_a_set_that_was_large_once(
    valkey: redis.Redis, valkey_server: Server
) -> None:
    seed_queue(valkey, "shop", waiting=1)
    children = [f"bull:mails:{number}" for number in range(30_000)]
    valkey.sadd("bull:shop:1:dependencies", *children)
    valkey.execute_command("DEBUG", "DICT-RESIZING", "0")  # type: ignore[no-untyped-call]  # as while a snapshot is being saved
    try:
        valkey.srem("bull:shop:1:dependencies", *children[:-5])
        family = _job(BullMQ(valkey_server.config()), "1").family
    finally:
        valkey.execute_command("DEBUG", "DICT-RESIZING", "1")  # type: ignore[no-untyped-call]
    assert family.pending_count == 5
    assert [child.key for child in family.pending] == children[-5:]


def test_deduplication_and_scheduler_are_named(bullmq: BullMQ, node: Node, server: Server) -> None:
    for major in (5, 6):
        node.run(
            """
            const q = queue(args.major, "shop");
            await q.add("once", {}, { jobId: `once-${args.major}`, deduplication: { id: `cart-${args.major}` } });
            await q.upsertJobScheduler("nightly", { pattern: "0 3 * * *" }, { name: "tick", data: { a: 1 } });
            """,
            url=server.url,
            major=major,
        )
        assert _job(bullmq, f"once-{major}").deduplication_id == f"cart-{major}".encode()
        [tick] = bullmq.jobs(SHOP, [State.DELAYED]).rows
        assert bullmq.job(tick.ref).scheduler_id == b"nightly"


def test_a_completed_job_with_an_old_error_is_completed(bullmq: BullMQ, node: Node, server: Server, major: int) -> None:
    node.run(
        """
        const q = queue(args.major, "shop");
        let attempt = 0;
        worker(args.major, "shop", async () => {
          attempt += 1;
          if (attempt === 1) throw new Error("first");
          return "done";
        });
        await q.add("x", {}, { jobId: "x", attempts: 2 });
        await until(async () => (await q.getCompletedCount()) === 1);
        """,
        url=server.url,
        major=major,
    )
    job = _job(bullmq, "x")
    assert job.states == (State.COMPLETED,)
    assert job.returnvalue is not None
    assert job.returnvalue.raw == b'"done"'
    assert (job.reason and job.reason.raw, job.stack_count) == (b"first", 1)


@pytest.mark.parametrize("job_id", ["wait", "events", "meta", "failed", "id", "repeat:nightly", "metrics:completed"])
def test_an_own_key_of_the_queue_is_not_taken_for_a_job(bullmq: BullMQ, store: redis.Redis, job_id: str) -> None:
    seed_queue(store, "shop", waiting=1, failed=1)
    store.xadd("bull:shop:events", {"event": "x"})
    store.hset("bull:shop:repeat:nightly", mapping={"name": "tick", "data": "{}", "opts": "{}", "ic": "3"})
    store.hset("bull:shop:metrics:completed", mapping={"count": "3"})
    with pytest.raises(NotFound, match="holds something else"):
        _job(bullmq, job_id)
    assert bullmq.find([SHOP], job_id.encode()) == []


def test_a_job_that_is_really_called_meta_is_a_job(bullmq: BullMQ, store: redis.Redis) -> None:
    seed_queue(store, "shop", failed=1)
    seed_job(store, SHOP, "meta")
    store.zadd("bull:shop:failed", {"meta": 1})
    assert _job(bullmq, "meta").states == (State.FAILED,)
    assert [hit.ref.id for hit in bullmq.find([SHOP], b"meta")] == [b"meta"]


def test_an_id_whose_hash_is_gone_is_shown_as_gone_and_one_in_no_list_says_so(
    bullmq: BullMQ, store: redis.Redis
) -> None:
    seed_queue(store, "shop", failed=2)
    store.delete("bull:shop:1")
    gone = _job(bullmq, "1")
    assert (gone.row.missing, gone.states) == (True, (State.FAILED,))
    store.zrem("bull:shop:failed", "2")
    stray = _job(bullmq, "2")
    assert (stray.row.missing, stray.states) == (False, ())
    with pytest.raises(NotFound, match="There is no job 3"):
        _job(bullmq, "3")


def test_a_job_in_two_states_names_both(bullmq: BullMQ, store: redis.Redis) -> None:
    seed_queue(store, "shop", failed=1)
    store.lpush("bull:shop:wait", "1")
    job = _job(bullmq, "1")
    assert job.states == (State.WAITING, State.FAILED)


def test_a_job_deep_in_a_long_list_is_judged_and_says_so(bullmq: BullMQ, store: redis.Redis) -> None:
    seed_queue(store, "shop", waiting=120_000)
    ends = [_job(bullmq, "1"), _job(bullmq, "120000")]
    assert [(job.states, job.state_inferred) for job in ends] == [((State.WAITING,), False)] * 2
    with pytest.raises(NotFound):
        _job(bullmq, "no such job")
    assert [hit.state for hit in bullmq.find([SHOP], b"50000")] == [State.WAITING]
    middle = _job(bullmq, "60000")
    assert (middle.states, middle.state_inferred) == ((State.WAITING,), True)


def test_logs_are_paged_by_a_hundred_and_the_last_page_comes_first(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    seed_queue(store, "shop", failed=1)
    job = JobRef(SHOP, b"1")
    assert (bullmq.logs(job).lines, bullmq.logs(job).total) == ([], 0)
    for total, first in ((1, 1), (100, 1), (101, 101), (10_000, 9_901)):
        store.delete("bull:shop:1:logs")
        store.rpush("bull:shop:1:logs", *[f"line {number}" for number in range(1, total + 1)])
        with redis_commands(max=2):
            page = bullmq.logs(job)
        assert (page.first, page.total) == (first, total)
        assert str(page.lines[0]) == f"line {first}"
        assert str(page.lines[-1]) == f"line {total}"
    page = bullmq.logs(job, first=250)
    assert [str(line) for line in page.lines] == [f"line {number}" for number in range(250, 350)]
    assert bullmq.logs(job, first=10_001).lines == []
    with pytest.raises(BadInput):
        bullmq.logs(job, first=0)


def test_very_long_log_lines_are_read_in_short_steps(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    seed_queue(store, "shop", failed=1)
    store.rpush("bull:shop:1:logs", *["x" * 3_000_000 for _ in range(10)], "last")
    with redis_commands(max=12) as sent:
        page = bullmq.logs(JobRef(SHOP, b"1"))
    assert len(sent) == 12  # a script stops once it has touched 1 MB
    assert [line.size for line in page.lines] == [3_000_000] * 10 + [4]
    assert max(len(line.value) for line in page.lines) == 16 * 1024


def test_a_job_is_found_in_every_queue_that_has_it_and_in_no_other(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    queues = [seed_queue(store, f"q{number}", waiting=1, delayed=1, waiting_children=1) for number in range(50)]
    seed_job(store, queues[7], "order-4711", name="charge")
    store.zadd("bull:q7:prioritized", {"order-4711": 1})
    with redis_commands(max=50 + 2):
        [found] = bullmq.find(queues, b"order-4711")
    assert (found.ref, str(found.name), found.state) == (JobRef(queues[7], b"order-4711"), "charge", State.PRIORITIZED)
    assert [hit.state for hit in bullmq.find(queues[:3], b"2")] == [State.DELAYED] * 3
    for nothing in (b"", b"*", b"order-47??", b"[o]rder-4711"):
        assert bullmq.find(queues, nothing) == []
