"""The application of a model: producers and workers of both majors that add, take, end, pause and resume."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import cast

import redis

from tests.node import Node

QUEUES = ("shop", "kitchen")
FAR_MS = 3_600_000

# Queues and workers of each major stay open for a whole test. Each operation gives back what came of it.
STEPS = """
const q = (major, name) => (keep[`q${major}${name}`] ??= queue(major, name));
const f = (major) => (keep[`f${major}`] ??= flow(major));
const w = (major, name) => (keep[`w${major}${name}`] ??= worker(
  major, name, null, { autorun: false, lockDuration: 600000 }));
keep.held ??= {};
async function end(job, token, how) {
  if (how === "complete") await job.moveToCompleted(1, token, false);
  if (how === "fail") await job.moveToFailed(new Error("no"), token, false);
}
const ops = {
  look: ({ major, name }) => redis.hset(`bull:${name}:meta`, "version", `bullmq:${major}.9.9`),
  add: async ({ major, name, opts }) => (await q(major, name).add("send", { n: 1 }, opts)).id,
  flow: ({ major, tree }) => f(major).add(tree),
  plan: ({ major, name, id }) => q(major, name).upsertJobScheduler(id, { pattern: "0 0 29 2 *" }, { name: "tick" }),
  pause: ({ major, name }) => q(major, name).pause(),
  resume: ({ major, name }) => q(major, name).resume(),
  erase: ({ name, id }) => redis.del(`bull:${name}:${id}`),
  take: async ({ major, name, how, token }) => {
    const job = await w(major, name).getNextJob(token, { block: false });
    if (!job?.id) return null;
    if (job.deferredFailure) await job.moveToFailed(new lib[major].UnrecoverableError("no"), token, false);
    else if (how === "lose") await redis.del(`bull:${name}:${job.id}:lock`);
    else if (how === "hold") keep.held[`${name}:${job.id}`] = [job, token];
    else await end(job, token, how);
    return job.id;
  },
  release: async ({ how }) => {
    const [key, found] = Object.entries(keep.held)[0] ?? [];
    if (!key) return null;
    delete keep.held[key];
    // A queue that was removed by force takes jobs out of their workers' hands.
    await end(...found, how).catch((error) => { if (!/Missing (key|lock)/.test(error)) throw error; });
    return key;
  },
  forget: () => { keep.held = {}; },
};
const told = [];
for (const op of args.ops) {
  await Promise.all([5, 6].flatMap((m) => ["shop", "kitchen"].map((n) => q(m, n).waitUntilReady())));
  const back = await ops[op.op](op);
  told.push(typeof back === "string" ? back : null);
}
return told;
"""
# Idle workers wait for five minutes, unless they are woken; jobs whose worker died are left to the operators.
START = """
keep.ran = [];
const opts = { drainDelay: 300, concurrency: 3, skipStalledCheck: true };
for (const [major, name] of args.workers) {
  const made = worker(major, name, async (job) => { keep.ran.push(`${name}/${job.id}`); }, opts);
  await made.waitUntilReady();
}
await sleep(30);
"""
QUIET = """
const left = async () => {
  let sum = 0;
  for (const name of ["shop", "kitchen"]) {
    for (const list of ["wait", "paused"]) sum += await redis.llen(`bull:${name}:${list}`);
    const active = await redis.lrange(`bull:${name}:active`, 0, -1);
    for (const id of active) sum += await redis.exists(`bull:${name}:${id}:lock`);
    sum += await redis.zcard(`bull:${name}:prioritized`);
  }
  return sum;
};
await until(async () => (await left()) === 0, 20000);
const ran = keep.ran;
keep.ran = [];
return ran;
"""


@dataclass(slots=True)
class Application:
    """Does what applications do, by chance. `seen` counts ids, so that each job has a name of its own."""

    node: Node
    url: str
    rng: random.Random
    majors: tuple[int, ...] = (5, 6)
    seen: int = 0

    def run(self, *ops: dict[str, object]) -> list[str | None]:
        return cast(list[str | None], self.node.run(STEPS, url=self.url, ops=ops))

    def major(self) -> int:
        return self.rng.choice(self.majors)

    def name(self) -> str:
        self.seen += 1
        return f"j{self.seen}"

    def new(self, kind: str, name: str = "shop") -> dict[str, object]:
        rank = self.rng.randint(1, 3)
        opts: dict[str, dict[str, object]] = {
            "plain": {},
            "first": {"lifo": True},
            "urgent": {"priority": rank},
            "later": {"delay": FAR_MS, "priority": self.rng.choice([0, rank])},
            "single": {"deduplication": {"id": self.rng.choice("xy")}},
        }
        return {"op": "add", "major": self.major(), "name": name, "opts": {"jobId": self.name(), **opts[kind]}}

    def family(self) -> dict[str, object]:
        """A parent and its children, in the same queue or in another; a grandchild at times."""
        above, below = self.rng.choice([("kitchen", "shop"), ("shop", "kitchen"), ("shop", "shop")])
        ties = ["", "failParentOnFailure", "ignoreDependencyOnFailure", "removeDependencyOnFailure"]

        def child(name: str, *, deep: bool) -> dict[str, object]:
            tie = self.rng.choice(ties)
            opts = {"jobId": self.name(), **({tie: True} if tie else {})}
            under = [child(above, deep=False)] if deep else []
            return {"name": "part", "queueName": name, "data": {}, "opts": opts, "children": under}

        children = [child(below, deep=self.rng.random() < 0.2) for _ in range(self.rng.randint(1, 2))]
        tree = {"name": "whole", "queueName": above, "opts": {"jobId": self.name()}, "children": children}
        return {"op": "flow", "major": self.major(), "tree": tree}

    def taking(self, how: str, name: str = "shop") -> dict[str, object]:
        return {"op": "take", "major": self.major(), "name": name, "how": how, "token": f"t{self.rng.random()}"}

    def pausing(self, op: str, major: int, name: str = "shop") -> dict[str, object]:
        return {"op": op, "major": major, "name": name}

    def start_workers(self) -> None:
        """Workers of either major at both queues, idle until they are woken."""
        workers = [(self.major(), name) for name in QUEUES]
        self.node.run(START, url=self.url, workers=workers)

    def ran_until_quiet(self) -> list[str]:
        """What they worked on, until nothing waits any more."""
        return cast(list[str], self.node.run(QUIET, url=self.url))


def harmless(store: redis.Redis, op: str, major: int, name: str) -> bool:
    """Whether the library loses no job by this alone: 5.x renames one list over the other."""
    waiting, parked = store.llen(f"bull:{name}:wait"), store.llen(f"bull:{name}:paused")
    return op not in ("pause", "resume") or major != 5 or not (waiting and parked)
