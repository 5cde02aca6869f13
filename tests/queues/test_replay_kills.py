"""Plans whose worker is killed at any point of their life, again and again: nothing is lost, nothing is sent twice."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import cast

import pytest
import redis
from django.conf import settings

from queues.audit.types import Status
from queues.models import Replay
from queues.replay import making, steering
from queues.replay.limits import change
from queues.replay.terms import KeyFailed, Originals, Terms
from queues.replay.types import Phase, Place
from queues.types import QueueRef, State
from tests.node import Node
from tests.policy import rounds
from tests.queues.replaying import OLGA, QUIET, SHOP, a_queue
from tests.queues.runs import Fuse, deadly, fail, killed_until, ran, told, until, work
from tests.server import child_environment
from tests.valkey import Server, eventually

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.soak,
    pytest.mark.usefixtures("source", "no_tasks", "no_index", "small_batches"),
]

OTHER = QueueRef("main", b"bull", b"other")
IDS = [f"j{number}" for number in range(60)]
FREE_AFTER_S = 0.3
KEYS = 6  # each of so many jobs in turn has the same key
BAD = {"j7", "j31"}


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many points in a short life."""
    monkeypatch.setattr("queues.replay.run.sending.BATCH", 10)
    monkeypatch.setattr("queues.replay.run.recording.BATCH", 10)
    monkeypatch.setattr("queues.replay.run.copying.CHUNK", 5)
    monkeypatch.setattr("queues.replay.run.going.SENDING_S", 0.0)


@dataclass(frozen=True)
class Life:
    """A way to live, and what must hold at its end.

    `ordered`: jobs run in their order, or those of each key do. Without `keep` those that complete are gone at once.
    """

    terms: Terms
    queue: str  # that jobs go to
    ordered: bool = True
    keep: bool = True

    def begin(self, client: redis.Redis) -> Replay:
        fail(client, IDS, keys=KEYS)
        change(OLGA, largest=None, fastest=None, approval=None, undo_s=0, typed=1_000)
        a_queue(OTHER)
        return making.of_state(OLGA, SHOP, State.FAILED)

    def work(self, client: redis.Redis) -> None:
        work(client, self.queue, most=7, bad=BAD, keep=self.keep)

    def is_right(self, client: redis.Redis, plan: Replay) -> None:
        ended = {*_set(client, self.queue, "completed"), *_set(client, self.queue, "failed")}
        assert Counter(ran(client)) == Counter(IDS)
        assert ended == (set(IDS) if self.keep else BAD)
        if self.ordered:
            assert ran(client) == IDS
        if self.terms.key:
            place = {job: number for number, job in enumerate(ran(client))}
            for key in range(KEYS):
                assert sorted(IDS[key::KEYS], key=place.__getitem__) == IDS[key::KEYS]
        assert (plan.sent, plan.completed, plan.failed, plan.other) == (60, 58, 2, 0), told(plan)
        assert not plan.jobs.exclude(place=Place.SENT).exists()
        assert plan.entry
        assert plan.entry.status == Status.DONE
        assert plan.entry.outcomes == {"completed": 58, "failed": 2}


CANARY = Life(replace(QUIET, canary=5, canary_failed=4, stop_percent=50), "shop", ordered=False)
IN_PLACE = Life(replace(QUIET, pace_from=400.0, pace_to=None, double_s=1), "shop", keep=False)
KEYED = Life(replace(QUIET, key="key", key_failed=KeyFailed.GO_ON, canary=4, canary_failed=3), "shop", ordered=False)
COPIED = Life(replace(QUIET, acts_copy=True, target="other", originals=Originals.WHEN_SENT), "other")
KEPT = Life(replace(QUIET, acts_copy=True, target="other", originals=Originals.WHEN_DONE), "other")
LIVES = {
    "in place": IN_PLACE,
    "with a canary": CANARY,
    "in the order of keys": KEYED,
    "copied": COPIED,
    "copied and kept until done": KEPT,
}


def _set(client: redis.Redis, queue: str, state: str) -> list[str]:
    return [job.decode() for job in cast("list[bytes]", client.zrange(f"bull:{queue}:{state}", 0, -1))]


