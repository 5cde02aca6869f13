"""Trials by other people's bug reports, as far as they concern replays and no other test proves them yet.

Two plans that send at once, and workers beside them: `test_bullmq_replays_live`, `test_replay_kills` (AC-01, AC-04).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
import redis

from queues import registry
from queues.errors import WrongState
from queues.failures.occurrences import Which
from queues.models import FailureGroup, Replay, ReplayLimits
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.replay import making, steering
from queues.replay.run import troubles
from queues.replay.terms import Originals, Patch, PatchKind, Terms
from queues.replay.types import Acts, Choice, Phase, Place, Stop
from queues.sendings import Conflict
from queues.types import QueueRef, State
from tests.node import Node
from tests.queues.indexing import indexer, settle
from tests.queues.replaying import DEAD, OLGA, QUIET, SHOP, a_queue, freeze, letter
from tests.queues.runs import a_plan_of, a_slice, fail, ran, until, work
from tests.valkey import Server, StartRedis

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("source", "no_tasks", "no_index")]

MAJORS = [5, 6]
TWO = replace(OLGA, key="again")
DAY_MS = 86_400_000


@pytest.fixture(autouse=True)
def _at_once() -> None:
    ReplayLimits.objects.create(pk=1, undo_s=0)


def run(plan: Replay, terms: Terms, between: Callable[[], object] = lambda: None) -> Replay:
    """A plan as it was just made, by these terms, to its end."""
    plan = freeze(plan)
    steering.save(OLGA, plan, terms)
    plan = freeze(plan)
    steering.start(OLGA, plan, terms)
    return until(plan, Phase.DONE, between=between)


def found(plan: Replay) -> dict[str, str]:
    """What is in the way of its jobs, and what the plan names for it."""
    return {row.job: f"{row.conflict} {row.note}".strip() for row in plan.jobs.exclude(conflict="")}


def left(client: redis.Redis) -> tuple[int, int]:
    """How many failed jobs and letters there are."""
    return client.zcard("bull:shop:failed"), client.llen("bull:shop-dlq:wait")


@pytest.mark.parametrize(
    ("originals", "patch", "bad", "remain"),
    [
        (Originals.WHEN_SENT, None, (), (0, 0)),
        (Originals.WHEN_DONE, None, (), (0, 0)),
        (Originals.WHEN_SENT, Patch(PatchKind.PATHS, "fixed = true"), (), (0, 0)),
        (Originals.WHEN_DONE, None, ("1",), (2, 1)),  # the copy failed again: what it was made of stays
        (Originals.KEEP, None, (), (1, 1)),
    ],
)
def test_a_letter_goes_with_the_failed_job_that_it_tells_of_and_is_not_sent_after_it(
    valkey: redis.Redis, originals: Originals, patch: Patch | None, bad: tuple[str, ...], remain: tuple[int, int]
) -> None:
    """AC-04: of one failure that is told of twice, one copy is sent, by this plan and by the next."""
    a_queue(SHOP)
    fail(valkey, ["j1"])
    letter(valkey, "l1", of="j1", at=1_000)
    terms = replace(QUIET, acts_copy=True, originals=originals, patch=patch)
    plan = run(making.of_letters(OLGA, DEAD), terms, lambda: work(valkey, bad=bad))
    assert (plan.completed, plan.failed, len(ran(valkey))) == (int(not bad), len(bad), 1)
    assert left(valkey) == remain
    again = freeze(making.of_letters(TWO, DEAD))
    assert [row.conflict for row in again.jobs.all()] == [Conflict.SENT_BEFORE] * remain[1]


def test_what_was_copied_elsewhere_and_kept_is_not_retried_in_place_after_it(valkey: redis.Redis) -> None:
    """AC-04: the preview of the second plan says so, and a person may want it all the same."""
    other = a_queue(QueueRef("main", b"bull", b"other"))
    valkey.hset("bull:other:meta", "version", "bullmq:6.7.0")
    fail(valkey, ["j1"])
    copied = replace(QUIET, acts_copy=True, target=other.slug, originals=Originals.KEEP)
    first = run(making.of_state(OLGA, SHOP, State.FAILED), copied, lambda: work(valkey, "other"))
    again = freeze(making.of_state(TWO, SHOP, State.FAILED))
    [row] = again.jobs.all()
    assert (row.acts, row.conflict, row.note, again.to_send) == (Acts.RETRY, Conflict.SENT_BEFORE, str(first), 0)
    wanted = replace(QUIET, choices={Conflict.SENT_BEFORE: Choice.SEND})
    again = run(again, wanted, lambda: work(valkey))
    assert (again.sent, again.completed, ran(valkey)) == (1, 1, ["j1", "j1"])


# AC-01: jobs that no longer exist.

FAIL = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async () => { throw new Error("no"); }, { concurrency: 50 });
const box = queue(args.major, "shop-dlq");
w.on("failed", (job) => args.letters && box.add("dead", {
  payload: job.data, error: "no", queue: "shop", jobId: job.id, name: job.name, failedAt: job.finishedOn }));
await q.addBulk(Array.from({ length: args.jobs }, (_, n) => ({ name: "mail", data: { n }, opts: args.opts ?? {} })));
await until(async () => (await q.getFailedCount()) === args.jobs);
await until(async () => !args.letters || (await box.getWaitingCount()) === args.jobs);
await w.close();
"""
RUN = """
keep.ran ??= [];
worker(args.major, "shop", async (job) => { keep.ran.push([job.id, job.name, job.data, job.opts.priority ?? 0]); });
"""
RAN = "return keep.ran"


