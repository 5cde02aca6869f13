"""Cleaning a state by age: the clock that was named, to the end, with a true count, and schedulers left alone."""

from __future__ import annotations

import time
from typing import cast

import pytest
import redis

from queues.actions import Clock, Outcome
from queues.backends.bullmq.actions import BullMQActions
from queues.backends.bullmq.pace import Pace
from queues.errors import BadInput, Unsupported
from queues.types import QueueRef, State
from tests.node import Node
from tests.queues.sweeping import to_the_end
from tests.seed import seed_job, seed_queue
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
HOUR = 3_600_000


def cleaned(operating: BullMQActions, state: State, clock: Clock, before_ms: int) -> tuple[int, dict[Outcome, int]]:
    done, kept = to_the_end(lambda at: operating.clean(SHOP, state, clock=clock, before_ms=before_ms, cursor=at))
    return done, dict(kept)


def now_ms() -> int:
    return int(time.time() * 1000)


def test_a_delayed_job_is_as_old_as_the_named_clock_says(store: redis.Redis, operating: BullMQActions) -> None:
    now = now_ms()
    seed_queue(store, "shop")
    for job, made, due in (
        ("week", now - 2 * HOUR, now + 168 * HOUR),
        ("minute", now, now + 60_000),
        ("over", now, now - 2 * HOUR),
    ):
        seed_job(store, SHOP, job, timestamp=made)
        store.zadd("bull:shop:delayed", {job: due * 4096})
    assert cleaned(operating, State.DELAYED, Clock.DUE, now - HOUR) == (1, {})
    assert store.zrange("bull:shop:delayed", 0, -1) == [b"minute", b"week"]
    assert cleaned(operating, State.DELAYED, Clock.CREATED, now - HOUR) == (1, {})
    assert store.zrange("bull:shop:delayed", 0, -1) == [b"minute"]


