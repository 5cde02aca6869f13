"""Pausing and resuming, whichever version paused, added or resumes, with real producers and workers of 5.x and 6.x."""

from __future__ import annotations

import random
from typing import cast

import pytest
import redis

from queues.actions import Outcome, Step
from queues.backends.bullmq import steering
from queues.backends.bullmq.actions import BullMQActions
from queues.types import QueueRef
from tests.node import Node
from tests.policy import rounds
from tests.seed import seed_queue
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
VERSIONS = {5: "bullmq:5.81.5", 6: "bullmq:6.7.0"}
# A queue of each major stays open for a whole test.
DO = """
const q = keep[args.major] ??= queue(args.major, "shop");
await q.waitUntilReady();
const add = (opts) => q.add("job", {}, { jobId: args.id, ...opts });
return await ({
  add: () => add({}).then(() => null),
  urgent: () => add({ priority: 3 }).then(() => null),
  soon: () => add({ delay: 1 }).then(() => null),
  pause: () => q.pause(),
  resume: () => q.resume(),
  paused: () => q.isPaused(),
})[args.op]();
"""
FINISH = """
const order = [];
const w = worker(args.major, "shop", async (job) => { order.push(job.id); });
await until(() => order.length >= args.count);
await w.close();
return order;
"""
IDLE = """
keep.order = [];
keep.worker = worker(args.major, "shop", async (job) => { keep.order.push(job.id); }, { drainDelay: 600 });
await keep.worker.waitUntilReady();
await sleep(300);
"""
TAKEN = "await until(() => keep.order.length >= args.count); return keep.order;"
SO_FAR = "return keep.order;"
MIXED = ("add", "add", "urgent", "pause", "resume", "our pause", "our resume")
DONE, ALREADY = Step(1), Step(0, kept={Outcome.ALREADY: 1})


@pytest.fixture(params=[5, 6], ids=lambda major: f"bullmq{major}")
def new(request: pytest.FixtureRequest) -> int:
    """The majors whose queues can be paused by us."""
    return cast(int, request.param)


