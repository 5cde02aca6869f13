"""Retrying what others hang on: children whose parents wait, failed or went on, and jobs of one deduplication id."""

from __future__ import annotations

import pytest
import redis

from queues.actions import Outcome, Result
from queues.backends.bullmq.actions import BullMQActions
from queues.types import QueueRef, State
from tests.node import Node
from tests.queues.moving import fields, outcomes, places, put, targets
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
MODERN = pytest.mark.parametrize("major", [5, 6], ids=["bullmq5", "bullmq6"])

# P in `orders` has the children c1, which fails, and c2 in `shop`.
FLOW = """
const f = flow(args.major);
const q = queue(args.major, "shop"), parents = queue(args.major, "orders");
const child = (id, opts) => ({ name: "child", queueName: "shop", data: {}, opts: { jobId: id, ...opts } });
await f.add({ name: "parent", queueName: "orders", data: {}, opts: { jobId: "P" },
  children: [child("c1", args.link), child("c2", {})] });
const w = worker(args.major, "shop", async (job) => { if (job.id === "c1") throw new Error("no"); return 1; });
await until(async () => (await q.getFailedCount()) === 1 && (await q.getCompletedCount()) === 1);
await w.close();
if (args.parents) {
  const p = worker(args.major, "orders", async (job) => 2);
  await until(async () => (await parents.getJobCountByTypes("failed", "completed")) === 1);
  await p.close();
}
"""
FINISH = """
const q = queue(args.major, "shop"), parents = queue(args.major, "orders");
worker(args.major, "shop", async () => 1);
await until(async () => (await q.getCompletedCount()) === 2);
if (args.parents) {
  worker(args.major, "orders", async () => 2);
  await until(async () => (await parents.getCompletedCount()) === 1);
}
return await (await parents.getJob("P")).getState();
"""


def _retried(operating: BullMQActions, job: str = "c1", state: State = State.FAILED) -> Result:
    (result,) = operating.retry(SHOP, targets(job), state=state, reset=False)
    return result


