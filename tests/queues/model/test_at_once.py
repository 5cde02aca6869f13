"""Producers and workers of both majors at full speed while operators act: executions and outcomes add up."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import cast

import pytest
import redis

from queues.actions import BATCH, Clock, Outcome, Result, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.types import State
from tests.node import Node
from tests.policy import rounds
from tests.queues.model.cases import SHOP
from tests.queues.moving import everywhere, places
from tests.queues.sweeping import to_the_end
from tests.valkey import Server

pytestmark = pytest.mark.node

# Every third job fails whenever it is run for an odd time; each run is counted.
BUSY = """
keep.ran = {}; keep.added = []; keep.stop = false;
const kinds = [{}, { lifo: true }, { priority: 2 }, { delay: 5 }, { delay: 3600000, priority: 1 }];
const work = async (job) => {
  const times = keep.ran[job.id] = (keep.ran[job.id] ?? 0) + 1;
  await sleep(1);
  if (Number(job.id.slice(1)) % 3 === 0 && times % 2) throw new Error("no");
};
for (const major of args.workers) {
  worker(major, "shop", work, { concurrency: 4, drainDelay: 300, skipStalledCheck: true });
}
keep.producing = (async () => {
  const queues = args.producers.map((major) => queue(major, "shop"));
  for (let n = 0; !keep.stop && n < args.most; n += 1) {
    const job = await queues[n % queues.length].add("send", { n }, { jobId: `j${n}`, ...kinds[n % kinds.length] });
    keep.added.push(job.id);
    await sleep(2);
  }
})();
"""
STOP = "keep.stop = true; await keep.producing; return keep.added;"
QUIET = """
const q = queue(6, "shop");
await until(async () => {
  const at = await Promise.all(["wait", "paused", "active"].map((name) => redis.llen(`bull:shop:${name}`)));
  return at.every((n) => n === 0) && !(await redis.zcard("bull:shop:prioritized"));
}, 30000);
return keep.ran;
"""


@dataclass(slots=True)
class Operators:
    """Two people, each in a thread, who press buttons for some time; what each press did is added up."""

    store: redis.Redis
    actions: BullMQActions
    done: dict[str, Counter[str]] = field(default_factory=lambda: {"again": Counter(), "gone": Counter()})
    swept: int = 0
    errors: list[BaseException] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def press(self, rng: random.Random, seconds: float) -> None:
        until = time.monotonic() + seconds
        buttons = [self._again, self._promote, self._rank, self._remove, self._pause, self._clean, self._drain]
        try:
            while time.monotonic() < until:
                rng.choice(buttons)(rng)
                time.sleep(rng.random() * 0.01)
        except BaseException as error:
            self.errors.append(error)

    def _some(self, rng: random.Random, *states: str) -> list[Target]:
        found = [job for state in states for job in places(self.store).get(state, ())]
        return [Target(job) for job in rng.sample(found, min(len(found), 20))]

    def _note(self, what: str, results: list[Result]) -> None:
        with self.lock:
            self.done[what].update(one.id.decode() for one in results if one.outcome is Outcome.DONE)

    def _again(self, rng: random.Random) -> None:
        state = rng.choice([State.FAILED, State.FAILED, State.COMPLETED])
        self._note("again", [*self.actions.retry(SHOP, self._some(rng, state.value), state=state, reset=False)])

    def all_again(self) -> None:
        """What failed or is delayed goes on."""
        failed, later = ([Target(job) for job in places(self.store).get(state, [])] for state in ("failed", "delayed"))
        for at in range(0, len(failed), BATCH):
            some = failed[at : at + BATCH]
            self._note("again", [*self.actions.retry(SHOP, some, state=State.FAILED, reset=False)])
        for at in range(0, len(later), BATCH):
            self.actions.promote(SHOP, later[at : at + BATCH])

    def _promote(self, rng: random.Random) -> None:
        self.actions.promote(SHOP, self._some(rng, "delayed"))

    def _rank(self, rng: random.Random) -> None:
        chosen = self._some(rng, "wait", "paused", "prioritized", "delayed")
        self.actions.priority(SHOP, chosen, priority=rng.choice([0, 1, 9]))

    def _remove(self, rng: random.Random) -> None:
        chosen = self._some(rng, "wait", "prioritized", "delayed", "active", "completed")[:2]
        self._note("gone", [*self.actions.remove(SHOP, chosen, state=None, children=True)])

    def _pause(self, rng: random.Random) -> None:
        to_the_end(lambda _at: self.actions.pause(SHOP))
        time.sleep(rng.random() * 0.02)
        to_the_end(lambda _at: self.actions.resume(SHOP))

    def _clean(self, rng: random.Random) -> None:
        if rng.random() < 0.1:
            before = int(time.time() * 1000) - 300
            self._sweep(
                lambda at: self.actions.clean(SHOP, State.COMPLETED, clock=Clock.FINISHED, before_ms=before, cursor=at)
            )

    def _drain(self, rng: random.Random) -> None:
        if rng.random() < 0.1:
            before = int(time.time() * 1000) - 300
            self._sweep(lambda at: self.actions.drain(SHOP, delayed=True, until_ms=before, cursor=at))

    def _sweep(self, step: object) -> None:
        gone, _kept = to_the_end(step)  # type: ignore[arg-type]
        with self.lock:
            self.swept += gone


@pytest.mark.soak
@pytest.mark.parametrize("majors", [(5,), (6,), (5, 6)], ids=["5", "6", "both"])
def test_while_all_act_at_once_no_job_is_lost_and_each_runs_as_often_as_asked(
    *,
    majors: tuple[int, ...],
    node: Node,
    server: Server,
    store: redis.Redis,
    operating: BullMQActions,
    rng: random.Random,
) -> None:
    people = Operators(store, operating)
    node.run(BUSY, url=server.url, workers=majors, producers=majors, most=rounds(sample=400, soak=20_000))
    seconds = rounds(sample=1, soak=20)
    seeds = [rng.random(), rng.random()]
    threads = [threading.Thread(target=people.press, args=(random.Random(seed), seconds)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not people.errors, people.errors
    added = cast(list[str], node.run(STOP, url=server.url))
    to_the_end(lambda _at: operating.resume(SHOP))
    ran: Counter[str] = Counter()
    for _again in range(4):
        people.all_again()
        ran = Counter(cast(dict[str, int], node.run(QUIET, url=server.url)))
    _adds_up(people, added, ran)


def _adds_up(people: Operators, added: list[str], ran: Counter[str]) -> None:
    """Every job that was added has completed, or was said to be removed; each ran once, and once for each retry."""
    left = [job.decode() for job in everywhere(people.store)]
    assert set(places(people.store)) <= {"completed"}
    assert len(left) == len(set(left))
    keys = cast(list[bytes], people.store.keys("bull:shop:j*"))
    assert {name for key in keys if ":" not in (name := key.decode().split(":", 2)[2])} == set(left), "in limbo"
    again, gone = people.done["again"], people.done["gone"]
    removed = gone.total() + people.swept
    print(f"{len(added)} added, {removed} removed, {again.total()} retried, {ran.total()} runs")
    assert len(added) == len(left) + removed
    assert max(gone.values(), default=1) == 1, "removed twice"
    for job in left:
        assert ran[job] == 1 + again[job], f"{job} ran {ran[job]} times"
    for job in set(added) - set(left):
        assert ran[job] <= 1 + again[job]
