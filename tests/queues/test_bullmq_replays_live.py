"""Sending while real workers run, several senders ask for the same, answers are lost, and the queue is paused."""

from __future__ import annotations

import random
import threading
from collections import Counter
from typing import cast

import redis

from queues.actions import Outcome, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.sendings import Sent
from tests.node import Node
from tests.queues.moving import everywhere, places
from tests.queues.sent_jobs import DONE, OTHER, PLAN, SHOP, send
from tests.valkey import Server

JOBS = 60
FAIL = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async () => { throw new Error("no"); }, { concurrency: 20 });
await q.addBulk(Array.from({ length: args.jobs }, (_, n) =>
  ({ name: "n", data: {}, opts: { jobId: `j${n}`, ...(n % 7 ? {} : { priority: 1 + n % 3 }) } })));
await until(async () => (await q.getFailedCount()) === args.jobs);
await w.close();
"""
# Workers at work, and somebody who pauses the queue and opens it again until all is done.
WORK = """
const q = queue(args.major, "shop");
await q.waitUntilReady();
keep.worked = [];
for (const _ of [1, 2]) worker(args.major, "shop", async (job) => { keep.worked.push(job.id); await sleep(2); },
  { concurrency: 2 });
keep.over = false;
const blink = async () => { await q.pause(); await sleep(15); await q.resume(); await sleep(15); };
keep.pausing = (async () => { while (!keep.over) await blink(); })();
"""
DONE_ALL = """
await until(() => keep.worked.length >= args.jobs);
keep.over = true;
await keep.pausing;
await until(async () => (await queue(args.major, "shop").getCompletedCount()) === args.jobs);
return keep.worked;
"""


def _all(operating: BullMQActions, rng: random.Random, plan: str, told: list[Sent]) -> None:
    """Send all jobs in parts, each in any order, some of them twice."""
    ids = [f"j{number}" for number in range(JOBS)]
    rng.shuffle(ids)
    for first in range(0, JOBS, 12):
        for _again in range(rng.randint(1, 3)):
            told += send(operating, *ids[first : first + 12], seen=b"", plan=plan)


def test_each_job_runs_once_whoever_asks_and_however_often(
    major: int, *, node: Node, server: Server, operating: BullMQActions, store: redis.Redis, rng: random.Random
) -> None:
    node.run(FAIL, url=server.url, major=major, jobs=JOBS)
    node.run(WORK, url=server.url, major=major)
    told = {0: list[Sent](), 1: list[Sent](), 2: list[Sent]()}
    seeds = [random.Random(rng.random()) for _ in told]
    plans = (PLAN, PLAN, OTHER)
    threads = [
        threading.Thread(target=_all, args=(operating, seeds[number], plans[number], told[number])) for number in told
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    worked = Counter(cast("list[str]", node.run(DONE_ALL, url=server.url, major=major, jobs=JOBS)))
    assert worked == Counter({f"j{number}": 1 for number in range(JOBS)})
    assert everywhere(store) == sorted(b"j%d" % number for number in range(JOBS))
    assert list(places(store)) == ["completed"]
    sent = [one for each in told.values() for one in each if one.outcome is DONE and not one.again]
    assert sorted(one.id for one in sent) == sorted(b"j%d" % number for number in range(JOBS))
    assert {one.outcome for each in told.values() for one in each} <= {DONE, Outcome.ALREADY}


def test_what_is_taken_back_while_workers_run_either_ran_or_is_where_it_was(
    major: int, *, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(FAIL, url=server.url, major=major, jobs=JOBS)
    before = dict(cast("list[tuple[bytes, float]]", store.zrange("bull:shop:failed", 0, -1, withscores=True)))
    node.run(WORK, url=server.url, major=major)
    sent = send(operating, *[f"j{number}" for number in range(JOBS)], seen=b"")
    back: list[bytes] = []
    for first in range(JOBS - 10, -1, -10):
        some = sent[first : first + 10]
        results = operating.take_back(SHOP, [(Target(one.id), one.was or b"") for one in some])
        back += [result.id for result in results if result.outcome is DONE]
    worked = cast("list[str]", node.run(DONE_ALL, url=server.url, major=major, jobs=JOBS - len(back)))
    assert Counter(worked) == Counter(one.id.decode() for one in sent if one.id not in back)
    failed = dict(cast("list[tuple[bytes, float]]", store.zrange("bull:shop:failed", 0, -1, withscores=True)))
    assert failed == {job: before[job] for job in back}
    assert everywhere(store) == sorted(before)
