"""Emptying a queue of what waits, step by step, while others push, pop, pause and resume."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from typing import cast

import pytest
import redis

from queues.actions import Outcome, Step
from queues.backends.bullmq.actions import BullMQActions
from queues.backends.bullmq.pace import Pace
from queues.errors import BadInput, Unsupported
from queues.types import QueueRef
from tests.node import Node
from tests.queues.sweeping import to_the_end
from tests.seed import seed_job, seed_queue
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")


def now_ms() -> int:
    return int(time.time() * 1000)


def drained(
    operating: BullMQActions, *, delayed: bool = False, until_ms: int | None = None, **more: object
) -> tuple[int, Counter[Outcome]]:
    until = until_ms or now_ms() + 1
    return to_the_end(lambda at: operating.drain(SHOP, delayed=delayed, until_ms=until, cursor=at), **more)  # type: ignore[arg-type]


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten jobs a step."""
    monkeypatch.setattr(Pace, "took", lambda pace, count, ms: setattr(pace, "size", 10))


MAKE = """
const q = queue(args.major, "shop");
const jobs = (length, kind, opts) =>
  q.addBulk(Array.from({ length }, (_, n) => ({ name: "send", data: {}, opts: { jobId: `${kind}-${n}`, ...opts } })));
await jobs(30, "w", {});
await jobs(10, "u", { priority: 2 });
await jobs(10, "d", { delay: 500 });
if (args.by) await queue(args.by, "shop").pause();
if (args.by && args.then) await queue(args.then, "shop").addBulk([{ name: "more", data: {}, opts: { jobId: "m" } }]);
"""
FINISH = """
const q = queue(args.major, "shop");
if (args.resume) await q.resume();
const seen = [];
const w = worker(args.major, "shop", async (job) => { seen.push(job.id); });
await q.add("new", {}, { jobId: "new" });
await until(async () => seen.length === args.count && (await q.getActiveCount()) === 0);
return seen.sort();
"""


@pytest.mark.parametrize("delayed", [False, True], ids=["without delayed", "with delayed"])
@pytest.mark.parametrize(("by", "then"), [(None, None), (5, 5), (6, 6), (5, 6), (6, 5)])
@pytest.mark.parametrize("major", [5, 6])
def test_what_waits_goes_in_every_state_of_pausing_and_workers_do_what_comes_after(
    *,
    major: int,
    by: int | None,
    then: int | None,
    delayed: bool,
    node: Node,
    server: Server,
    store: redis.Redis,
    operating: BullMQActions,
) -> None:
    node.run(MAKE, url=server.url, major=major, by=by, then=then)
    store.hset("bull:shop:meta", "version", f"bullmq:{major}.0.0")
    before = store.xlen("bull:shop:events")
    done, kept = drained(operating, delayed=delayed)
    assert (done, kept) == (40 + bool(by) + 10 * delayed, {})
    assert drained(operating, delayed=delayed) == (0, {}), "twice is once"
    assert store.xlen("bull:shop:events") == before, "BullMQ tells nobody of this"
    assert len(list(store.scan_iter("bull:shop:[wumd]-*"))) == 10 * (not delayed)
    seen = cast(list[str], node.run(FINISH, url=server.url, major=major, resume=bool(by), count=1 + 10 * (not delayed)))
    assert seen == sorted(["new", *(f"d-{n}" for n in range(10) if not delayed)])


