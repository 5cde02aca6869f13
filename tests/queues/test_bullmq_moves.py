"""Two majors and we work on one queue in turn, paused and opened by either: each job is there once, and is done."""

from __future__ import annotations

import random
from collections.abc import Callable

import redis

from queues.actions import LAST_RUN_MS, Result
from queues.backends.bullmq.actions import BullMQActions
from queues.quantities import HOUR, now_ms
from queues.types import QueueRef, State
from tests.node import Node
from tests.policy import rounds
from tests.queues.moving import everywhere, places, targets
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
LISTS = ("bull:shop:wait", "bull:shop:paused")

# A queue of each major stays open for a whole run, and says its version whenever it is opened anew.
STEP = """
const q = (keep[args.major] ??= queue(args.major, "shop"));
await q.waitUntilReady();
const opts = { jobId: args.id, timestamp: args.at };
await ({
  look: async () => { await redis.hset("bull:shop:meta", "version", `bullmq:${args.major}.9.9`); },
  add: () => q.add("job", {}, opts),
  first: () => q.add("job", {}, { ...opts, lifo: true }),
  urgent: () => q.add("job", {}, { ...opts, priority: 3 }),
  later: () => q.add("job", {}, { ...opts, timestamp: undefined, delay: 3600000 }),
  pause: () => q.pause(),
  resume: () => q.resume(),
  fail: async () => {
    const w = worker(args.major, "shop", async () => { throw new Error("no"); }, { autorun: false });
    const job = await w.getNextJob("t");
    if (job?.id) await job.moveToFailed(new Error("no"), "t", false);
    await w.close();
  },
  lose: async () => {
    const w = worker(args.major, "shop", null, { autorun: false });
    const job = await w.getNextJob("t");
    if (job?.id) await redis.del(`bull:shop:${job.id}:lock`);
    await w.close();
  },
})[args.op]();
"""
FINISH = """
const q = queue(args.major, "shop");
await q.waitUntilReady();
await q.resume();
worker(args.major, "shop", async () => 1);
await until(async () => (await q.getCompletedCount()) === args.count);
"""
THEIRS = ("look", "add", "add", "first", "urgent", "later", "pause", "pause", "resume", "fail", "fail", "lose")


def test_whatever_two_majors_and_we_do_in_turn_no_job_is_lost_or_doubled_and_all_are_worked_on(
    node: Node, server: Server, operating: BullMQActions, store: redis.Redis, rng: random.Random
) -> None:
    for _round in range(rounds(sample=4, soak=100)):
        node.reset()
        store.flushall()
        done, added = [], 0
        for number in range(30):
            if rng.random() < 0.5:
                done.append(_ours(operating, store, rng))
                continue
            major, op = rng.choice([5, 6]), rng.choice(THEIRS)
            if not _harmless(store, major, op):
                continue
            node.run(STEP, url=server.url, major=major, op=op, id=f"job-{number}", at=number + 1)
            added += op in ("add", "first", "urgent", "later")
            done.append(f"{major}.x {op}")
            assert len(everywhere(store)) == added, done
        _all_to_wait(operating, store)
        last = 5 if _harmless(store, 5, "resume") else 6
        node.run(FINISH, url=server.url, major=last, count=added)
        assert places(store) == ({"completed": places(store)["completed"]} if added else {}), done


def _ours(operating: BullMQActions, store: redis.Redis, rng: random.Random) -> str:
    """One of our actions, for jobs that are where it wants them or not."""
    before, both = everywhere(store), _both(store)
    chosen = targets(*rng.sample(before, min(len(before), rng.randint(1, 3))))
    acts: dict[str, Callable[[], list[Result]]] = {
        "retry": lambda: [*operating.retry(SHOP, chosen, state=State.FAILED, reset=rng.random() < 0.5)],
        "promote": lambda: [*operating.promote(SHOP, chosen)],
        "delay": lambda: [*operating.delay(SHOP, chosen, run_at_ms=rng.choice([now_ms() + HOUR, LAST_RUN_MS]))],
        "priority": lambda: [*operating.priority(SHOP, chosen, priority=rng.choice([0, 3, 9]))],
        "fail": lambda: [*operating.fail(SHOP, chosen, reason="gone")],
        "requeue": lambda: [*operating.requeue(SHOP, chosen)],
    }
    name = rng.choice(list(acts))
    results = acts[name]()
    assert [result.id for result in results] == [target.id for target in chosen]
    assert everywhere(store) == before, name
    assert both or not _both(store), f"{name}: a later resume by 5.x would lose what waits"
    return f"{name} {[(result.id, result.outcome.value) for result in results]}"


def _both(store: redis.Redis) -> bool:
    """Whether a paused queue holds jobs in both lists: 5.x renames one over the other when it resumes."""
    waiting, parked = map(store.llen, LISTS)
    return bool(store.hexists("bull:shop:meta", "paused") and waiting and parked)


def _harmless(store: redis.Redis, major: int, op: str) -> bool:
    """Whether the library loses no job by this alone, as it does where two majors pause and add in turn."""
    waiting, parked = map(store.llen, LISTS)
    if op in ("pause", "resume") and major == 5:
        return not (waiting and parked)
    if op in ("add", "first") and store.hexists("bull:shop:meta", "paused"):
        return not (parked if major == 6 else waiting)
    return True


def _all_to_wait(operating: BullMQActions, store: redis.Redis) -> None:
    found = places(store)
    operating.requeue(SHOP, targets(*found.get("active", ())))
    operating.retry(SHOP, targets(*found.get("failed", ())), state=State.FAILED, reset=True)
    operating.promote(SHOP, targets(*found.get("delayed", ())))
    assert not set(places(store)) - {"wait", "paused", "prioritized"}
