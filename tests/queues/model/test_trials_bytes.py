"""Trials that come from bug reports: namesakes under other prefixes, malformed jobs, odd bytes."""

from __future__ import annotations

import pytest
import redis

from queues import audit, operations
from queues.actions import Action, Clock, NewJob, Target
from queues.names import decode_part
from queues.types import JobRef, QueueRef, State
from tests.node import Node
from tests.queues.acting import to_its_end
from tests.queues.model.cases import ANNA, SHOP, failed, finished, names, odd, some, why
from tests.queues.moving import everywhere, places, put
from tests.valkey import Server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.node, pytest.mark.usefixtures("watched")]
PREFIXES = (b"tenant-a", b"tenant-b", b"app:prod", b"{bull}", b"bull")
EMAILS = """
for (const prefix of args.prefixes) {
  const q = queue(args.major, "emails", { prefix });
  const w = worker(args.major, "emails", async () => { throw new Error("no"); }, { prefix });
  await q.addBulk([{ name: "x", opts: { jobId: "f1" } }, { name: "x", opts: { jobId: "f2" } }]);
  await until(async () => (await q.getFailedCount()) === 2);
  await w.close();
  await q.addBulk([{ name: "x", opts: { jobId: "w" } }, { name: "x", opts: { jobId: "d", delay: 3600000 } }]);
}
"""


def whole(store: redis.Redis, but: bytes) -> dict[bytes, object]:
    """Every key that is not of this prefix's queue, as it is dumped."""
    keys = [key for key in store.scan_iter("*") if not key.startswith(but + b":emails:")]
    return {key: store.dump(key) for key in keys}


