"""Emptying, cleaning and removing whole queues in the background, and bulk actions over jobs of the real library."""

from __future__ import annotations

import pytest
import redis

from queues import operations
from queues.actions import Action, Clock, Outcome, Result, Step
from queues.audit import Status
from queues.bulk import lease
from queues.bulk.progress import progress
from queues.errors import BadInput, WrongState
from queues.lease import FREE_AFTER_S
from queues.models import AuditEntry, RemovedJob
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.types import State
from tests.node import Node
from tests.queues.acting import OLGA, SHOP, FakeActions, a_slice, bulk_of, outcome, to_its_end
from tests.valkey import Server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_tasks")]

WAITING = """
const q = queue(args.major, "shop");
await q.addBulk(Array.from({ length: args.waiting }, (_, n) => ({ name: "mail", data: { n } })));
await q.addBulk(Array.from({ length: 20 }, (_, n) => ({ name: "mail", data: { n }, opts: { priority: 3 } })));
await q.addBulk(Array.from({ length: 10 }, (_, n) => ({ name: "later", data: { n }, opts: { delay: 3600000 } })));
await q.upsertJobScheduler("yearly", { pattern: "0 0 1 1 *" }, { name: "tick" });
"""
FAILED = """
const q = queue(args.major, "shop");
await q.addBulk(Array.from({ length: args.failed }, (_, n) => (
  { name: n % 2 ? "mail" : "invoice", data: { n }, opts: { jobId: `j${n}` } })));
const w = worker(args.major, "shop", async () => { throw new Error("no"); }, { concurrency: 50 });
await until(async () => (await q.getFailedCount()) === args.failed);
await w.close();
"""
RUN = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async () => "ok", { concurrency: 50 });
await until(async () => (await q.getCompletedCount()) === args.count);
await w.close();
return await q.getJobCounts();
"""


def three_steps(shop: FakeActions) -> None:
    shop.steps = [
        Step(700, {Outcome.SCHEDULED: 1}, [Result(b"r", Outcome.SCHEDULED, State.DELAYED)], "1"),
        Step(300, cursor="2"),
        Step(50),
    ]


def test_a_sweep_adds_up_its_steps_and_what_they_kept(actions_in_memory: FakeActions) -> None:
    three_steps(actions_in_memory)
    entry = operations.drain(OLGA, SHOP, delayed=False)
    assert (entry.status, entry.asked) == (Status.RUNNING, 5)
    entry = to_its_end(entry)
    assert outcome(entry) == ("done", {"done": 1_050, "scheduled": 1})
    assert [told["job"] for told in entry.exceptions] == ["r"]
    assert actions_in_memory.swept == ["", "1", "2"]
    told = progress(entry)
    assert told
    assert (told.handled, told.total) == (1_051, 5)


def test_a_sweep_goes_on_where_the_last_slice_ended(actions_in_memory: FakeActions) -> None:
    three_steps(actions_in_memory)
    entry = operations.drain(OLGA, SHOP, delayed=False)
    while a_slice(entry, seconds=0):
        assert not bulk_of(entry).holder
    entry.refresh_from_db()
    assert (*outcome(entry), entry.note) == ("done", {"done": 1_050, "scheduled": 1}, "")
    assert actions_in_memory.swept == ["", "1", "2"]


def test_a_sweep_whose_answer_is_lost_goes_on_and_says_that_it_counts_too_few(actions_in_memory: FakeActions) -> None:
    three_steps(actions_in_memory)
    entry = operations.drain(OLGA, SHOP, delayed=False)
    actions_in_memory.loses_answer_after = 0
    later = a_slice(entry)
    assert later
    assert later.after_s
    entry = to_its_end(entry)
    assert outcome(entry) == ("done", {"done": 1_050, "scheduled": 1})
    assert "not counted" in entry.note
    assert actions_in_memory.swept == ["", "", "1", "2"]


def test_a_sweep_whose_worker_is_lost_says_that_it_counts_too_few(actions_in_memory: FakeActions) -> None:
    three_steps(actions_in_memory)
    entry = operations.drain(OLGA, SHOP, delayed=False)

    def dies() -> None:
        raise KeyboardInterrupt

    actions_in_memory.after = dies
    with pytest.raises(KeyboardInterrupt):
        a_slice(entry)
    actions_in_memory.after = lambda: None
    now = [0.0]
    watch = lease.watch(lambda: now[0])
    assert not watch.resting()
    now[0] += FREE_AFTER_S
    assert watch.resting()
    entry = to_its_end(entry)
    assert outcome(entry) == ("done", {"done": 1_050, "scheduled": 1})
    assert "not counted" in entry.note


def test_a_sweep_is_stopped_after_its_step(actions_in_memory: FakeActions) -> None:
    three_steps(actions_in_memory)
    entry = operations.drain(OLGA, SHOP, delayed=False)

    def stops() -> None:
        operations.stop(OLGA, entry)

    actions_in_memory.after = stops
    entry = to_its_end(entry)
    assert outcome(entry) == ("stopped", {"done": 700, "scheduled": 1})
    assert entry.note.startswith("Stopped by olga.")
    assert actions_in_memory.swept == [""]


def test_an_age_that_jobs_of_the_state_do_not_have_is_refused(actions_in_memory: FakeActions) -> None:
    with pytest.raises(BadInput):
        operations.clean(OLGA, SHOP, State.FAILED, clock=Clock.DUE, older_ms=0)


@pytest.mark.node
@pytest.mark.usefixtures("source")
@pytest.mark.parametrize("major", [5, 6])
@pytest.mark.parametrize("delayed", [False, True], ids=["waiting", "delayed too"])
def test_a_real_queue_is_emptied_and_its_scheduler_goes_on(
    delayed: bool, major: int, valkey: redis.Redis, valkey_server: Server, node: Node
) -> None:
    node.run(WAITING, url=valkey_server.url, major=major, waiting=3_000)
    entry = to_its_end(operations.drain(OLGA, SHOP, delayed=delayed))
    assert entry.outcomes["done"] == (3_030 if delayed else 3_020), entry.note
    assert entry.status == Status.DONE
    assert valkey.llen("bull:shop:wait") == valkey.zcard("bull:shop:prioritized") == 0
    assert valkey.zcard("bull:shop:delayed") == (1 if delayed else 11)


@pytest.mark.node
def test_failed_jobs_of_a_real_queue_are_cleaned_by_their_age(
    source: SourceConfig, valkey: redis.Redis, valkey_server: Server, node: Node
) -> None:
    node.run(FAILED, url=valkey_server.url, major=6, failed=300)
    old = now_ms() - 3_600_000
    valkey.zadd("bull:shop:failed", {f"j{number}": old for number in range(200)})
    for number in range(200):
        valkey.hset(f"bull:shop:j{number}", "finishedOn", old)
    entry = to_its_end(operations.clean(OLGA, SHOP, State.FAILED, clock=Clock.FINISHED, older_ms=1_800_000))
    assert entry.status == Status.DONE
    assert (entry.asked, entry.outcomes["done"]) == (300, 200)
    assert valkey.zcard("bull:shop:failed") == 100


@pytest.mark.node
def test_a_real_queue_is_removed_when_it_is_paused_only(
    source: SourceConfig, valkey: redis.Redis, valkey_server: Server, node: Node
) -> None:
    node.run(WAITING, url=valkey_server.url, major=5, waiting=1_500)
    with pytest.raises(WrongState):
        operations.obliterate(OLGA, SHOP, force=False)
    assert AuditEntry.objects.get().status == Status.REFUSED
    node.run('await queue(5, "shop").pause();', url=valkey_server.url)
    entry = to_its_end(operations.obliterate(OLGA, SHOP, force=False))
    assert entry.status == Status.DONE, entry.note
    assert valkey.keys("bull:shop:*") == []


@pytest.mark.node
def test_all_that_match_a_name_are_retried_and_finished_by_a_real_worker(
    major: int, source: SourceConfig, valkey: redis.Redis, valkey_server: Server, node: Node
) -> None:
    node.run(FAILED, url=valkey_server.url, major=major, failed=2_400)
    entry = operations.start_bulk(OLGA, SHOP, Action.RETRY, None, state=State.FAILED, name="VOIC", expected=1_200)
    entry = to_its_end(entry)
    assert outcome(entry) == ("done", {"done": 1_200})
    assert "VOIC" in entry.selection
    counts = node.run(RUN, url=valkey_server.url, major=major, count=1_200)
    assert isinstance(counts, dict)
    assert (counts["failed"], counts["completed"], counts["waiting"]) == (1_200, 1_200, 0)


@pytest.mark.node
def test_all_that_are_delayed_are_promoted_except_the_next_run_of_a_scheduler(
    source: SourceConfig, valkey: redis.Redis, valkey_server: Server, node: Node
) -> None:
    node.run(WAITING, url=valkey_server.url, major=6, waiting=1)
    entry = to_its_end(operations.start_bulk(OLGA, SHOP, Action.PROMOTE, None, state=State.DELAYED))
    assert outcome(entry) == ("done", {"done": 10, "scheduled": 1})
    assert valkey.llen("bull:shop:wait") == 11


@pytest.mark.node
def test_all_that_wait_get_another_priority_and_keep_it(
    source: SourceConfig, valkey: redis.Redis, valkey_server: Server, node: Node
) -> None:
    node.run(WAITING, url=valkey_server.url, major=6, waiting=2_100)
    entry = operations.start_bulk(OLGA, SHOP, Action.PRIORITY, None, state=State.WAITING, parameters={"priority": 9})
    assert outcome(to_its_end(entry)) == ("done", {"done": 2_100})
    assert valkey.zcard("bull:shop:prioritized") == 2_120


@pytest.mark.node
def test_removed_jobs_are_kept_as_copies_and_counted_where_they_are_not(
    source: SourceConfig, valkey: redis.Redis, valkey_server: Server, node: Node
) -> None:
    node.run(FAILED, url=valkey_server.url, major=6, failed=1_200)
    entry = to_its_end(operations.start_bulk(OLGA, SHOP, Action.REMOVE, None, state=State.FAILED))
    assert (*outcome(entry), entry.note) == ("done", {"done": 1_200}, "")
    assert RemovedJob.objects.filter(entry=entry, removed_at__isnull=False).count() == 1_200
    assert not valkey.exists("bull:shop:failed", "bull:shop:j0")