def _of_state() -> Replay:
    return making.of_state(OLGA, SHOP, State.FAILED)


def _of_selection() -> Replay:
    client = registry.actions("main")
    page = client.members(SHOP, State.FAILED, until_ms=now_ms() + 1_000, most=1_000)
    return making.of_jobs(OLGA, SHOP, State.FAILED, page.targets)


def _of_group() -> Replay:
    a_queue(SHOP)
    settle(indexer())
    return making.of_group(OLGA, FailureGroup.objects.get(), Which())


def _of_letters() -> Replay:
    a_queue(SHOP)
    return making.of_letters(OLGA, DEAD)


def _number(client: redis.Redis, queue: str, job: int) -> int:
    """Of the job, or of the one that a letter tells of: letters are numbered as they were posted."""
    data = json.loads(cast(bytes, client.hget(f"bull:{queue}:{job}", "data")))
    return int(data.get("payload", data)["n"])


@pytest.mark.node
@pytest.mark.parametrize(("made", "major"), [(_of_state, 5), (_of_selection, 6), (_of_group, 5), (_of_letters, 6)])
def test_jobs_whose_hashes_are_gone_are_told_and_never_run(
    made: Callable[[], Replay], major: int, node: Node, valkey: redis.Redis, valkey_server: Server
) -> None:
    """AC-01: BullMQ's own bulk retry runs them without name and data, and calls them completed."""
    letters = made is _of_letters
    node.run(FAIL, url=valkey_server.url, major=major, jobs=300, letters=letters)
    plan = made()
    gone = {_number(valkey, "shop-dlq" if letters else "shop", job) for job in (3, 150)}
    for job in (3, 150):
        valkey.delete(*(f"bull:{queue}:{job}" for queue in ("shop", "shop-dlq")))
    plan = freeze(plan)
    words = {"gone" if word.startswith("gone") else word for word in found(plan).values()}
    assert (plan.total, plan.to_send, plan.left_out, words) == (300, 298, 2, {"gone"})
    node.run(RUN, url=valkey_server.url, major=major)
    plan = run(plan, QUIET)
    assert (plan.sent, plan.completed, plan.left_out) == (298, 298, 2)
    told = cast("list[list[Any]]", node.run(RAN, url=valkey_server.url))
    assert sorted(data["n"] for _id, name, data, _priority in told if name == "mail") == sorted(set(range(300)) - gone)
    again = freeze(making.of_state(TWO, SHOP, State.FAILED))
    assert again.to_send == 0
    with pytest.raises(WrongState):
        steering.start(TWO, again, QUIET)


# AC-02: what belongs to a job.

LOSE = """
const q = queue(args.major, "shop");
await q.addBulk(args.jobs.map(([id, opts]) => ({ name: `n${id}`, data: { id }, opts: { jobId: id, attempts: 2,
  backoff: { type: "exponential", delay: 1 }, removeOnComplete: { count: 50 }, ...opts } })));
const w = worker(args.major, "shop", async () => { throw new Error("no"); });
await until(async () => (await q.getFailedCount()) === args.jobs.length);
await w.close();
"""
SHOW = """
const q = queue(args.major, args.name);
const shown = {};
for (const state of ["wait", "prioritized"])
  for (const job of await q.getJobs([state], 0, -1)) shown[job.data.id] = [state, job.name, job.data, job.opts];
return shown;
"""
ORDER = """
keep.order = [];
worker(args.major, args.name, async (job) => { keep.order.push(job.data.id); }, { concurrency: 1 });
await until(() => keep.order.length === args.number);
return keep.order;
"""
NINE: Mapping[str, object] = {"priority": 9}
MIXED: Sequence[tuple[str, Mapping[str, object]]] = (
    ("a", NINE), ("b", {}), ("c", {"priority": 2}), ("d", {"lifo": True}), ("e", {}), ("f", NINE),
)  # fmt: skip