def live(life: Life, client: redis.Redis, fuse: Fuse, points: Iterator[int]) -> tuple[Replay, int]:
    """From the wish to the end, killed at these points."""
    plan = life.begin(client)
    with deadly(fuse):
        kills = killed_until(plan, {Phase.DRAFT}, fuse, points)
    steering.save(OLGA, plan, life.terms)
    with deadly(fuse):
        kills += killed_until(plan, {Phase.DRAFT}, fuse, points)
    steering.start(OLGA, plan, life.terms)
    with deadly(fuse):
        kills += killed_until(plan, {Phase.DONE}, fuse, points, lambda: life.work(client))
    return plan, kills


@pytest.mark.parametrize("_again", range(rounds(sample=1, soak=20)))
@pytest.mark.parametrize("name", LIVES)
def test_a_plan_that_is_killed_at_random_points_sends_each_job_once_and_in_its_order(
    name: str, _again: int, valkey: redis.Redis, rng: random.Random
) -> None:
    life = LIVES[name]
    points = (rng.randint(0, 25) for _kill in range(100))
    plan, kills = live(life, valkey, Fuse(), points)
    assert kills > 10
    life.is_right(valkey, plan)


# What the tasks do, ready to take over soon.
RUNS = f"""
import time
import django
django.setup()
import queues.lease
from queues.replay.run import ending, running, sending
queues.lease.FREE_AFTER_S = {FREE_AFTER_S}
ending.EXPLAINED_S = -1.0
sending.BATCH = 50
print("ready", flush=True)
while running.unended().exists():
    for replay, epoch in running.resting():
        running.run(replay, epoch, slice_s=0.5)
    time.sleep(0.01)
"""
FAIL = """
const q = queue(6, "shop");
await q.addBulk(Array.from({ length: args.jobs }, (_, n) => ({
  name: "mail", data: { n, key: `k${n % args.keys}` }, opts: { jobId: `j${n}` } })));
const w = worker(6, "shop", async () => { throw new Error("no"); }, { concurrency: 100 });
await until(async () => (await q.getFailedCount()) === args.jobs);
await w.close();
"""
# Four workers. `running` holds the keys of the jobs that run: none may be there twice.
CONSUME = """
for (let i = 0; i < 4; i++) worker(6, "shop", async (job) => {
  if (await redis.hincrby("running", job.data.key, 1) > 1) await redis.incr("at once");
  await redis.rpush("ran", job.id);
  await redis.hincrby("running", job.data.key, -1);
  if (job.data.n % 7 === 0) throw new Error("again");
}, { concurrency: 5 });
"""


@contextmanager
def a_process(server: Server) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs whatever plans there are, as soon as it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUNS],
        cwd=settings.BASE_DIR,
        env=child_environment({"REDIS_URL": server.url}),
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


@pytest.mark.node
@pytest.mark.django_db(transaction=True)
def test_jobs_of_a_key_keep_their_order_with_four_workers_while_the_process_that_sends_is_killed(
    valkey: redis.Redis, valkey_server: Server, node: Node, rng: random.Random
) -> None:
    kills = rounds(sample=2, soak=30)
    jobs, keys = 150 * (kills + 1), 40
    node.run(FAIL, url=valkey_server.url, jobs=jobs, keys=keys)
    change(OLGA, largest=None, fastest=None, approval=None, undo_s=0, typed=10_000)
    plan = making.of_state(OLGA, SHOP, State.FAILED)
    terms = replace(QUIET, key="key", key_failed=KeyFailed.GO_ON)
    until(plan, Phase.DRAFT)
    steering.save(OLGA, plan, terms)
    until(plan, Phase.DRAFT)
    node.run(CONSUME, url=valkey_server.url)
    steering.start(OLGA, plan, terms)
    for _kill in range(kills):
        beats = plan.beats
        with a_process(valkey_server):
            eventually(lambda beats=beats: progressed(plan, beats))  # type: ignore[misc]
            time.sleep(rng.uniform(0, 0.3))
        plan.refresh_from_db()
    with a_process(valkey_server):
        eventually(lambda: Replay.objects.filter(pk=plan.pk, phase=Phase.DONE).exists())
    plan.refresh_from_db()
    order = [int(job.removeprefix("j")) for job in ran(valkey)]
    again = len(range(0, jobs, 7))
    assert sorted(order) == list(range(jobs))
    for key in range(keys):
        assert [number for number in order if number % keys == key] == list(range(key, jobs, keys))
    assert valkey.get("at once") is None
    assert (plan.sent, plan.completed, plan.failed) == (jobs, jobs - again, again)


def progressed(plan: Replay, beats: int) -> bool:
    """Whether somebody has taken it up since, and written something."""
    plan.refresh_from_db()
    return plan.beats > beats + 2 or plan.phase == Phase.DONE
