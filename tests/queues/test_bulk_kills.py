"""A bulk action whose process is killed at any moment, again and again, while a real worker consumes its jobs."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis
from django.conf import settings

from queues import operations
from queues.actions import Action
from queues.bulk import Phase
from queues.models import AuditEntry, Bulk
from queues.types import State
from tests.node import Node
from tests.policy import rounds
from tests.queues.acting import OLGA, SHOP, bulk_of
from tests.server import child_environment
from tests.valkey import Server, eventually

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.node,
    pytest.mark.soak,
    pytest.mark.usefixtures("source", "no_tasks"),
]

SEVENTH = 7  # of so many jobs one fails again
SLOWED_S = 0.02  # between what is done to Redis and what is written down: where a kill hurts most
FREE_AFTER_S = 0.3

# What the tasks do, with small batches, and ready to take over soon.
RUNS = f"""
import time
import django
django.setup()
import queues.lease
from queues.bulk import acting, freezing, lease, packing, running, verbs
queues.lease.FREE_AFTER_S = {FREE_AFTER_S}
packing.BATCH = freezing.BATCH = 200
act = verbs.act
def slowed(*given):
    results = act(*given)
    time.sleep({SLOWED_S})
    return results
verbs.act = slowed
print("ready", flush=True)
while lease.unended().exists():
    for bulk, epoch in running.resting():
        running.run(bulk, epoch, slice_s=0.5)
    time.sleep(0.02)
"""
FAIL = """
const q = queue(6, "shop");
await q.addBulk(Array.from({ length: args.jobs }, (_, n) => ({ name: "mail", data: { n }, opts: { jobId: `j${n}` } })));
const w = worker(6, "shop", async () => { throw new Error("no"); }, { concurrency: 100 });
await until(async () => (await q.getFailedCount()) === args.jobs);
await w.close();
"""
CONSUME = """
worker(6, "shop", async (job) => {
  await redis.hincrby("runs", job.id, 1);
  if (job.data.n % args.seventh === 0) throw new Error("again");
}, { concurrency: 20 });
"""


@contextmanager
def a_process(valkey_server: Server) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs whatever bulk actions there are, as soon as it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUNS],
        cwd=settings.BASE_DIR,
        env=child_environment({"REDIS_URL": valkey_server.url}),
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    try:
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def ended(bulk: Bulk) -> bool:
    return Bulk.objects.filter(pk=bulk.pk, phase=Phase.ENDED).exists()


def progressed(bulk: Bulk, beats: int) -> bool:
    """Whether somebody has taken it up since, and written something."""
    bulk.refresh_from_db()
    return bulk.beats > beats + 1 or bulk.phase == Phase.ENDED


def begin(valkey: redis.Redis, server: Server, node: Node, jobs: int) -> AuditEntry:
    """Failed jobs, a worker that takes all that is retried, and the wish to retry all."""
    node.run(FAIL, url=server.url, jobs=jobs)
    seconds, micros = valkey.time()
    node.run(CONSUME, url=server.url, seventh=SEVENTH)
    return operations.start_bulk(
        OLGA,
        SHOP,
        Action.RETRY,
        None,
        state=State.FAILED,
        expected=jobs,
        until_ms=seconds * 1000 + micros // 1000 + 1,
        parameters={"reset": False},
    )


def is_right(entry: AuditEntry, valkey: redis.Redis, jobs: int) -> None:
    """Every job was retried once, ran once, and is where it belongs; the log has an outcome for each."""
    again = len(range(0, jobs, SEVENTH))
    eventually(lambda: valkey.hlen("runs") == jobs)
    eventually(lambda: valkey.zcard("bull:shop:completed") == jobs - again)
    eventually(lambda: valkey.zcard("bull:shop:failed") == again)
    assert set(valkey.hvals("runs")) == {b"1"}
    assert valkey.llen("bull:shop:wait") == valkey.llen("bull:shop:active") == 0
    entry.refresh_from_db()
    bulk = bulk_of(entry)
    assert (entry.status, entry.asked) == ("done", jobs), entry.note
    assert (bulk.collected, bulk.handled, sum(entry.outcomes.values())) == (jobs, jobs, jobs)
    assert not bulk.batches.filter(ended=False).exists()
    found = jobs - entry.outcomes.get("done", 0)
    assert bool(found) == ("interrupted" in entry.note), (entry.outcomes, entry.note)


def test_no_job_is_lost_or_retried_twice_when_the_process_is_killed_at_random(
    valkey: redis.Redis, valkey_server: Server, node: Node, rng: random.Random
) -> None:
    kills = rounds(sample=4, soak=50)
    jobs = 600 * (kills + 3)
    entry = begin(valkey, valkey_server, node, jobs)
    bulk = bulk_of(entry)
    done = 0
    for _kill in range(kills):
        beats = bulk.beats
        with a_process(valkey_server):
            eventually(lambda beats=beats: progressed(bulk, beats))  # type: ignore[misc]
            time.sleep(rng.uniform(0, 0.15))
        done += not progressed(bulk, sys.maxsize)
    assert done >= kills // 2, "it ended before it could be killed"
    with a_process(valkey_server):
        eventually(lambda: ended(bulk))
    is_right(entry, valkey, jobs)


def test_a_process_that_was_frozen_and_overtaken_does_nothing_twice_when_it_wakes(
    valkey: redis.Redis, valkey_server: Server, node: Node, rng: random.Random
) -> None:
    freezes = rounds(sample=1, soak=15)
    jobs = 2_000 * (freezes + 2)
    entry = begin(valkey, valkey_server, node, jobs)
    bulk = bulk_of(entry)
    for _freeze in range(freezes):
        beats = bulk.beats
        with a_process(valkey_server) as first:
            eventually(lambda beats=beats: progressed(bulk, beats))  # type: ignore[misc]
            time.sleep(rng.uniform(0, 0.15))
            first.send_signal(signal.SIGSTOP)
            with a_process(valkey_server):
                time.sleep(FREE_AFTER_S + rng.uniform(0, 0.2))
                first.send_signal(signal.SIGCONT)
                time.sleep(rng.uniform(0, 0.2))
        bulk.refresh_from_db()
    with a_process(valkey_server):
        eventually(lambda: ended(bulk))
    is_right(entry, valkey, jobs)