ARMED = """
const q = queue(args.major, "shop");
await q.upsertJobScheduler("soon", { every: 3600000 }, { name: "tick" });
await q.upsertJobScheduler("later", { pattern: "0 0 1 1 *" }, { name: "tick" });
await q.add("plain", {}, { jobId: "plain" });
"""
RUNS = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async () => {});
await until(async () => (await q.getCompletedCount()) >= 1);
return (await q.getDelayed()).map((job) => job.repeatJobKey).sort();
"""


@pytest.mark.parametrize("major", [5, 6])
def test_the_next_runs_of_schedulers_stay_are_counted_and_go_on(
    major: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(ARMED, url=server.url, major=major)
    done, kept = drained(operating, delayed=True)
    assert (done, kept) == (1, {Outcome.SCHEDULED: 2})
    assert node.run(RUNS, url=server.url, major=major) == ["later", "soon"]


@pytest.mark.parametrize("major", [5, 6])
def test_of_a_next_run_that_is_kept_it_is_said_whether_it_waits_or_is_delayed(
    major: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(ARMED, url=server.url, major=major)
    step = operating.drain(SHOP, delayed=True, until_ms=now_ms() + 60_000)
    found = list(step.exceptions)
    while step.cursor:
        step = operating.drain(SHOP, delayed=True, until_ms=now_ms() + 60_000, cursor=step.cursor)
        found += step.exceptions
    assert sorted(str(each.state) for each in found) == ["delayed", "waiting"]


def test_on_bullmq_4_it_is_refused_with_a_reason(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=3, version="bullmq:4.18.3")
    with pytest.raises(Unsupported, match="BullMQ 4"):
        drained(operating)
    assert store.llen("bull:shop:wait") == 3


@pytest.mark.usefixtures("small_steps")
def test_jobs_that_come_and_go_at_both_ends_meanwhile_are_left_and_nothing_else_is(
    store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop", waiting=300, prioritized=50)
    until = now_ms() + 1
    numbers, taken = itertools.count(1), []

    def others() -> None:
        for command in (store.lpush, store.rpush):
            name = f"new-{next(numbers)}"
            seed_job(store, SHOP, name, timestamp=until + 5)
            command("bull:shop:wait", name)
        if job := store.rpop("bull:shop:wait"):
            taken.append(job)

    others()
    done, kept = drained(operating, until_ms=until, between=others)
    rest = cast(list[bytes], store.lrange("bull:shop:wait", 0, -1))
    assert kept == {}
    assert all(job.startswith(b"new-") for job in rest)
    olds = sum(1 for job in taken if not cast(bytes, job).startswith(b"new-"))
    assert done + olds == 350
    assert len(rest) + len(taken) - olds == next(numbers) - 1


@pytest.mark.usefixtures("small_steps")
def test_old_jobs_that_come_to_wait_meanwhile_are_left(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=100)
    store.set("bull:shop:50:lock", "token")  # something that is stepped over
    numbers = itertools.count(1)

    def retried() -> None:
        job = f"old-{next(numbers)}"
        seed_job(store, SHOP, job, timestamp=1)
        store.lpush("bull:shop:wait", job)

    done, kept = drained(operating, between=retried)
    assert (done, kept) == (99, {Outcome.LOCKED: 1})
    rest = [f"old-{number}".encode() for number in range(next(numbers) - 1, 0, -1)]
    assert store.lrange("bull:shop:wait", 0, -1) == [*rest, b"50"]


@pytest.mark.usefixtures("small_steps")
def test_jobs_that_were_stepped_over_since_workers_took_others_are_found_in_the_second_look(
    store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop", waiting=60)
    until = now_ms() + 1
    for number in range(30):
        seed_job(store, SHOP, f"new-{number}", timestamp=until + 5)
        store.rpush("bull:shop:wait", f"new-{number}")
    steps = itertools.count(1)

    def take() -> None:
        if next(steps) == 4:
            store.rpop("bull:shop:wait", 30)

    assert drained(operating, until_ms=until, between=take)[0] == 60
    assert not store.exists("bull:shop:wait")


@pytest.mark.usefixtures("small_steps")
def test_a_pause_or_a_resume_in_between_leaves_nothing_behind(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=100)
    steps = itertools.count(1)

    def move() -> None:
        number = next(steps)
        if number == 3:
            store.rename("bull:shop:wait", "bull:shop:paused")
        if number == 6:
            store.rename("bull:shop:paused", "bull:shop:wait")

    done, _kept = drained(operating, between=move)
    assert done == 100
    assert not store.exists("bull:shop:wait", "bull:shop:paused")


@pytest.mark.usefixtures("small_steps")
def test_a_step_that_is_asked_for_again_does_nothing_twice(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=100, prioritized=20)
    until = now_ms() + 1
    store.set("bull:shop:95:lock", "token")
    _done, kept = to_the_end(lambda at: _twice(operating, at, until))
    assert store.lrange("bull:shop:wait", 0, -1) == [b"95"]
    assert not store.zcard("bull:shop:prioritized")
    assert kept[Outcome.LOCKED] == 1


def _twice(operating: BullMQActions, cursor: str, until: int) -> Step:
    operating.drain(SHOP, delayed=False, until_ms=until, cursor=cursor)
    return operating.drain(SHOP, delayed=False, until_ms=until, cursor=cursor)


def test_ids_without_a_hash_and_damaged_jobs_go_and_no_hash_of_others_does(
    store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop", waiting=2)
    store.delete("bull:shop:1")
    seed_job(store, SHOP, "odd", timestamp="yesterday")
    store.lpush("bull:shop:wait", "odd", "meta", "events")
    store.xadd("bull:shop:events", {"event": "waiting", "jobId": "2"})
    assert drained(operating) == (5, {})
    assert sorted(cast(list[bytes], store.keys())) == [b"bull:shop:events", b"bull:shop:id", b"bull:shop:meta"]


def test_a_parent_elsewhere_goes_on_when_the_last_child_it_waited_for_is_drained(
    *, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(
        """
        queue(6, "office"); queue(6, "shop");
        await flow(6).add({ name: "order", queueName: "office", data: {}, opts: { jobId: "parent" },
          children: [1, 2].map((n) => ({ name: "pack", queueName: "shop", data: {}, opts: { jobId: "c" + n } })) });
        """,
        url=server.url,
    )
    assert drained(operating) == (2, {})
    assert store.lrange("bull:office:wait", 0, -1) == [b"parent"]
    node.run(
        """
        worker(6, "office", async () => 1);
        await until(async () => await queue(6, "office").getCompletedCount() === 1);
        """,
        url=server.url,
    )


def test_the_deduplication_ids_of_drained_jobs_are_free(
    node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    add = 'await queue(6, "shop").add("a", {}, { deduplication: { id: "order-1" } })'
    node.run(add, url=server.url)
    assert drained(operating)[0] == 1
    assert not store.exists("bull:shop:de:order-1")
    node.run(add, url=server.url)
    assert store.llen("bull:shop:wait") == 1


def test_namesakes_under_other_prefixes_keep_all_they_have(store: redis.Redis, operating: BullMQActions) -> None:
    refs = [
        seed_queue(store, "emails", prefix=one, waiting=5, delayed=5)
        for one in ("tenant-a", "tenant-b", "app:prod", "{bull}")
    ]
    for number, acted in enumerate(refs, 1):
        to_the_end(lambda at, acted=acted: operating.drain(acted, delayed=True, until_ms=now_ms() + 1, cursor=at))  # type: ignore[misc]
        jobs = [len(list(store.scan_iter(b"%b:emails:[0-9]*" % ref.prefix))) for ref in refs]
        assert jobs == [0] * number + [10] * (4 - number)


@pytest.mark.parametrize("cursor", ["x", "[]", "[1]", "[99,0]", '["a",0]', "[-1,0]"])
def test_a_cursor_of_nobody_is_refused(cursor: str, operating: BullMQActions) -> None:
    with pytest.raises(BadInput):
        operating.drain(SHOP, delayed=False, until_ms=1, cursor=cursor)