@MODERN
def test_a_parent_that_waits_for_a_failed_child_goes_on_when_that_was_retried(
    major: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(FLOW, url=server.url, major=major, link={}, parents=False)
    result = _retried(operating)
    assert (result.outcome, result.why) == (Outcome.DONE, "")
    assert node.run(FINISH, url=server.url, major=major, parents=True) == "completed"


@MODERN
def test_a_parent_that_failed_with_its_child_is_named_and_completes_when_both_were_retried(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(FLOW, url=server.url, major=major, link={"failParentOnFailure": True}, parents=True)
    result = _retried(operating)
    assert result.outcome is Outcome.DONE
    assert "parent has failed" in result.why
    assert store.zcard("bull:orders:P:unsuccessful") == 0
    assert store.smembers("bull:orders:P:dependencies") == {b"bull:shop:c1"}
    assert node.run(FINISH, url=server.url, major=major, parents=False) == "failed"
    orders = QueueRef("main", b"bull", b"orders")
    assert outcomes(operating.retry(orders, targets("P"), state=State.FAILED, reset=False)) == [Outcome.DONE]
    assert node.run(FINISH, url=server.url, major=major, parents=True) == "completed"


@MODERN
def test_a_parent_that_is_retried_before_its_child_has_ended_is_said_to_lack_it(
    major: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(FLOW, url=server.url, major=major, link={"failParentOnFailure": True}, parents=True)
    assert _retried(operating).outcome is Outcome.DONE
    orders = QueueRef("main", b"bull", b"orders")
    (result,) = operating.retry(orders, targets("P"), state=State.FAILED, reset=False)
    assert result.outcome is Outcome.DONE
    assert "Children of it have not ended" in result.why


@MODERN
@pytest.mark.parametrize("link", [{"ignoreDependencyOnFailure": True}, {"continueParentOnFailure": True}], ids=str)
def test_a_parent_that_went_on_without_its_child_is_not_held_up_by_it(
    major: int, link: dict[str, bool], *, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(FLOW, url=server.url, major=major, link=link, parents=False)
    assert places(store, "orders") == {"wait": [b"P"]}
    result = _retried(operating)
    assert result.outcome is Outcome.DONE
    assert "parent has gone on" in result.why
    assert not store.exists("bull:orders:P:dependencies")
    assert node.run(FINISH, url=server.url, major=major, parents=True) == "completed"


@MODERN
def test_a_parent_waits_again_for_a_completed_child_that_is_retried(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(FLOW, url=server.url, major=major, link={}, parents=False)
    assert _retried(operating, "c2", State.COMPLETED).outcome is Outcome.DONE
    assert store.smembers("bull:orders:P:dependencies") == {b"bull:shop:c1", b"bull:shop:c2"}
    assert not store.exists("bull:orders:P:processed")
    assert _retried(operating).outcome is Outcome.DONE
    assert node.run(FINISH, url=server.url, major=major, parents=True) == "completed"


@MODERN
def test_a_parent_that_is_gone_is_said_to_be(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(FLOW, url=server.url, major=major, link={}, parents=False)
    store.delete("bull:orders:P", "bull:orders:P:dependencies", "bull:orders:waiting-children")
    result = _retried(operating)
    assert result.outcome is Outcome.DONE
    assert "parent is gone" in result.why
    assert not store.exists("bull:orders:P:dependencies")


# A failed with a deduplication id; B has it since.
TWINS = """
const q = queue(args.major, "shop");
const de = { deduplication: { id: "order-1", ...args.more } };
const w = worker(args.major, "shop", async () => { throw new Error("no"); });
await q.add("a", {}, { jobId: "A", ...de });
await until(async () => (await q.getFailedCount()) === 1);
await w.close();
if (args.more.ttl) await q.removeDeduplicationKey("order-1");
if (args.second) await q.add("b", {}, { jobId: "B", ...de });
"""
THIRD = """
const q = queue(args.major, "shop");
const added = await q.add("c", {}, { jobId: "C", deduplication: { id: "order-1" } });
return added.id;
"""
FINISH_ALL = """
const q = queue(args.major, "shop");
worker(args.major, "shop", async () => 1);
await until(async () => (await q.getCompletedCount()) === args.count);
"""


@MODERN
def test_a_job_whose_deduplication_id_another_holds_is_not_retried_beside_it_unless_asked_for(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(TWINS, url=server.url, major=major, more={}, second=True)
    (refused,) = operating.retry(SHOP, targets("A"), state=State.FAILED, reset=False)
    assert (refused.outcome, refused.state, refused.made) == (Outcome.UNSUPPORTED, State.FAILED, b"B")
    assert "Job B has the same deduplication id" in refused.why
    assert places(store) == {"wait": [b"B"], "failed": [b"A"]}
    assert outcomes(operating.retry(SHOP, targets("A"), state=State.FAILED, reset=False, twins=True)) == [Outcome.DONE]
    assert places(store) == {"wait": [b"A", b"B"]}
    assert store.get("bull:shop:de:order-1") == b"B"


@MODERN
def test_a_retried_job_holds_its_deduplication_id_again_until_it_ends(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(TWINS, url=server.url, major=major, more={}, second=False)
    assert outcomes(operating.retry(SHOP, targets("A"), state=State.FAILED, reset=False)) == [Outcome.DONE]
    assert node.run(THIRD, url=server.url, major=major) == "A"
    assert places(store) == {"wait": [b"A"]}
    node.run(FINISH_ALL, url=server.url, major=major, count=1)
    assert not store.exists("bull:shop:de:order-1")


@MODERN
def test_a_stale_holder_and_one_that_has_ended_keep_nobody_from_being_retried(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(TWINS, url=server.url, major=major, more={}, second=True)
    store.delete("bull:shop:B", "bull:shop:wait")
    assert outcomes(operating.retry(SHOP, targets("A"), state=State.FAILED, reset=False)) == [Outcome.DONE]
    assert store.get("bull:shop:de:order-1") == b"A"
    put(store, "D", "completed", deid="order-2")
    put(store, "E", "failed", deid="order-2", opts='{"de":{"id":"order-2","ttl":60000}}')
    store.set("bull:shop:de:order-2", "D", px=60000)
    assert outcomes(operating.retry(SHOP, targets("E"), state=State.FAILED, reset=False)) == [Outcome.DONE]
    assert store.get("bull:shop:de:order-2") == b"D"


@MODERN
def test_an_id_that_was_held_for_a_time_is_not_held_again(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(TWINS, url=server.url, major=major, more={"ttl": 60000}, second=False)
    assert outcomes(operating.retry(SHOP, targets("A"), state=State.FAILED, reset=False)) == [Outcome.DONE]
    assert not store.exists("bull:shop:de:order-1")
    assert fields(store, "A")[b"deid"] == b"order-1"