def test_25000_finished_jobs_go_and_are_all_counted(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", completed=25_010, step_ms=1)
    before = int(
        cast(list[tuple[bytes, float]], store.zrange("bull:shop:completed", 25_000, 25_000, withscores=True))[0][1]
    )
    assert cleaned(operating, State.COMPLETED, Clock.FINISHED, before) == (25_000, {})
    assert cleaned(operating, State.COMPLETED, Clock.FINISHED, before) == (0, {})
    assert store.zcard("bull:shop:completed") == 10
    assert len(list(store.scan_iter("bull:shop:[0-9]*", count=1_000))) == 10
    told = cast(list[tuple[bytes, dict[bytes, bytes]]], store.xrange("bull:shop:events"))
    assert sum(int(fields[b"count"]) for _id, fields in told if fields[b"event"] == b"cleaned") == 25_000


@pytest.mark.parametrize("state", [State.WAITING, State.PRIORITIZED, State.WAITING_CHILDREN, State.FAILED])
def test_every_state_is_cleaned_by_when_its_jobs_were_made(
    state: State, store: redis.Redis, operating: BullMQActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pace, "took", lambda pace, count, ms: setattr(pace, "size", 7))
    now = now_ms()
    seed_queue(store, "shop", **{state.value.replace("-", "_"): 100}, until_ms=now)  # type: ignore[arg-type]
    if state is State.WAITING:
        store.lmove("bull:shop:wait", "bull:shop:paused", "RIGHT", "LEFT")
    assert cleaned(operating, state, Clock.CREATED, now - 49_500) == (50, {})
    left = {int(key.rpartition(b":")[2]) for key in store.scan_iter("bull:shop:[0-9]*")}
    assert left == set(range(51, 101))


def test_old_jobs_between_young_ones_are_found_in_a_list(store: redis.Redis, operating: BullMQActions) -> None:
    now = now_ms()
    seed_queue(store, "shop", waiting=900, until_ms=now)
    for job in range(1, 901, 3):
        store.hset(f"bull:shop:{job}", "timestamp", now - 10 * HOUR)
    assert cleaned(operating, State.WAITING, Clock.CREATED, now - HOUR) == (300, {})
    assert store.lrange("bull:shop:wait", 0, -1) == [b"%d" % n for n in range(900, 0, -1) if n % 3 != 1]


SCHEDULED = """
const q = queue(args.major, "shop");
for (const id of ["s1", "s2"]) await q.upsertJobScheduler(id, { pattern: "0 0 1 1 *" }, { name: "tick" });
if (args.major === 5) await q.add("old", {}, { repeat: { pattern: "0 0 1 1 *" } });
for (const id of ["a", "b", "c", "d", "e"]) await q.add("later", {}, { jobId: id, delay: 3600000 });
"""


@pytest.mark.parametrize("major", [5, 6])
def test_the_next_runs_of_schedulers_are_kept_and_counted(
    *, major: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(SCHEDULED, url=server.url, major=major)
    armed = 3 if major == 5 else 2
    step = operating.clean(SHOP, State.DELAYED, clock=Clock.CREATED, before_ms=now_ms() + 1)
    assert (step.done, step.kept, step.cursor) == (5, {Outcome.SCHEDULED: armed}, None)
    assert [one.outcome for one in step.exceptions] == [Outcome.SCHEDULED] * armed
    assert cleaned(operating, State.DELAYED, Clock.CREATED, now_ms() + 1) == (0, {Outcome.SCHEDULED: armed})
    assert store.zcard("bull:shop:delayed") == armed


def test_what_is_held_or_has_children_or_no_age_is_kept_and_counted(
    store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop", waiting=4)
    store.set("bull:shop:1:lock", "token", px=30_000)
    store.sadd("bull:shop:2:dependencies", "bull:depot:1")
    store.hset("bull:shop:3", "timestamp", "soon")
    store.delete("bull:shop:4")
    kept = {Outcome.LOCKED: 1, Outcome.CHILDREN: 1, Outcome.UNSUPPORTED: 1, Outcome.GONE: 1}
    assert cleaned(operating, State.WAITING, Clock.CREATED, now_ms() + 1) == (0, kept)
    assert store.llen("bull:shop:wait") == 4


def test_a_parent_goes_on_when_its_failed_child_is_cleaned(
    major: int, *, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    if major == 4:
        seed_queue(store, "shop", failed=1, version="bullmq:4.18.3")
        with pytest.raises(Unsupported, match="BullMQ 4"):
            cleaned(operating, State.FAILED, Clock.FINISHED, now_ms() + 1)
        return
    node.run(
        """
        queue(args.major, "office");
        await flow(args.major).add({ name: "order", queueName: "office", data: {}, opts: { jobId: "parent" },
          children: [{ name: "bad", queueName: "shop", data: {}, opts: { jobId: "c" } }] });
        const w = worker(args.major, "shop", async () => { throw new Error("no"); });
        await until(async () => (await queue(args.major, "shop").getFailedCount()) === 1);
        await w.close();
        """,
        url=server.url,
        major=major,
    )
    assert store.zcard("bull:office:waiting-children") == 1
    assert cleaned(operating, State.FAILED, Clock.FINISHED, now_ms() + 1) == (1, {})
    assert store.lrange("bull:office:wait", 0, -1) == [b"parent"]


@pytest.mark.parametrize(
    ("state", "clock"), [(State.ACTIVE, Clock.CREATED), (State.DELAYED, Clock.FINISHED), (State.WAITING, Clock.DUE)]
)
def test_a_clock_that_a_state_does_not_have_is_refused(state: State, clock: Clock, operating: BullMQActions) -> None:
    with pytest.raises(BadInput):
        operating.clean(SHOP, state, clock=clock, before_ms=1)


def test_jobs_of_one_score_are_all_looked_at_although_the_first_ones_stay(
    store: redis.Redis, operating: BullMQActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pace, "took", lambda pace, count, ms: setattr(pace, "size", 3))
    seed_queue(store, "shop", completed=60)
    store.zadd("bull:shop:completed", {str(n): 1000 for n in range(1, 61)})
    for job in range(1, 61, 2):
        store.set(f"bull:shop:{job}:lock", "token")
    assert cleaned(operating, State.COMPLETED, Clock.FINISHED, 2000) == (30, {Outcome.LOCKED: 30})