@pytest.mark.node
@pytest.mark.parametrize("major", MAJORS)
@pytest.mark.parametrize("target", ["shop", "other"])
def test_a_replay_keeps_what_belongs_to_a_job_in_place_and_in_a_copy(
    target: str, major: int, node: Node, valkey: redis.Redis, valkey_server: Server
) -> None:
    """AC-02: priority, lifo, attempts, backoff, how long it is kept, name and data; and the order that comes of it."""
    valkey.hset("bull:other:meta", "version", f"bullmq:{major}.1.0")
    a_queue(QueueRef("main", b"bull", b"other"))
    node.run(LOSE, url=valkey_server.url, major=major, jobs=MIXED)
    terms = replace(QUIET, target="" if target == "shop" else target, age_max_s=None)
    plan = freeze(_of_state())
    steering.save(OLGA, plan, terms)
    plan = freeze(plan)
    steering.start(OLGA, plan, terms)
    until(plan, Phase.ENDING)
    told = cast("Mapping[str, list[Any]]", node.run(SHOW, url=valkey_server.url, major=major, name=target))
    for job, opts in MIXED:
        state, name, data, kept = told[job]
        assert (state, name, data) == ("prioritized" if "priority" in opts else "wait", f"n{job}", {"id": job})
        assert kept["attempts"] == 2
        assert (kept["backoff"]["type"], kept["removeOnComplete"]) == ("exponential", {"count": 50})
        assert {name: kept.get(name) for name in opts} == opts
    order = node.run(ORDER, url=valkey_server.url, major=major, name=target, number=len(MIXED))
    assert order == ["d", "b", "e", "c", "a", "f"]
    assert until(plan, Phase.DONE).completed == len(MIXED)


# AC-04: two operators.


def test_two_plans_of_the_same_jobs_run_each_once_and_the_second_says_who_was_first(valkey: redis.Redis) -> None:
    """AC-04: made at once, started at once, and each slice of one between two of the other."""
    ids = [f"j{number}" for number in range(40)]
    first = a_plan_of(valkey, ids)
    second = freeze(making.of_state(TWO, SHOP, State.FAILED))
    assert set(found(second).values()) == {f"other-plan {first}"}
    third = a_plan_of(valkey, ids)  # as if all three had been looked at before anybody started
    for _turn in range(40):
        for plan in (first, third):
            a_slice(plan, 0.0)
        work(valkey, most=5)
    for plan in (first, third):
        until(plan, Phase.DONE, between=lambda: work(valkey))
    assert sorted(ran(valkey)) == sorted(ids)
    assert first.completed + third.completed == 40
    refused = [row for plan in (first, third) for row in plan.jobs.filter(place=Place.REFUSED)]
    assert len(refused) == 40
    assert {row.conflict for row in refused} <= {Conflict.LEFT, Conflict.SENT_BEFORE}


# AC-06: children.

FLOW = """
const flows = flow(args.major);
const q = queue(args.major, "shop"), up = queue(args.major, "parents");
await flows.add({ name: "whole", queueName: "parents", data: {}, opts: { jobId: "P" }, children: [
  { name: "part", queueName: "shop", data: { n: 1 }, opts: { jobId: "C1", ...args.opts } },
  { name: "part", queueName: "shop", data: { n: 2 }, opts: { jobId: "C2" } }] });
keep.well = false;
worker(args.major, "shop", async ({ data }) => { if (data.n === 1 && !keep.well) throw new Error("no"); });
worker(args.major, "parents", async () => "whole");
await until(async () => (await q.getFailedCount()) === 1 && (await q.getCompletedCount()) === 1);
if (args.opts.failParentOnFailure) await until(async () => (await up.getFailedCount()) === 1);
keep.well = true;
"""
STATE = "return await (await queue(args.major, args.name).getJob(args.id)).getState()"


@pytest.mark.node
@pytest.mark.parametrize("major", MAJORS)
def test_a_child_whose_parent_has_failed_is_left_out_until_somebody_wants_it_and_the_parent_is_replayed_after_it(
    major: int, node: Node, valkey: redis.Redis, valkey_server: Server
) -> None:
    """AC-06: with `failParentOnFailure` the parent stays failed after the child has completed, in both majors."""

    def state(name: str, job: str) -> object:
        return node.run(STATE, url=valkey_server.url, major=major, name=name, id=job)

    node.run(FLOW, url=valkey_server.url, major=major, opts={"failParentOnFailure": True})
    parents = a_queue(QueueRef("main", b"bull", b"parents"))
    plan = freeze(_of_state())
    assert (found(plan), plan.to_send) == ({"C1": "parent-failed bull:parents:P"}, 0)
    plan = run(plan, replace(QUIET, choices={Conflict.PARENT_FAILED: Choice.SEND}))
    assert (plan.completed, state("shop", "C1"), state("parents", "P")) == (1, "completed", "failed")
    after = freeze(making.of_state(TWO, QueueRef.from_slug("main", parents.slug), State.FAILED))
    assert (after.total, found(after)) == (1, {})
    assert run(after, QUIET).completed == 1
    assert state("parents", "P") == "completed"


