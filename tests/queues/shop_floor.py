"""Real queues with real workers, plans over them to their end, and what must hold of every job then.

Workers write what they do into a file of their own, so that it is known whatever a server forgets.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import cast

import redis
from django.db import DatabaseError, connection

from queues.audit.types import Status
from queues.errors import QueueError
from queues.failures.occurrences import Which
from queues.models import Failure, FailureGroup, Replay
from queues.replay import making, steering
from queues.replay.terms import AfterLoss, KeyFailed, Patch, PatchKind, Terms
from queues.replay.types import Phase, Place, Stop
from queues.types import QueueRef, State
from tests.node import Node
from tests.queues.replaying import OLGA, QUIET, a_queue
from tests.valkey import eventually

KEYS = 7  # each of so many jobs in turn has the same key
BAD = 9  # each of so many fails again

# Under an id that is made of the job's, so that none is posted twice.
POST = """
const post = (box, job, error) => box.add("dead", { queue: job.queueName, jobId: job.id, name: job.name,
  data: job.data, failedAt: job.finishedOn ?? Date.now(), attempts: job.attemptsMade, error: error.message },
  { jobId: `of-${job.id}` });
"""
# Jobs that a worker fails, with a letter for each where `args.letters` names a queue of them.
FAIL = """
const fs = process.getBuiltinModule("node:fs");
const q = queue(args.major, args.name);
const box = args.letters ? queue(args.major, args.letters) : null;
const since = Date.now() - 600000;
const jobs = Array.from({ length: args.jobs }, (_, n) => ({
  name: "mail", data: { n, key: `k${n % args.keys}`, bad: n % args.bad === 0 },
  opts: { jobId: `${args.name}-${n}`, timestamp: since + n, removeOnFail: Boolean(box) } }));
const w = worker(args.major, args.name, async (job) => {
  fs.appendFileSync(args.file, JSON.stringify([args.name, job.id, job.data.n, "first", 0]) + "\\n");
  throw new Error(`order of ${args.name} cannot be sent`);
}, { concurrency: 50 });
let posted = 0;
if (box) w.on("failed", async (job, error) => {
  await post(box, job, error);
  posted += 1;
});
for (let from = 0; from < jobs.length; from += 1000) await q.addBulk(jobs.slice(from, from + 1000));
await until(async () => (box ? posted : await q.getFailedCount()) === args.jobs);
await w.close();
"""
# Workers that go on working until the end. What is fixed does not fail; for what fails a letter is posted as before.
CONSUME = """
const fs = process.getBuiltinModule("node:fs");
const box = args.letters ? queue(args.major, args.letters) : null;
const note = (job, what) =>
  fs.appendFileSync(args.file, JSON.stringify([args.name, job.id, job.data.n, what, job.stalledCounter ?? 0]) + "\\n");
