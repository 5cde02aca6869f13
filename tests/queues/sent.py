"""What tests of watching share: failed jobs of a real queue, sent as the runner sends them, and worked on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis
from django.db.models import F

from queues.actions import NewJob, Outcome
from queues.models import Replay, ReplayJob
from queues.replay.naming import job_id, job_text, seen_text, target_of
from queues.replay.receipts import receipt
from queues.replay.types import Acts, Phase, Place
from queues.replay.watching import Watching, begin
from queues.sendings import Copy, InPlace, Original
from queues.types import QueueRef, State
from tests.node import Node
from tests.queues import streams
from tests.queues.moving import put
from tests.queues.replaying import SHOP, FakeHands, a_plan, a_queue, hands
from tests.valkey import Server

# Jobs that a worker has failed. What is called "bad" fails again later, what is called "good" does not.
FAIL = """
const q = queue(args.major, "shop");
await q.addBulk(args.jobs.map(([id, name, opts]) => ({ name, data: {}, opts: { jobId: id, ...opts } })));
const w = worker(args.major, "shop", async () => { throw new Error("no"); }, { concurrency: 20 });
await until(async () => (await q.getFailedCount()) === args.jobs.length);
await w.close();
"""
# Until nothing waits and nothing runs.
WORK = """
const q = queue(args.major, args.name);
const w = worker(args.major, args.name, async (job) => {
  if (job.name === "bad") throw new Error("again");
}, { concurrency: 5, drainDelay: 1 });
await until(async () => {
  const n = await q.getJobCounts("wait", "prioritized", "active");
  return n.wait + (n.prioritized ?? 0) + n.active === 0;
});
await w.close();
"""

Made = tuple[str, str, dict[str, object]]  # id, name, options


def a_running_plan(jobs: Sequence[str | bytes], valkey: redis.Redis, **values: Any) -> Replay:
    """A plan of these failed jobs that is running."""
    ids = [job.encode() if isinstance(job, str) else job for job in jobs]
    plan = a_plan(**{"phase": Phase.RUNNING, "jobs": ids, **values})
    for row in plan.jobs.all():
        score = valkey.zscore("bull:shop:failed", job_id(row.job))
        if score is not None:
            ReplayJob.objects.filter(pk=row.pk).update(seen=seen_text(b"%d" % score))
    return plan


def failed(
    node: Node, server: Server, valkey: redis.Redis, jobs: Sequence[Made], major: int = 6, **values: Any
) -> Replay:
    """A plan of jobs that have failed by a real worker."""
    node.run(FAIL, url=server.url, major=major, jobs=jobs)
    return a_running_plan([job for job, *_rest in jobs], valkey, **values)


def work(node: Node, server: Server, major: int = 6, name: str = "shop") -> None:
    node.run(WORK, url=server.url, major=major, name=name)


def send(run: FakeHands, jobs: Sequence[str] | None = None, *, reset: bool = False) -> list[ReplayJob]:
    """Send what is ready, and write it down."""
    begin(run, [SHOP])
    sent = dispatch(run, jobs, reset=reset)
    write_down(run, sent)
    return sent


def dispatch(run: FakeHands, jobs: Sequence[str] | None = None, *, reset: bool = False) -> list[ReplayJob]:
    """Send what is ready; nobody writes it down."""
    rows = list(run.replay.jobs.filter(place=Place.READY).select_related("queue__source", "target__source"))
    rows = [row for row in rows if jobs is None or row.job in jobs]
    asked = [InPlace(target_of(row), receipt(SHOP, target_of(row).id, target_of(row).seen)) for row in rows]
    told = run.actions.send(
        SHOP, asked, state=State.FAILED, plan=run.replay.token, reset=reset, twins=True, orphans=True
    )
    for row, answer in zip(rows, told, strict=True):
        assert answer.outcome is Outcome.DONE, answer
        row.sent_ms, row.was = answer.at_ms, answer.was
    return rows


def send_copies(run: FakeHands, to: QueueRef, *, name: bytes = b"good", opts: bytes = b"{}") -> list[ReplayJob]:
    """Send a copy of each row to a queue, and write it down."""
    target = a_queue(to)
    begin(run, [to])
    rows = list(run.replay.jobs.filter(place=Place.READY).select_related("queue__source"))
    targets = [target_of(row) for row in rows]
    asked = [
        Copy(NewJob(name, b'{"n": 1}', opts), receipt(SHOP, each.id, each.seen), Original(SHOP, each, State.FAILED))
        for each in targets
    ]
    told = run.actions.send_copies(to, asked, plan=run.replay.token, new_ids=True)
    for row, answer in zip(rows, told, strict=True):
        assert answer.outcome is Outcome.DONE, answer
        row.sent_ms, row.made, row.target, row.acts = answer.at_ms, job_text(answer.made), target, Acts.COPY
    write_down(run, rows)
    return rows


def write_down(run: FakeHands, rows: Sequence[ReplayJob]) -> None:
    for row in rows:
        row.place = Place.SENT
    ReplayJob.objects.bulk_update(rows, ["place", "sent_ms", "was", "made", "target", "acts"])
    Replay.objects.filter(pk=run.replay.pk).update(sent=F("sent") + len(rows))
    run.replay.sent += len(rows)


def watch(plan: Replay, **values: Any) -> Replay:
    """One step of somebody who knows nothing yet; the plan as it is then."""
    Watching(hands(plan, **values)).step()
    return Replay.objects.get(pk=plan.pk)


def fates(plan: Replay) -> dict[str, str]:
    """What became of each job, as far as it is known."""
    return dict(plan.jobs.order_by("pk").values_list("job", "fate"))


def in_memory(valkey: redis.Redis, jobs: Sequence[str], *, sent_ms: int | None = None, **values: Any) -> Replay:
    """A plan whose jobs were sent a moment ago, and wait."""
    plan = a_running_plan(jobs, valkey, **values)
    for job in jobs:
        put(valkey, job, "wait")
    begin(hands(plan), [SHOP])
    seconds, micros = valkey.time()
    now = seconds * 1000 + micros // 1000 if sent_ms is None else sent_ms
    plan.jobs.update(place=Place.SENT, sent_ms=now)
    Replay.objects.filter(pk=plan.pk).update(sent=len(jobs))
    plan.refresh_from_db()
    return plan


def told(valkey: redis.Redis, word: str, job: str, *, entry: str = "*", prev: str = "") -> None:
    streams.write(valkey, "event", word, "jobId", job, *(("prev", prev) if prev else ()), entry=entry)
