"""Deduplication ids: who holds one, when it may be released, and what an added job does with it."""

from __future__ import annotations

from typing import cast

import pytest
import redis

from queues.actions import NewJob, Outcome
from queues.backends.bullmq.actions import BullMQActions
from queues.types import QueueRef, State
from tests.node import Node
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
ADD = """
const q = queue(args.major, "shop");
const job = await q.add("job", {}, { deduplication: { id: "one", ...args.opts }, ...args.more });
return job.id;
"""
WAITING = "return await queue(args.major, 'shop').getWaitingCount();"
# Its holder is removed behind BullMQ's back, as an outage or a flush of part of the keys does.
STALE = "await redis.del('bull:shop:1'); await redis.lrem('bull:shop:wait', 0, '1');"
FAIL = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async () => { throw new Error("no"); });
await until(async () => (await q.getFailedCount()) === 1);
await w.close();
"""
RAN = """
const names = [];
const w = worker(args.major, "shop", async (job) => { names.push(job.name); });
await until(async () => (await queue(args.major, "shop").getCompletedCount()) === 2);
await w.close();
return names;
"""
HOLD = """
keep.started = false;
worker(args.major, "shop", async () => { keep.started = true; await new Promise((r) => { keep.go = r; }); });
await until(() => keep.started);
"""


@pytest.fixture(params=[5, 6], ids=lambda major: f"bullmq{major}")
def new(request: pytest.FixtureRequest) -> int:
    """The majors that know deduplication."""
    return cast(int, request.param)


def test_ac_10_a_stale_id_is_released_and_jobs_can_be_added_again(
    new: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    """AC-10: while a key stands whose job is gone, 5.81.5 drops every job of that id without a word."""
    node.run(ADD, url=server.url, major=new)
    node.run(STALE, url=server.url)
    if new == 5:
        assert node.run(ADD, url=server.url, major=5) == "1"
        assert node.run(WAITING, url=server.url, major=5) == 0
    result = operating.release_deduplication(SHOP, b"one")
    assert (result.outcome, result.id) == (Outcome.DONE, b"1")
    assert store.get("bull:shop:de:one") is None
    assert operating.release_deduplication(SHOP, b"one").outcome is Outcome.ALREADY
    node.run(ADD, url=server.url, major=new)
    assert node.run(WAITING, url=server.url, major=new) == 1


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({}, State.WAITING),
        ({"delay": 3_600_000}, State.DELAYED),
        ({"priority": 1}, State.PRIORITIZED),
    ],
)
def test_an_id_whose_job_is_yet_to_run_stays(
    *,
    more: dict[str, int],
    state: State,
    new: int,
    node: Node,
    server: Server,
    store: redis.Redis,
    operating: BullMQActions,
) -> None:
    node.run(ADD, url=server.url, major=new, more=more)
    result = operating.release_deduplication(SHOP, b"one")
    assert (result.outcome, result.state, result.id) == (Outcome.WRONG_STATE, state, b"1")
    assert result.why
    assert store.get("bull:shop:de:one") == b"1"


def test_an_id_whose_job_runs_stays_with_the_job_that_follows(
    new: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(HOLD.replace("await until", "await queue(args.major, 'shop').add('job', {}, "
             "{ deduplication: { id: 'one', keepLastIfActive: true } }); await until"),
             url=server.url, major=new)  # fmt: skip
    node.run(ADD, url=server.url, major=new, opts={"keepLastIfActive": True})
    assert store.exists("bull:shop:dn:one")
    assert operating.release_deduplication(SHOP, b"one").state is State.ACTIVE
    store.delete("bull:shop:1", "bull:shop:1:lock")
    result = operating.release_deduplication(SHOP, b"one")
    assert (result.outcome, result.removed) == (Outcome.DONE, 0)
    assert "runs after the next job of this id has ended" in result.why
    assert not store.exists("bull:shop:de:one")
    assert store.exists("bull:shop:dn:one")


def test_a_job_that_was_to_follow_is_not_lost_when_its_id_is_released(
    new: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(ADD, url=server.url, major=new)
    node.run(STALE, url=server.url)
    opts = '{"de":{"id":"one","keepLastIfActive":true},"attempts":0}'
    store.hset("bull:shop:dn:one", mapping={"name": "follows", "data": '"kept"', "opts": opts})
    assert operating.release_deduplication(SHOP, b"one").outcome is Outcome.DONE
    node.run(ADD, url=server.url, major=new)
    assert node.run(RAN, url=server.url, major=new) == ["job", "follows"]
    assert not store.exists("bull:shop:dn:one", "bull:shop:de:one")


def test_an_id_with_a_time_to_live_is_released_when_its_job_has_ended(
    new: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(ADD, url=server.url, major=new, opts={"ttl": 3_600_000})
    node.run(FAIL, url=server.url, major=new)
    assert 0 < store.pttl("bull:shop:de:one") <= 3_600_000
    result = operating.release_deduplication(SHOP, b"one")
    assert (result.outcome, result.state) == (Outcome.DONE, State.FAILED)
    assert node.run(ADD, url=server.url, major=new) == "2"


def test_a_job_that_is_added_holds_its_id_against_bullmq(
    new: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    made = operating.add(SHOP, NewJob(b"job", b"1", b'{"de":{"id":"one"}}'), token="t").made
    assert node.run(ADD, url=server.url, major=new) == made.decode()
    assert node.run(WAITING, url=server.url, major=new) == 1


@pytest.mark.parametrize("stale", [False, True])
def test_a_job_whose_id_is_held_is_refused_and_not_dropped(
    *, stale: bool, new: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(ADD, url=server.url, major=new)
    if stale:
        node.run(STALE, url=server.url)
    before = store.dbsize(), store.get("bull:shop:id")
    result = operating.add(SHOP, NewJob(b"job", b"1", b'{"de":{"id":"one"}}'), token="t")
    assert (result.outcome, result.made) == (Outcome.CHANGED, b"1")
    assert ("release the id first" in result.why) is stale
    assert (store.dbsize(), store.get("bull:shop:id")) == before


@pytest.mark.parametrize("odd", [b"wait", b"", b"\xff\x00", b"a:b:c", b"x" * 10_000])
def test_an_id_that_holds_anything_odd_is_released(odd: bytes, store: redis.Redis, operating: BullMQActions) -> None:
    store.hset("bull:shop:meta", "version", "bullmq:6.7.0")
    store.set(b"bull:shop:de:" + odd, odd)
    result = operating.release_deduplication(SHOP, odd)
    assert (result.outcome, result.id) == (Outcome.DONE, odd)


def test_on_4_no_id_is_released(node: Node, server: Server, store: redis.Redis, operating: BullMQActions) -> None:
    node.run("await queue(4, 'shop').add('job', {});", url=server.url)
    store.set("bull:shop:de:one", "7")
    assert operating.release_deduplication(SHOP, b"one").outcome is Outcome.UNSUPPORTED
    assert store.get("bull:shop:de:one") == b"7"