@pytest.mark.node
@pytest.mark.parametrize("major", MAJORS)
def test_a_child_whose_parent_waits_for_it_takes_it_along(
    major: int, node: Node, valkey: redis.Redis, valkey_server: Server
) -> None:
    """AC-06, without any option: nothing is in the way, and the parent runs when its child has completed."""
    node.run(FLOW, url=valkey_server.url, major=major, opts={})
    plan = freeze(_of_state())
    assert (found(plan), plan.to_send) == ({}, 1)
    assert run(plan, QUIET).completed == 1
    node.run(
        'await until(async () => (await queue(args.major, "parents").getCompletedCount()) === 1)',
        url=valkey_server.url,
        major=major,
    )


# AC-10: deduplication.

TWINS = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async () => { throw new Error("no"); });
await q.add("a", {}, { jobId: "A", deduplication: { id: "order-1" } });
await until(async () => (await q.getFailedCount()) === 1);
await w.close();
await q.add("b", {}, { jobId: "B", deduplication: { id: "order-1" } });
"""


@pytest.mark.node
@pytest.mark.parametrize("major", MAJORS)
@pytest.mark.parametrize(("then", "waiting"), [("skip", ["B"]), ("send", ["B", "A"]), ("stale", ["A"])])
def test_a_job_whose_deduplication_id_another_holds_makes_no_twin_unless_somebody_wants_it(
    then: str, waiting: list[str], major: int, *, node: Node, valkey: redis.Redis, valkey_server: Server
) -> None:
    """AC-10: the newer one is named before; a key whose job is gone is in nobody's way."""
    node.run(TWINS, url=valkey_server.url, major=major)
    if then == "stale":
        valkey.delete("bull:shop:B")
        valkey.lrem("bull:shop:wait", 0, "B")
    plan = freeze(_of_state())
    assert found(plan) == ({} if then == "stale" else {"A": "twin B"})
    if then == "skip":
        with pytest.raises(WrongState):
            steering.start(OLGA, plan, QUIET)
    else:
        terms = replace(QUIET, choices={Conflict.TWIN: Choice.SEND} if then == "send" else {})
        steering.start(OLGA, plan, terms)
        until(plan, Phase.ENDING)
    listed = cast("list[bytes]", valkey.lrange("bull:shop:wait", 0, -1))
    assert [job.decode() for job in reversed(listed)] == waiting


# MT-05: how old what waits is.


@pytest.mark.parametrize("acts", [Acts.RETRY, Acts.COPY])
def test_old_jobs_that_were_sent_make_nothing_look_as_if_it_had_waited_for_days(
    acts: Acts, valkey: redis.Redis
) -> None:
    """MT-05: the plan does not hold because of what it has sent itself, and no page says three days."""
    fail(valkey, [f"j{number}" for number in range(12)], at_ms=now_ms() - 3 * DAY_MS)
    terms = replace(QUIET, age_max_s=300, acts_copy=acts is Acts.COPY, pace_from=10.0, pace_to=10.0)
    plan = freeze(_of_state())
    steering.save(OLGA, plan, terms)
    plan = freeze(plan)
    steering.start(OLGA, plan, terms)
    plan = until(plan, Phase.ENDING)  # nobody works on any of them meanwhile
    assert (plan.sent, "held" in {row.kind for row in plan.lines.all()}) == (12, False)
    oldest = registry.backend("main").counts([SHOP])[SHOP].oldest
    assert oldest is None or oldest.since_ms is None or oldest.since_ms > now_ms() - DAY_MS


# DP-06: no memory left.


def test_a_server_that_is_full_stops_a_plan_with_its_own_words_and_is_read_meanwhile(
    start_redis: StartRedis, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DP-06: all that was sent is known, the rest is where it was, and goes on once there is room."""
    server = start_redis()
    settings.MIRANTE_SOURCES = (SourceConfig("main", server.url),)
    registry.forget()
    monkeypatch.setattr(troubles, "UNWELL_AFTER", troubles.UNWELL_AFTER * 0)
    with server.client() as client:
        plan = a_plan_of(client, [f"j{number}" for number in range(50)])
        client.config_set("maxmemory", "1")
        until(plan, Phase.STOPPED)
        assert (plan.why, plan.sent) == (Stop.UNWELL, 0)
        assert "memory" in plan.note
        assert registry.backend("main").counts([SHOP])[SHOP][State.FAILED] == 50
        client.config_set("maxmemory", "0")
        steering.go_on(OLGA, plan)
        until(plan, Phase.DONE, between=lambda: work(client))
        assert (plan.completed, sorted(ran(client))) == (50, sorted(f"j{number}" for number in range(50)))
    registry.forget()
