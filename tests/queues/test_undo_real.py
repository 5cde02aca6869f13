"""Removed jobs that come back to workers of the real library."""

from __future__ import annotations

import pytest
import redis
from pytest_django.fixtures import Settings

from queues import audit, operations, readonly, registry, undo
from queues.actions import Target
from queues.audit import Actor, Asked
from queues.types import QueueRef, State
from tests.node import Node
from tests.valkey import Server

pytestmark = pytest.mark.django_db(transaction=True)

SHOP = QueueRef("main", b"bull", b"shop")
ANNA = Asked(Actor("anna", "operator"))
FAIL = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async () => { throw new Error("no"); });
await q.add("mail", { to: "x", n: 1.5 }, { jobId: "order-1", attempts: 1, backoff: { type: "fixed", delay: 5 } });
await q.add("mail", { to: "y" }, { priority: 5 });
await until(async () => (await q.getFailedCount()) === 2);
await w.close();
"""
FINISH = """
const done = {};
const w = worker(args.major, "shop", async (job) => { done[job.id] = [job.name, job.data, job.opts.priority ?? 0]; });
await until(async () => Object.keys(done).length === args.count);
return done;
"""


TREE = """
for (const name of ["shop", "depot"]) {
  queue(args.major, name);
  await until(async () => await redis.hget(`bull:${name}:meta`, "version"));
}
await flow(args.major).add({ name: "order", queueName: "shop", data: {}, opts: { jobId: "parent" },
  children: [{ name: "pack", queueName: "depot", data: { box: 7 }, opts: { jobId: "child" } }] });
"""
PACK = """
const done = [];
const w = worker(args.major, "depot", async (job) => { done.push([job.id, job.data, job.parentKey ?? ""]); });
await until(async () => done.length === 1);
return done;
"""


@pytest.mark.node
@pytest.mark.parametrize("major", [5, 6])
def test_a_child_in_another_queue_that_went_along_comes_back(
    major: int, node: Node, server: Server, settings: Settings
) -> None:
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    readonly.forget()
    node.run(TREE, url=server.url, major=major)
    state = State.WAITING_CHILDREN
    entry = operations.remove(ANNA, SHOP, [Target(b"parent")], state=state, children=True)
    assert entry.outcomes == {"done": 1, "removed": 1}
    child = undo.kept(entry=entry).get(queue="depot")
    assert audit.made(operations.restore(ANNA, child)) == "child"
    assert node.run(PACK, url=server.url, major=major) == [["child", {"box": 7}, ""]]
    registry.forget()


@pytest.mark.node
@pytest.mark.parametrize("major", [5, 6])
def test_removed_jobs_come_back_to_real_workers(major: int, node: Node, server: Server, settings: Settings) -> None:
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    readonly.forget()
    node.run(FAIL, url=server.url, major=major)
    with server.client() as client:
        numbers = [one for one in ids(client) if one != b"order-1"]
        picked = [Target(one) for one in (b"order-1", *numbers)]
        entry = operations.remove(ANNA, SHOP, picked, state=State.FAILED, children=False)
        assert entry.outcomes == {"done": 2}
        assert ids(client) == []
        made = [audit.made(operations.restore(ANNA, copy)) for copy in undo.kept(entry=entry)]
        assert "order-1" in made
        assert sorted(one.decode() for one in ids(client, b"wait", b"prioritized")) == sorted(made)
    done = node.run(FINISH, url=server.url, major=major, count=2)
    assert isinstance(done, dict)
    assert done.pop("order-1") == ["mail", {"to": "x", "n": 1.5}, 0]
    assert list(done.values()) == [["mail", {"to": "y"}, 5]]
    registry.forget()


def ids(client: redis.Redis, *states: bytes) -> list[bytes]:
    found: list[bytes] = []
    for state in states or (b"failed",):
        key = b"bull:shop:" + state
        kind = client.type(key)
        found += client.lrange(key, 0, -1) if kind == b"list" else client.zrange(key, 0, -1)  # type: ignore[arg-type]
    return found