for (let i = 0; i < args.workers; i++) {
  const w = worker(args.major, args.name, async (job) => {
    note(job, "begun");
    await sleep(Math.random() * args.ms);
    const bad = job.data.bad && !job.data.fixed;
    note(job, bad ? "failed" : "completed");
    if (bad) throw new Error("again");
  }, { concurrency: 3 });
  if (box) w.on("failed", (job, error) => job && post(box, job, error));
}
"""


@dataclass(frozen=True)
class Deed:
    """What a worker wrote down: of which job of which queue, the number of that, and "first" where it failed at first.

    `stalled`: BullMQ itself had given it to a worker once more.
    """

    queue: str
    job: str
    number: int
    what: str
    stalled: int


@dataclass
class Floor:
    """The servers, workers and the file in which workers write."""

    node: Node
    url: str
    client: redis.Redis
    file: Path

    def fail(self, major: int, name: str, jobs: int, letters: str = "") -> None:
        """Jobs of a queue are added, and all fail."""
        told = {"major": major, "name": name, "jobs": jobs, "keys": KEYS, "bad": BAD, "letters": letters}
        self.node.run(POST + FAIL, url=self.url, file=str(self.file), **told)

    def work(self, major: int, name: str, letters: str = "", *, workers: int = 2, ms: int = 20) -> None:
        """Workers wait for what comes, and need up to so many ms for each."""
        told = {"major": major, "name": name, "workers": workers, "ms": ms, "letters": letters}
        self.node.run(POST + CONSUME, url=self.url, file=str(self.file), **told)

    def deeds(self, name: str) -> list[Deed]:
        """What workers did to the jobs of a queue, in its order."""
        found = [Deed(*json.loads(line)) for line in self.file.read_text().splitlines()]
        return [deed for deed in found if deed.queue == name]

    def stock(self, name: str) -> Mapping[str, str]:
        """All jobs of a queue and where they are; none may be at two places."""
        found: dict[str, str] = {}
        for place in ("wait", "paused", "active"):
            found |= self._once(found, place, self.client.lrange(f"bull:{name}:{place}", 0, -1))
        for place in ("prioritized", "delayed", "completed", "failed"):
            found |= self._once(found, place, self.client.zrange(f"bull:{name}:{place}", 0, -1))
        return found

    @staticmethod
    def _once(known: Mapping[str, str], place: str, jobs: object) -> Mapping[str, str]:
        ids = [job.decode() for job in cast("list[bytes]", jobs) if not job.startswith(b"0:")]
        assert len(set(ids)) == len(ids), f"twice in {place}"
        assert not known.keys() & set(ids), f"in {place} and elsewhere"
        return dict.fromkeys(ids, place)


@dataclass
class Life:
    """A plan over a queue of its own, from its wish to its end. `waits`: how often a person was asked after a loss."""

    name: str
    terms: Terms
    jobs: int
    major: int = 6
    letters: bool = False
    edited: bool = False
    cancels: bool = False
    waits: int = 0
    plan: Replay | None = None
    noted: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        phase = self.plan.phase if self.plan else "not made"
        return f"{self.name}: {self.plan} is {phase}; asked {self.waits} times; {dict(Counter(self.noted))}"

    @cached_property
    def ref(self) -> QueueRef:
        return QueueRef("main", b"bull", self.name.encode())

    @cached_property
    def dead(self) -> QueueRef:
        return QueueRef("main", b"bull", f"{self.name}-dlq".encode())

    def begin(self, floor: Floor) -> None:
        """Its jobs fail, and workers wait for what comes."""
        a_queue(self.ref)
        if self.letters:
            a_queue(self.dead)
        box = f"{self.name}-dlq" if self.letters else ""
        floor.fail(self.major, self.name, self.jobs, box)
        floor.work(self.major, self.name, box)

    def step(self) -> bool:
        """What a person does now, if anything; True when the plan has ended."""
        try:
            return self._step()
        except QueueError as error:
            self.noted.append(f"refused: {error}")
        except DatabaseError as error:
            self.noted.append(f"database: {str(error)[:30]}")
            connection.close()
        return False

    def _step(self) -> bool:
        if self.plan is None:
            self.plan = self._made()
            return False
        plan = self.plan
        plan.refresh_from_db()
        if plan.phase == Phase.DRAFT:
            steering.start(OLGA, plan, self.terms)
        elif plan.phase == Phase.PAUSED:
            assert plan.why == Stop.LOST, plan.why
            assert self.terms.after_loss is AfterLoss.WAIT
            self.waits += 1
            steering.go_on(OLGA, plan)
        elif plan.phase == Phase.RUNNING and self.cancels and plan.sent >= self.jobs // 3:
            steering.cancel(OLGA, plan, take_back=True)
        assert plan.phase not in (Phase.STOPPED, Phase.DECIDING, Phase.FAILED), f"{plan} {plan.why} {plan.note}"
        return plan.phase in (Phase.DONE, Phase.CANCELLED)

    def _made(self) -> Replay | None:
        if self.letters:
            return making.of_letters(OLGA, self.dead)
        if not self.edited:
            return making.of_state(OLGA, self.ref, State.FAILED)
        known = Failure.objects.filter(queue__slug=self.name, in_set=True)
        if known.count() < self.jobs:
            return None  # until the index has read them
        group = FailureGroup.objects.get(pk=known[0].strand.group_id)
        return making.of_group(OLGA, group, Which(queue=self.ref.slug))

    def check(self, floor: Floor) -> None:
        """What must hold of every job, whatever was killed on the way."""
        assert self.plan
        plan = self.plan
        deeds = [deed for deed in floor.deeds(self.name) if deed.what != "first"]
        begun = Counter(deed.number for deed in deeds if deed.what == "begun" and not deed.stalled)
        assert set(begun.values()) <= {1}, f"sent twice: {[n for n, times in begun.items() if times > 1]}"
        ended = {deed.number: deed.what for deed in deeds if deed.what != "begun"}
        rows = list(plan.jobs.order_by("rank", "pk"))
        assert len(rows) == self.jobs
        numbers = {row.pk: self._number(row.job) for row in rows}
        told = {numbers[row.pk]: row.fate for row in rows if row.place == Place.SENT}
        odd = {n: (told.get(n), ended.get(n)) for n in range(self.jobs) if told.get(n) != ended.get(n)}
        if self.cancels:  # what ran by then is left alone, and stands as it was last seen
            odd = {n: each for n, each in odd.items() if each[0] not in ("", "waiting", "running")}
        assert not odd, f"the ledger and the workers: {odd}, {[deed for deed in deeds if deed.number in odd]}"
        back = [numbers[row.pk] for row in rows if row.place == Place.BACK]
        assert sorted([*told, *back]) == list(range(self.jobs))
        assert bool(back) == self.cancels
        counts = Counter(told.values())
        assert (plan.sent, plan.completed, plan.failed) == (len(told), counts["completed"], counts["failed"])
        assert (plan.other, plan.refused, plan.back, plan.to_send) == (0, 0, len(back), 0)
        assert plan.entry
        assert plan.entry.status == (Status.STOPPED if self.cancels else Status.DONE)
        self._conserved(floor, ended)
        if self.terms.key:
            self._ordered(deeds)
        elif not self.cancels and not self.terms.canary:
            order = [numbers[row.pk] for row in sorted(rows, key=lambda row: (row.sent_ms or 0, row.rank, row.pk))]
            assert order == [numbers[row.pk] for row in rows]

    def _conserved(self, floor: Floor, ended: Mapping[int, str]) -> None:
        """Each job is at one place, and that is where it should be."""
        stock = floor.stock(self.name)
        if self.letters:  # of those that failed again, and of no others
            again = {number for number, what in ended.items() if what == "failed"}
            box = f"{self.name}-dlq"
            eventually(lambda: {self._number(job) for job in floor.stock(box)} == again)
        if not self.edited:
            assert {self._number(job): place for job, place in stock.items()} == {
                number: ended.get(number, "failed") for number in range(self.jobs)
            }
            return
        assert Counter(stock.values()) == Counter({"completed": self.jobs})

    @staticmethod
    def _ordered(deeds: Sequence[Deed]) -> None:
        """Jobs of a key run in their order, and never at once."""
        by_key: dict[int, list[Deed]] = defaultdict(list)
        for deed in deeds:
            by_key[deed.number % KEYS].append(deed)
        for some in by_key.values():
            turns = [(deed.number, deed.what == "begun") for deed in some]
            assert turns == [(number, begun) for number in sorted({n for n, _b in turns}) for begun in (True, False)]

    @staticmethod
    def _number(job: str) -> int:
        return int(job.rpartition("-")[2])


def lives(jobs: int, seconds: int, turn: int = 0) -> list[Life]:
    """One of each kind, on queues of their own."""
    sends = replace(QUIET, pace_from=jobs / seconds, pace_to=4 * jobs / seconds, double_s=max(1, seconds // 4))
    keyed = replace(QUIET, key="key", key_failed=KeyFailed.GO_ON, canary=5, canary_failed=4)
    waits = replace(sends, after_loss=AfterLoss.WAIT)
    edited = replace(sends, patch=Patch(PatchKind.MERGE, '{"fixed": true}'))
    name = f"{turn}" if turn else ""
    return [
        Life(f"inplace{name}", sends, jobs, 6),
        Life(f"keyed{name}", keyed, jobs, 5),
        Life(f"letters{name}", sends, jobs, 6, letters=True),
        Life(f"edited{name}", edited, jobs, 5, edited=True),
        Life(f"waits{name}", waits, jobs, 5),
        Life(f"cancelled{name}", sends, jobs, 6, cancels=True),
    ]
