"""What the named cases share: how they ask, and the application at work."""

from __future__ import annotations

from typing import cast

from queues.actions import Target
from queues.audit import Actor, Asked
from queues.models import AuditEntry
from queues.types import QueueRef
from tests.node import Node

SHOP, KITCHEN = (QueueRef("main", b"bull", name) for name in (b"shop", b"kitchen"))
ANNA = Asked(Actor("anna", "operator"))
FAIL = """
const q = queue(args.major, "shop");
const before = await q.getFailedCount();
await q.addBulk(args.ids.map((id) => ({ name: "send", data: { id }, opts: { jobId: id, ...args.opts } })));
const w = worker(args.major, "shop", async () => { throw new Error("no"); }, { concurrency: 20 });
await until(async () => (await q.getFailedCount()) === before + args.ids.length);
await w.close();
"""
APP = """
const q = queue(args.major, "shop");
await q.waitUntilReady();
for (const op of args.ops) {
  if (op === "pause" || op === "resume") await q[op]();
  else await q.add("send", {}, { jobId: op });
}
"""
# In the order in which they were begun.
FINISH = """
const q = queue(args.major, "shop");
if (args.resume) await q.resume();
const ran = [];
worker(args.major, "shop", async (job) => { ran.push(job.id); }, args.opts ?? {});
await until(async () => ran.length >= args.count && (await q.getActiveCount()) === 0);
return ran;
"""


def names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def some(*ids: str) -> list[Target]:
    return [Target(job.encode()) for job in ids]


def failed(node: Node, url: str, major: int, *ids: str, **opts: object) -> None:
    node.run(FAIL, url=url, major=major, ids=ids, opts=opts)


def app(node: Node, url: str, major: int, *ops: str) -> None:
    """Adds jobs of these names, pauses and resumes, in turn."""
    node.run(APP, url=url, major=major, ops=ops)


def finished(node: Node, url: str, major: int, count: int, *, resume: bool = False) -> list[str]:
    """What a worker ran until that were so many."""
    return cast(list[str], node.run(FINISH, url=url, major=major, count=count, resume=resume))


def odd(entry: AuditEntry) -> dict[str, str]:
    """The outcome of each job that was not simply done."""
    return {str(told["job"]): str(told["outcome"]) for told in entry.exceptions}


def why(entry: AuditEntry) -> str:
    return str(entry.exceptions[0].get("why", ""))