def test_no_worker_takes_a_job_until_bullmq_resumes_and_a_second_press_does_nothing(
    new: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(IDLE, url=server.url, major=new)
    assert operating.pause(SHOP) == DONE
    assert operating.pause(SHOP) == ALREADY
    assert node.run(DO, url=server.url, major=new, op="paused")
    for number in range(3):
        node.run(DO, url=server.url, major=new, op="add", id=f"job-{number}")
    assert node.run(SO_FAR, url=server.url) == []
    assert _events(store).count(b"paused") == 1
    node.run(DO, url=server.url, major=new, op="resume")
    assert node.run(TAKEN, url=server.url, count=3) == ["job-0", "job-1", "job-2"]


@pytest.mark.parametrize("resumed_by", ["us", "bullmq"])
def test_waiting_jobs_that_are_paused_are_all_finished_in_their_order(
    new: int, resumed_by: str, node: Node, server: Server, operating: BullMQActions
) -> None:
    for number in range(6):
        node.run(DO, url=server.url, major=new, op="add", id=f"job-{number}")
        if number == 2:
            assert operating.pause(SHOP) == DONE
    if resumed_by == "us":
        assert operating.resume(SHOP) == DONE
        assert operating.resume(SHOP) == ALREADY
    else:
        node.run(DO, url=server.url, major=new, op="resume")
    order = node.run(FINISH, url=server.url, major=new, count=6)
    assert order == [f"job-{number}" for number in range(6)]


@pytest.mark.parametrize("added_by", [5, 6], ids=lambda major: f"added by {major}")
@pytest.mark.parametrize("paused_by", [5, 6], ids=lambda major: f"paused by {major}")
def test_what_versions_left_in_both_lists_is_merged_and_finished(
    *, paused_by: int, added_by: int, new: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    for number in range(6):
        major = paused_by if number < 3 else added_by
        node.run(DO, url=server.url, major=major, op="add", id=f"job-{number}")
        if number == 2:
            node.run(DO, url=server.url, major=paused_by, op="pause")
    assert operating.resume(SHOP) == DONE
    assert not store.exists("bull:shop:paused")
    order = node.run(FINISH, url=server.url, major=new, count=6)
    assert sorted(cast(list[str], order)) == [f"job-{number}" for number in range(6)]


@pytest.mark.parametrize("then", [5, 6], ids=lambda major: f"then {major}")
def test_what_one_version_paused_and_the_other_resumed_is_paused_and_resumed_by_us(
    then: int, new: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    """A 6.x resume of more than 7,000 jobs leaves some parked, which a pause by 5.x would destroy."""
    node.run(DO, url=server.url, major=11 - then, op="add", id="job-0")
    node.run(DO, url=server.url, major=11 - then, op="pause")
    node.run(DO, url=server.url, major=then, op="resume")
    assert operating.pause(SHOP) == DONE
    node.run(DO, url=server.url, major=then, op="add", id="job-1")
    assert operating.resume(SHOP) == DONE
    order = node.run(FINISH, url=server.url, major=new, count=2)
    assert sorted(cast(list[str], order)) == ["job-0", "job-1"]


@pytest.mark.parametrize("op", ["add", "urgent", "soon"])
def test_a_resume_wakes_idle_workers(op: str, new: int, node: Node, server: Server, operating: BullMQActions) -> None:
    node.run(IDLE, url=server.url, major=new)
    operating.pause(SHOP)
    node.run(DO, url=server.url, major=new, op=op, id="job")
    operating.resume(SHOP)
    assert node.run(TAKEN, url=server.url, count=1) == ["job"]


@pytest.mark.parametrize("paused", [True, False], ids=["paused", "open"])
@pytest.mark.parametrize("sizes", [(3, 12), (12, 3), (12, 12), (0, 12), (12, 0)])
@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_long_lists_are_merged_in_steps_and_in_order(
    *,
    verb: str,
    sizes: tuple[int, int],
    paused: bool,
    store: redis.Redis,
    operating: BullMQActions,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(steering, "MERGED", 5)
    waiting, parked = sizes
    seed_queue(store, "shop", waiting=waiting, parked=parked, paused=paused, version=VERSIONS[5])
    before = store.lrange("bull:shop:wait", 0, -1) + store.lrange("bull:shop:paused", 0, -1)
    steps = [operating.pause(SHOP) if verb == "pause" else operating.resume(SHOP)]
    while steps[-1].cursor is not None:
        steps.append(operating.pause(SHOP) if verb == "pause" else operating.resume(SHOP))
    if (verb == "pause" and paused) or (verb == "resume" and not paused and not parked):
        assert steps == [ALREADY]
    else:
        assert steps[-1] == DONE
        assert (len(steps) > 1) is (min(sizes) > 5)
        left, right = ("paused", "wait") if verb == "pause" else ("wait", "paused")
        assert store.lrange(f"bull:shop:{left}", 0, -1) == before
        assert not store.exists(f"bull:shop:{right}")


def test_a_resume_by_5_between_two_steps_destroys_less_than_it_would_without_us(
    node: Node, server: Server, store: redis.Redis, operating: BullMQActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steering, "MERGED", 5)
    lost: list[int] = []
    for steps in range(4):
        store.flushall()
        seed_queue(store, "shop", waiting=16, parked=20, paused=True, version=VERSIONS[5])
        for _ in range(steps):
            operating.resume(SHOP)
        node.run(DO, url=server.url, major=5, op="resume")
        lost.append(36 - store.llen("bull:shop:wait") - store.llen("bull:shop:paused"))
    assert lost == [16, 11, 6, 1]
    operating.resume(SHOP)
    assert lost[-1] == 36 - store.llen("bull:shop:wait")


def test_a_pause_by_5_between_two_steps_on_an_open_queue_destroys_less_than_without_us(
    node: Node, server: Server, store: redis.Redis, operating: BullMQActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steering, "MERGED", 5)
    lost: list[int] = []
    for steps in range(4):
        store.flushall()
        seed_queue(store, "shop", waiting=20, parked=16, version=VERSIONS[5])
        for _ in range(steps):
            operating.resume(SHOP)
        node.run(DO, url=server.url, major=5, op="pause")
        lost.append(36 - store.llen("bull:shop:wait") - store.llen("bull:shop:paused"))
    assert lost == [16, 11, 6, 1]


def test_a_merge_of_thousands_is_one_script(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=9_000, parked=4_500, paused=True, version=VERSIONS[5])
    before = store.lrange("bull:shop:wait", 0, -1) + store.lrange("bull:shop:paused", 0, -1)
    assert operating.resume(SHOP) == DONE
    assert store.lrange("bull:shop:wait", 0, -1) == before


def test_markers_of_4_do_not_come_along(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=3, parked=2, paused=True, version=VERSIONS[5])
    store.lpush("bull:shop:paused", "0:0")
    operating.resume(SHOP)
    assert store.lrange("bull:shop:wait", 0, -1) == [b"3", b"2", b"1", b"5", b"4"]


def test_on_4_nothing_is_paused_and_it_is_said_why(
    node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run(DO, url=server.url, major=4, op="add", id="job")
    before = _contents(store)
    for step in (operating.pause(SHOP), operating.resume(SHOP)):
        assert step.kept == {Outcome.UNSUPPORTED: 1}
        assert "BullMQ 4" in step.exceptions[0].why
    assert _contents(store) == before


def test_whatever_a_fleet_and_we_do_in_turn_no_job_is_lost(
    *, new: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions, rng: random.Random
) -> None:
    for _ in range(rounds(sample=2, soak=40)):
        node.reset()
        store.flushall()
        ops = rng.choices(["add", "urgent", "soon", "pause", "resume", "our pause", "our resume"], k=20)
        added = []
        for number, op in enumerate(ops):
            if op.startswith("our"):
                (operating.pause if op == "our pause" else operating.resume)(SHOP)
            else:
                node.run(DO, url=server.url, major=new, op=op, id=f"job-{number}")
            added += [f"job-{number}"] if op in ("add", "urgent", "soon") else []
        operating.resume(SHOP)
        order = node.run(FINISH, url=server.url, major=new, count=len(added))
        assert sorted(cast(list[str], order)) == sorted(added), ops


def test_a_mixed_fleet_loses_nothing_through_us(
    *, new: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions, rng: random.Random
) -> None:
    """What 5.x renames over is lost, with or without us; so it pauses and resumes only where it destroys nothing."""
    for _ in range(rounds(sample=2, soak=40)):
        node.reset()
        store.flushall()
        added, done = [], []
        for number in range(25):
            op, major = rng.choice(MIXED), rng.choice([5, 6])
            if op in ("pause", "resume") and major == 5 and store.exists("bull:shop:wait", "bull:shop:paused") == 2:
                continue
            if op.startswith("our"):
                (operating.pause if op == "our pause" else operating.resume)(SHOP)
            else:
                node.run(DO, url=server.url, major=major, op=op, id=f"job-{number}")
            added += [f"job-{number}"] if op in ("add", "urgent") else []
            done.append(f"{major}.x {op}")
        operating.resume(SHOP)
        order = node.run(FINISH, url=server.url, major=new, count=len(added))
        assert sorted(cast(list[str], order)) == sorted(added), done


def _events(store: redis.Redis) -> list[bytes]:
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", store.xrange("bull:shop:events"))
    return [fields[b"event"] for _id, fields in entries]


def _contents(store: redis.Redis) -> dict[bytes, object]:
    return {key: store.dump(key) for key in cast("list[bytes]", store.keys())}
