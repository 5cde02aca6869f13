"""Jobs and log lines that are added by hand: stored as BullMQ's own library does it, and finished by its workers."""

from __future__ import annotations

import json
from typing import cast

import pytest
import redis

from queues.actions import NewJob, Outcome
from queues.backends.bullmq.actions import BullMQActions
from queues.errors import BadInput, LimitExceeded
from queues.types import JobRef, QueueRef, State
from tests.node import Node
from tests.seed import seed_queue
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
OPTIONS: dict[str, dict[str, object]] = {
    "none": {},
    "delayed": {"delay": 3_600_000},
    "urgent": {"priority": 7},
    "urgent and delayed": {"priority": 7, "delay": 3_600_000},
    "first": {"lifo": True},
    "attempts": {"attempts": 3, "backoff": {"type": "exponential", "delay": 100}},
    "backoff as a number": {"attempts": 3, "backoff": 100},
    "kept": {"removeOnComplete": {"age": 3600, "count": 5}, "removeOnFail": True, "keepLogs": 3},
    "deduplicated": {"deduplication": {"id": "one"}},
    "deduplicated for a while": {"deduplication": {"id": "one", "ttl": 60_000}},
    "own id": {"jobId": "mine"},
    "of old": {"timestamp": 1_700_000_000_000},
    "of a flow": {"failParentOnFailure": True},
}
ADD = """
const q = keep.queue ??= queue(args.major, args.name);
await q.waitUntilReady();
const jobs = await q.addBulk([{ name: "first", data: {} }]);
if (args.paused) await q.pause();
return (await q.add("näme <b>", { n: 1.5, text: "ü" }, args.opts)).id;
"""
PLAIN = """
const q = queue(args.major, args.name);
await q.waitUntilReady();
await q.add("first", {});
if (args.paused) await q.pause();
"""
IDLE = """
keep.done = [];
keep.worker = worker(args.major, "shop", async (job) => { keep.done.push([job.id, job.name, job.data]); });
await keep.worker.waitUntilReady();
await sleep(200);
"""
DONE = "await until(() => keep.done.length >= args.count); return keep.done;"
FINISH = """
const q = queue(args.major, "shop");
await q.resume();
const order = [];
const w = worker(args.major, "shop", async (job) => { order.push(job.id); });
await until(() => order.length >= args.count);
return order;
"""
LOG = """
const q = queue(args.major, "shop");
const job = await q.add("job", {}, { jobId: "job", keepLogs: args.keep });
for (const n of [1, 2, 3]) await job.log(`line ${n}`);
"""
LOGS = "return (await queue(args.major, 'shop').getJobLogs('job')).logs;"


@pytest.fixture(params=[5, 6], ids=lambda major: f"bullmq{major}")
def new(request: pytest.FixtureRequest) -> int:
    """The majors to whose queues jobs can be added."""
    return cast(int, request.param)


