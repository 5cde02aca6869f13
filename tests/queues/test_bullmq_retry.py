"""Retrying failed and completed jobs of every major, paused or not, with real workers that finish them."""

from __future__ import annotations

import pytest

from queues.actions import Outcome, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.types import QueueRef, State
from tests.node import Node
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")

FAIL = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async () => { throw new Error("no"); });
await q.addBulk([
  { name: "plain", data: {}, opts: { jobId: "a" } },
  { name: "plain", data: {}, opts: { jobId: "b" } },
  { name: "urgent", data: {}, opts: { jobId: "c", priority: 5 } },
]);
await until(async () => (await q.getFailedCount()) === 3);
await w.close();
if (args.paused) await q.pause();
"""
FINISH = """
const q = queue(args.major, "shop");
if (args.paused) await q.resume();
const order = [];
const w = worker(args.major, "shop", async (job) => { order.push(job.id); });
await until(async () => (await q.getCompletedCount()) === args.count);
return order;
"""


@pytest.mark.parametrize("paused", [False, True], ids=["open", "paused"])
def test_retried_jobs_are_finished_by_a_worker_and_a_second_press_does_nothing(
    major: int, paused: bool, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(FAIL, url=server.url, major=major, paused=paused)
    asked = [Target(b"a"), Target(b"b"), Target(b"c"), Target(b"nobody")]
    first = operating.retry(SHOP, asked, state=State.FAILED, reset=False)
    assert [result.outcome for result in first] == [Outcome.DONE, Outcome.DONE, Outcome.DONE, Outcome.GONE]
    again = operating.retry(SHOP, asked, state=State.FAILED, reset=False)
    assert [result.outcome for result in again] == [Outcome.ALREADY] * 3 + [Outcome.GONE]
    order = node.run(FINISH, url=server.url, major=major, paused=paused, count=3)
    assert sorted(order) == ["a", "b", "c"]  # type: ignore[call-overload]
