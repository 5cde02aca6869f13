"""Every state of every major, written by the real npm library and read by ours."""

from __future__ import annotations

import pytest

from queues.backends.bullmq.reader import BullMQ
from queues.types import JobRef, Layout, QueueRef, State
from tests.node import Node
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")

# One job in each state; the worker fails what is called `fail`, holds what is called `hold`.
EVERY_STATE = """
const q = queue(args.major, "shop");
const flows = flow(args.major);
await flows.add({ name: "parent", queueName: "shop", data: { p: 1 }, opts: { jobId: "j-parent" },
  children: [{ name: "child", queueName: "kids", data: {}, opts: { jobId: "kid" } }] });
const w = worker(args.major, "shop", async (job) => {
  await job.updateProgress(40);
  await job.log("line one");
  if (job.name === "fail") throw new Error("no such customer");
  if (job.name === "hold") await new Promise((resolve) => { keep.release = resolve; });
  return { ok: true };
}, { concurrency: 1 });
await q.add("done", { n: 1 }, { jobId: "j-completed" });
await q.add("fail", { n: 2 }, { jobId: "j-failed", attempts: 1 });
await until(async () => (await q.getFailedCount()) === 1 && (await q.getCompletedCount()) === 1);
await q.add("hold", { n: 3 }, { jobId: "j-active" });
await until(() => keep.release);
await q.add("plain", { n: 4 }, { jobId: "j-waiting" });
await q.add("urgent", { n: 5 }, { jobId: "j-prioritized", priority: 7 });
await q.add("later", { n: 6 }, { jobId: "j-delayed", delay: 3600000 });
"""


@pytest.fixture
def every_state(node: Node, server: Server, major: int) -> int:
    node.run(EVERY_STATE, url=server.url, major=major)
    return major


def test_each_state_of_each_major_is_counted_listed_and_shown(every_state: int, bullmq: BullMQ) -> None:
    counts = bullmq.counts([SHOP])[SHOP]
    assert counts.by_state == dict.fromkeys(State, 1)
    assert counts.version.startswith(f"bullmq:{every_state}.")
    for state in State:
        [row] = bullmq.jobs(SHOP, [state]).rows
        expected = b"j-parent" if state is State.WAITING_CHILDREN else b"j-" + state.value.encode()
        assert (row.ref.id, row.state, row.damaged) == (expected, state, ())
        job = bullmq.job(JobRef(SHOP, expected))
        assert (job.states, job.state_inferred) == ((state,), False)


def test_the_layout_is_told_from_the_version_in_meta(every_state: int, bullmq: BullMQ) -> None:
    info = bullmq.queue(SHOP)
    assert info.layout is {4: Layout.V4, 5: Layout.V5, 6: Layout.V6}[every_state]
    assert info.versions_note == ""
    assert info.events_length > 5
    assert info.first_event_ms is not None
    assert info.last_event_ms is not None
    assert info.first_event_ms <= info.last_event_ms