@pytest.mark.parametrize(("prefix", "major"), [*zip(PREFIXES, (5, 6, 5, 6, 5), strict=True)])
def test_ls_08_an_action_on_one_queue_never_touches_its_namesakes(
    prefix: bytes, major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    node.run(EMAILS, url=server.url, major=major, prefixes=[each.decode() for each in PREFIXES])
    others, queue = whole(store, prefix), QueueRef("main", prefix, b"emails")
    assert operations.retry(ANNA, queue, some("f1"), state=State.FAILED, reset=True).outcomes == {"done": 1}
    assert operations.remove(ANNA, queue, some("f2"), state=None, children=True).outcomes == {"done": 1}
    assert operations.promote(ANNA, queue, some("d")).outcomes == {"done": 1}
    assert operations.priority(ANNA, queue, some("w"), priority=3).outcomes == {"done": 1}
    assert operations.add(ANNA, queue, NewJob(b"x", b"{}", b'{"delay":60000}')).outcomes == {"done": 1}
    operations.pause(ANNA, queue)
    operations.concurrency(ANNA, queue, 3)
    to_its_end(operations.clean(ANNA, queue, State.WAITING, clock=Clock.CREATED, older_ms=-1000))
    to_its_end(operations.drain(ANNA, queue, delayed=True))
    to_its_end(operations.obliterate(ANNA, queue, force=True))
    assert whole(store, prefix) == others
    assert [key for key in store.keys(prefix + b":emails:*") if b":mirante:" not in key] == []


DAMAGE: dict[str, tuple[str, str | None]] = {
    "data that is no JSON": ("data", "{not json"),
    "empty data": ("data", ""),
    "NaN": ("data", '{"n":NaN}'),
    "no data": ("data", None),
    "options that are a list": ("opts", "[]"),
    "no timestamp": ("timestamp", None),
    "progress that is no JSON": ("progress", "{"),
}


@pytest.mark.parametrize(("field", "value"), DAMAGE.values(), ids=DAMAGE)
def test_jd_07_a_malformed_job_is_refused_with_a_reason_and_the_others_are_replayed(
    field: str, value: str | None, node: Node, server: Server, store: redis.Redis
) -> None:
    failed(node, server.url, 6, *names("j", 10))
    if value is None:
        store.hdel("bull:shop:j3", field)
    else:
        store.hset("bull:shop:j3", field, value)
    before = store.hgetall("bull:shop:j3")
    entry = to_its_end(operations.start_bulk(ANNA, SHOP, Action.RETRY, None, state=State.FAILED, parameters={}))
    assert (entry.outcomes, odd(entry)) == ({"done": 9, "unsupported": 1}, {"j3": "unsupported"})
    assert f"Its {field} is damaged" in why(entry)
    assert store.hgetall("bull:shop:j3") == before
    assert len(set(finished(node, server.url, 6, 9))) == 9
    entry = operations.remove(ANNA, SHOP, some("j3"), state=State.FAILED, children=False)
    assert entry.outcomes == {"done": 1}, "but it can be removed"


@pytest.mark.parametrize(("field", "value"), [("returnvalue", "foo"), ("stacktrace", "not-a-list"), ("progress", "")])
def test_jd_07_what_a_worker_does_not_read_keeps_no_job_from_being_replayed(
    field: str, value: str, node: Node, server: Server, store: redis.Redis
) -> None:
    failed(node, server.url, 6, "a")
    store.hset("bull:shop:a", field, value)
    assert operations.retry(ANNA, SHOP, some("a"), state=State.FAILED, reset=False).outcomes == {"done": 1}


ODD = (b"\xff\xfe\x80", b"a\x00b", "é 雪".encode(), b"<b>x</b>", b"\x1b[31m", b" ", b"..", b"%2F", b"x" * 300)


@pytest.mark.parametrize("queue_name", [b"shop", b"\xff\xfe", b"<b>x</b>"], ids=["plain", "bytes", "markup"])
def test_jd_08_jobs_of_odd_bytes_are_replayed_logged_and_removed_by_their_exact_bytes(
    queue_name: bytes, store: redis.Redis
) -> None:
    for job in ODD:
        _acted_on_by_its_bytes(store, QueueRef("main", b"bull", queue_name), job)


def _acted_on_by_its_bytes(store: redis.Redis, queue: QueueRef, job: bytes) -> None:
    base, raw = b"bull:" + queue.name + b":", b'{"s":"\xff\xfe\x80"}'
    fields = {b"name": b"\xff", b"data": raw, b"opts": b"{}", b"timestamp": b"1", b"failedReason": b"\xff\xfe\x00"}
    store.hset(base + b"meta", "version", "bullmq:6.7.0")
    for name in (job, job + b"2"):
        store.hset(base + name, mapping=dict(fields))  # type: ignore[arg-type]
        store.zadd(base + b"failed", {name: 5})
    assert QueueRef.from_slug("main", queue.slug) == queue
    assert decode_part(JobRef(queue, job).slug, colon=True) == job
    entry = operations.retry(ANNA, queue, [Target(job, b"5")], state=State.FAILED, reset=False)
    assert entry.outcomes == {"done": 1}, entry.exceptions
    assert store.lrange(base + b"wait", 0, -1) == [job]
    assert store.hget(base + job, "data") == raw
    assert operations.log(ANNA, JobRef(queue, job), "seen \ud800 \x1b[31m").outcomes == {"done": 1}
    entry = operations.remove(ANNA, queue, [Target(job), Target(job + b"2")], state=None, children=False)
    assert entry.outcomes == {"done": 2}
    assert audit.in_words(entry)
    assert store.exists(base + job, base + job + b"2", base + job + b":logs") == 0
    assert store.exists(base + b"wait", base + b"failed") == 0


LONE = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async () => { throw new Error("x\\ud800\\u0000\\u001b[31m"); });
await q.add("send", { s: "x\\ud800y" }, { jobId: "lone" });
await until(async () => (await q.getFailedCount()) === 1);
await w.close();
"""
ECHO = """
const got = [];
worker(args.major, "shop", async (job) => { got.push(JSON.stringify(job.data)); });
await until(() => got.length);
return got;
"""


@pytest.mark.parametrize("major", [5, 6])
def test_jd_08_half_a_character_in_data_comes_back_to_the_worker_as_it_was(
    major: int, node: Node, server: Server, store: redis.Redis
) -> None:
    node.run(LONE, url=server.url, major=major)
    raw = store.hget("bull:shop:lone", "data")
    copy = operations.duplicate(ANNA, JobRef(SHOP, b"lone"))
    assert store.hget(f"bull:shop:{audit.made(copy)}", "data") == raw
    operations.remove(ANNA, SHOP, some(audit.made(copy)), state=None, children=False)
    assert operations.retry(ANNA, SHOP, some("lone"), state=State.FAILED, reset=True).outcomes == {"done": 1}
    assert node.run(ECHO, url=server.url, major=major) == ['{"s":"x\\ud800y"}']


def test_an_id_without_a_job_is_never_put_where_jobs_wait_by_any_action(store: redis.Redis) -> None:
    store.hset("bull:shop:meta", "version", "bullmq:6.7.0")
    put(store, "alive", "failed")
    for place in ("completed", "failed", "delayed", "prioritized", "waiting-children"):
        store.zadd(f"bull:shop:{place}", {f"dead-{place}": 5})
    store.lpush("bull:shop:active", "dead-active")
    dead = some(*(job.decode() for job in everywhere(store) if job != b"alive"))
    before = places(store)
    for state in (State.FAILED, State.COMPLETED):
        operations.retry(ANNA, SHOP, dead, state=state, reset=True)
    operations.promote(ANNA, SHOP, dead)
    operations.delay(ANNA, SHOP, dead, run_at_ms=1)
    operations.priority(ANNA, SHOP, dead, priority=2)
    operations.requeue(ANNA, SHOP, dead)
    operations.fail(ANNA, SHOP, dead, reason="no")
    assert places(store) == before
