"""Editing the data of a job: exact, only where nobody else changed it, and never under a worker."""

from __future__ import annotations

from typing import cast

import pytest
import redis

from queues.actions import Outcome
from queues.backends.bullmq.actions import BullMQActions
from queues.errors import BadInput
from queues.types import JobRef, QueueRef, State
from tests.node import Node
from tests.seed import seed_queue
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
JOB = JobRef(SHOP, b"job")
ADD = 'await queue(args.major, "shop").add("job", { a: 1 }, { jobId: "job", ...args.opts });'
WORK = """
const seen = [];
const w = worker(args.major, "shop", async (job) => { seen.push(job.data); });
await until(() => seen.length === 1);
return seen[0];
"""
HOLD = """
await queue(args.major, "shop").add("job", { a: 1 }, { jobId: "job" });
keep.started = false;
worker(args.major, "shop", async () => { keep.started = true; await new Promise((r) => { keep.go = r; }); });
await until(() => keep.started);
"""
AS_BULLMQ = """
const q = queue(args.major, "shop");
const job = await q.getJob("job");
await job.updateData({ a: 3 });
"""


@pytest.fixture(params=[5, 6], ids=lambda major: f"bullmq{major}")
def new(request: pytest.FixtureRequest) -> int:
    """The majors whose jobs can be edited."""
    return cast(int, request.param)


def test_a_worker_gets_the_data_that_was_edited_and_nothing_else_is_touched(
    new: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(ADD, url=server.url, major=new)
    fields, events = store.hgetall("bull:shop:job"), store.xlen("bull:shop:events")
    data = b' {"a" : 2.0, "b":"\xc3\xbc\\ud800"}'
    assert operating.edit(JOB, data, was=b'{"a":1}').outcome is Outcome.DONE
    assert store.hgetall("bull:shop:job") == {**cast("dict[bytes, bytes]", fields), b"data": data}
    assert store.xlen("bull:shop:events") == events  # BullMQ tells nobody either
    assert node.run(WORK, url=server.url, major=new) == {"a": 2, "b": "ü\ud800"}


def test_the_same_edit_again_is_already_done(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", failed=1)
    was = cast(bytes, store.hget("bull:shop:1", "data"))
    outcomes = [operating.edit(JobRef(SHOP, b"1"), b"null", was=was).outcome for _ in range(2)]
    assert outcomes == [Outcome.DONE, Outcome.ALREADY]


def test_what_somebody_else_changed_meanwhile_is_kept(
    new: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(ADD, url=server.url, major=new)
    node.run(AS_BULLMQ, url=server.url, major=new)
    assert operating.edit(JOB, b"2", was=b'{"a":1}').outcome is Outcome.CHANGED
    assert store.hget("bull:shop:job", "data") == b'{"a":3}'


def test_a_job_in_the_hands_of_a_worker_is_not_edited(
    new: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(HOLD, url=server.url, major=new)
    result = operating.edit(JOB, b"2", was=b'{"a":1}')
    assert result.outcome is Outcome.LOCKED
    assert 0 < cast(int, result.lock_ms) <= 30_000
    store.delete("bull:shop:job:lock")
    result = operating.edit(JOB, b"2", was=b'{"a":1}')
    assert (result.outcome, result.state) == (Outcome.WRONG_STATE, State.ACTIVE)
    assert store.hget("bull:shop:job", "data") == b'{"a":1}'


@pytest.mark.parametrize("state", [state for state in State if state is not State.ACTIVE])
def test_jobs_of_every_other_state_are_edited(state: State, store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", **{state.value.replace("-", "_"): 1})  # type: ignore[arg-type]
    was = cast(bytes, store.hget("bull:shop:1", "data"))
    assert operating.edit(JobRef(SHOP, b"1"), b"[]", was=was).outcome is Outcome.DONE


def test_five_megabytes_are_edited_to_the_byte(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=1)
    was, data = (b'"' + letter * 5_000_000 + b'"' for letter in (b"a", b"b"))
    store.hset("bull:shop:1", "data", was)
    job = JobRef(SHOP, b"1")
    assert operating.edit(job, data, was=was[:-2] + b'x"').outcome is Outcome.CHANGED
    assert operating.edit(job, data, was=was).outcome is Outcome.DONE
    assert store.hget("bull:shop:1", "data") == data


def test_a_job_that_is_gone_is_not_made_again(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop")
    assert operating.edit(JOB, b"2", was=b"1").outcome is Outcome.GONE
    assert not store.exists("bull:shop:job")
    store.rpush("bull:shop:wait", "x")
    assert operating.edit(JobRef(SHOP, b"wait"), b"2", was=b"1").outcome is Outcome.GONE


@pytest.mark.parametrize("own", [b"meta", b"repeat:nightly"])
def test_what_a_queue_keeps_under_a_name_that_could_be_an_id_is_no_job(
    own: bytes, store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop")
    store.hset("bull:shop:repeat:nightly", mapping={"name": "nightly", "data": "1", "opts": "{}", "ic": "3"})
    before = {key: store.dump(key) for key in store.keys("*")}
    job = JobRef(SHOP, own)
    assert operating.edit(job, b"2", was=b"1").outcome is Outcome.GONE
    assert operating.log(job, "a line", token="t").outcome is Outcome.GONE
    assert {key: store.dump(key) for key in store.keys("*")} == before


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"Infinity"])
def test_data_that_no_worker_could_read_is_refused(data: bytes, store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=1)
    with pytest.raises(BadInput):
        operating.edit(JobRef(SHOP, b"1"), data, was=cast(bytes, store.hget("bull:shop:1", "data")))


def test_on_4_nothing_is_edited(node: Node, server: Server, store: redis.Redis, operating: BullMQActions) -> None:
    node.run(ADD, url=server.url, major=4)
    result = operating.edit(JOB, b"2", was=b'{"a":1}')
    assert result.outcome is Outcome.UNSUPPORTED
    assert "BullMQ 4" in result.why
    assert store.hget("bull:shop:job", "data") == b'{"a":1}'