@pytest.mark.parametrize("paused", [False, True], ids=["open", "paused"])
@pytest.mark.parametrize("kind", OPTIONS)
def test_every_key_is_as_bullmq_itself_leaves_it(
    *, kind: str, paused: bool, new: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    opts = OPTIONS[kind]
    node.run(ADD, url=server.url, major=new, name="theirs", opts=opts, paused=paused)
    node.run(PLAIN, url=server.url, major=new, name="ours", paused=paused)
    job = NewJob(
        "näme <b>".encode(),
        '{"n":1.5,"text":"ü"}'.encode(),
        json.dumps({name: value for name, value in opts.items() if name != "jobId"}).encode(),
        str(opts.get("jobId", "")).encode(),
    )
    made = operating.add(QueueRef("main", b"bull", b"ours"), job, token="t").made
    assert made == str(opts.get("jobId", "2")).encode()
    store.delete("bull:ours:mirante:t")
    theirs, ours = _picture(store, "theirs"), _picture(store, "ours")
    assert ours == theirs


@pytest.mark.parametrize("opts", [b"{}", b'{"priority":3}', b'{"delay":1}'], ids=["plain", "urgent", "delayed"])
def test_an_idle_worker_takes_an_added_job_at_once_with_the_exact_data(
    opts: bytes, new: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(IDLE, url=server.url, major=new)
    result = operating.add(SHOP, NewJob(b"job", b'[1, null, "\\ud83d"]', opts), token="t")
    assert result.outcome is Outcome.DONE
    assert node.run(DONE, url=server.url, count=1) == [["1", "job", [1, None, "\ud83d"]]]


def test_the_bytes_of_the_data_are_kept(store: redis.Redis, operating: BullMQActions) -> None:
    data = b' {"b" : 1.0,\n"a":12345678901234567890123,  "a": "\xc3\xbc\\u0000" } '
    made = operating.add(SHOP, NewJob(b"job", data), token="t").made
    assert store.hget(b"bull:shop:" + made, "data") == data


def test_added_jobs_are_taken_in_order_also_on_a_paused_queue_that_bullmq_resumes(
    new: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    operating.add(SHOP, NewJob(b"job", b"1"), token="a")
    node.run("await queue(args.major, 'shop').pause();", url=server.url, major=new)
    operating.add(SHOP, NewJob(b"job", b"1"), token="b")
    operating.add(SHOP, NewJob(b"job", b"1", b'{"lifo":true}'), token="c")
    operating.add(SHOP, NewJob(b"job", b"1", b'{"priority":1}'), token="d")
    assert node.run(FINISH, url=server.url, major=new, count=4) == ["3", "1", "2", "4"]


def test_the_same_call_again_adds_nothing_and_tells_what_was_made(store: redis.Redis, operating: BullMQActions) -> None:
    first = operating.add(SHOP, NewJob(b"job", b"1"), token="t")
    again = operating.add(SHOP, NewJob(b"job", b"1"), token="t")
    assert (first.outcome, first.made) == (Outcome.DONE, b"1")
    assert (again.outcome, again.made) == (Outcome.ALREADY, b"1")
    assert store.llen("bull:shop:wait") == 1
    assert 86_000 < store.ttl("bull:shop:mirante:t") <= 86_400


def test_an_id_that_is_taken_is_not_written_over(store: redis.Redis, operating: BullMQActions) -> None:
    operating.add(SHOP, NewJob(b"job", b"1", id=b"mine"), token="a")
    result = operating.add(SHOP, NewJob(b"job", b"2", id=b"mine"), token="b")
    assert (result.outcome, result.made, result.state) == (Outcome.ALREADY, b"", State.WAITING)
    assert store.hget("bull:shop:mine", "data") == b"1"


def test_a_number_that_is_taken_is_passed_over(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=3)
    store.set("bull:shop:id", 0)  # as after a restore of part of the keys
    assert operating.add(SHOP, NewJob(b"job", b"1"), token="a").made == b"4"
    assert store.llen("bull:shop:wait") == 4


@pytest.mark.parametrize(
    "job_id",
    ["1", "-1", "007", "NaN", "0", "0:1:2", "a:b", "a:b:c:d", "wait", "events", "repeat:x:1", "metrics:completed:data"],
)
def test_ids_that_bullmq_refuses_or_uses_itself_are_refused(
    job_id: str, store: redis.Redis, operating: BullMQActions
) -> None:
    with pytest.raises(BadInput):
        operating.add(SHOP, NewJob(b"job", b"1", id=job_id.encode()), token="t")
    assert store.keys() == []


@pytest.mark.parametrize("job_id", ["a", " ", "<b>x</b>", "%2F/..", "ü" * 300, "a:b:c", "1a", "0x", "meta-1"])
def test_ids_that_bullmq_accepts_are_accepted(
    job_id: str, new: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    assert operating.add(SHOP, NewJob(b"job", b"1", id=job_id.encode()), token="t").made == job_id.encode()
    assert node.run(FINISH, url=server.url, major=new, count=1) == [job_id]


@pytest.mark.parametrize(
    "opts",
    [
        b"[]", b"{", b"null", b'{"delay":-1}', b'{"delay":"5"}', b'{"delay":1.5}', b'{"priority":2097153}',
        b'{"priority":true}', b'{"attempts":-1}', b'{"backoff":"fixed"}', b'{"backoff":{"delay":1}}', b'{"kl":"x"}',
        b'{"deduplication":{}}', b'{"de":"x"}', b'{"de":{"id":"x","ttl":-1}}', b'{"repeat":{"every":1}}',
        b'{"parent":{"id":"1","queue":"bull:a"}}', b'{"fpof":true,"idof":true}', b'{"delay":9e15}', b'{"sizeLimit":2}',
    ],
)  # fmt: skip
def test_options_with_which_bullmq_could_not_work_are_refused(
    opts: bytes, store: redis.Redis, operating: BullMQActions
) -> None:
    with pytest.raises(BadInput):
        operating.add(SHOP, NewJob(b"job", b"[1]", opts), token="t")
    assert store.keys() == []


@pytest.mark.parametrize("data", [b"", b"{", b"NaN", b"\xff", b"undefined"])
def test_data_that_no_worker_could_read_is_refused(data: bytes, store: redis.Redis, operating: BullMQActions) -> None:
    with pytest.raises(BadInput):
        operating.add(SHOP, NewJob(b"job", data), token="t")
    assert store.keys() == []


def test_on_4_nothing_is_added_or_logged(
    node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run("await queue(4, 'shop').add('job', {});", url=server.url)
    before = sorted(cast("list[bytes]", store.keys()))
    assert operating.add(SHOP, NewJob(b"job", b"1"), token="t").outcome is Outcome.UNSUPPORTED
    assert operating.log(JobRef(SHOP, b"1"), "x", token="t").outcome is Outcome.UNSUPPORTED
    assert sorted(cast("list[bytes]", store.keys())) == before


@pytest.mark.parametrize(("keep", "left"), [(None, ["line 1", "line 2", "line 3", "ours"]), (2, ["line 3", "ours"])])
def test_a_line_is_logged_once_and_as_many_are_kept_as_the_job_says(
    *, keep: int | None, left: list[str], new: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(LOG, url=server.url, major=new, keep=keep)
    assert operating.log(JobRef(SHOP, b"job"), "ours", token="t").outcome is Outcome.DONE
    assert operating.log(JobRef(SHOP, b"job"), "ours", token="t").outcome is Outcome.ALREADY
    assert node.run(LOGS, url=server.url, major=new) == left


def test_a_job_that_is_gone_gets_no_log(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop")
    assert operating.log(JobRef(SHOP, b"job"), "x", token="t").outcome is Outcome.GONE
    assert store.keys() == [b"bull:shop:meta"]


def test_a_line_of_a_log_has_bounds(operating: BullMQActions) -> None:
    with pytest.raises(LimitExceeded):
        operating.log(JobRef(SHOP, b"job"), "x" * 1_000_001, token="t")
    with pytest.raises(BadInput):
        operating.log(JobRef(SHOP, b"job"), "", token="t")


@pytest.mark.parametrize("opts", [b"", b"{", b'"x"', b"[" * 3_000, b'{"kl":"x"}', b'{"kl":{}}'])
def test_odd_options_of_a_job_do_not_keep_it_from_being_logged(
    opts: bytes, store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop", waiting=1)
    store.hset("bull:shop:1", "opts", opts)
    assert operating.log(JobRef(SHOP, b"1"), "x", token="t").outcome is Outcome.DONE
    assert store.lrange("bull:shop:1:logs", 0, -1) == [b"x"]


def _picture(store: redis.Redis, name: str) -> dict[bytes, object]:
    """All keys of a queue, as far as they do not depend on the moment."""
    base = f"bull:{name}:".encode()
    found = {key: _value(store, key) for key in cast("list[bytes]", store.keys(base + b"*"))}
    return {key.removeprefix(base): value for key, value in found.items()}


def _value(store: redis.Redis, key: bytes) -> object:
    kind = cast(bytes, store.type(key))
    if kind == b"hash":
        fields = cast("dict[bytes, bytes]", store.hgetall(key))
        stamp = fields.get(b"timestamp", b"")
        late = stamp > b"1750000000000"
        return fields | {
            b"opts": cast(bytes, json.loads(fields.get(b"opts", b"null"))),
            b"timestamp": b"now" if late else stamp,
        }
    if kind == b"list":
        return store.lrange(key, 0, -1)
    if kind == b"zset":
        scored = cast("list[tuple[bytes, float]]", store.zrange(key, 0, -1, withscores=True))
        return [(member, None if score > 1e11 else score) for member, score in scored]
    if kind == b"stream":
        entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", store.xrange(key))
        return [{name: value for name, value in fields.items() if name != b"delay"} for _id, fields in entries]
    return store.get(key), store.ttl(key) > 0
