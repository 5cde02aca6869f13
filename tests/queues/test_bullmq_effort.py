"""What keeps a script short: jobs that take long go few at a time, and no long list is looked through for each."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
import redis

from queues.actions import Clock, Outcome, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.backends.bullmq.pace import Pace
from queues.types import JobRef, QueueRef, State
from tests.seed import seed_job, seed_queue

SHOP = QueueRef("main", b"bull", b"shop")
LONG = 1_001  # entries: more than a script looks through for each job


def _calls(store: redis.Redis, *names: str) -> int:
    """Those that did something: a script that the server does not know yet is asked for in vain, then sent."""
    told = cast("dict[str, dict[str, int]]", store.info("commandstats"))
    found = [told[f"cmdstat_{name}"] for name in names if f"cmdstat_{name}" in told]
    return sum(each["calls"] - each["failed_calls"] for each in found)


@pytest.mark.parametrize("verb", ["retry", "promote"])
def test_jobs_whose_data_is_long_to_check_share_a_script_with_few(
    store: redis.Redis, operating: BullMQActions, verb: str
) -> None:
    data = json.dumps(["x" * 90] * 5_000)  # some 470 KB, of which two are enough
    seed_queue(store, "shop", failed=6 if verb == "retry" else 0, delayed=6 if verb == "promote" else 0, data=data)
    operating.unable(SHOP)
    store.config_resetstat()
    targets = [Target(b"%d" % number) for number in range(1, 7)]
    if verb == "retry":
        results = operating.retry(SHOP, targets, state=State.FAILED, reset=False)
    else:
        results = operating.promote(SHOP, targets)
    assert [(result.id, result.outcome) for result in results] == [(target.id, Outcome.DONE) for target in targets]
    assert _calls(store, "eval", "evalsha") >= 3
    assert store.llen("bull:shop:wait") == 6


def test_where_jobs_are_instead_is_not_looked_for_in_long_lists(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=LONG, active=LONG, parked=LONG)
    store.set("bull:shop:1500:lock", "token")
    seed_job(store, SHOP, "lost", finishedOn=1)
    store.config_resetstat()
    targets = [Target(b"500"), Target(b"1500"), Target(b"2500"), Target(b"lost"), Target(b"never")]
    for results, there in (
        (operating.retry(SHOP, targets, state=State.FAILED, reset=False), Outcome.ALREADY),
        (operating.promote(SHOP, targets), Outcome.ALREADY),
        (operating.delay(SHOP, targets, run_at_ms=1), Outcome.WRONG_STATE),
    ):
        assert [(result.outcome, result.state) for result in results] == [
            (there, State.WAITING),
            (there, State.ACTIVE),
            (there, State.WAITING),
            (Outcome.WRONG_STATE, None),
            (Outcome.GONE, None),
        ]
    assert _calls(store, "lpos") == 0


def test_a_script_that_the_server_does_not_know_is_timed_too(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", failed=1)
    store.script_flush()
    operating.unable(SHOP)
    store.config_resetstat()
    _reply, ms = operating._writer.timed("retry", SHOP, "failed", 0, 0, b"1", b"")
    assert ms > 0.05  # not only the time that the answer takes that it is not known
    assert _calls(store, "eval") == 2  # of the one that asks for rights, and of this


@pytest.mark.parametrize("state", [State.FAILED, State.DELAYED])
def test_jobs_that_have_left_their_set_are_not_looked_for_before_they_are_left(
    store: redis.Redis, operating: BullMQActions, state: State
) -> None:
    seed_queue(store, "shop", waiting=LONG)
    store.config_resetstat()
    targets = [Target(b"%d" % number) for number in range(500, 520)] + [Target(b"gone")]
    results = operating.remove(SHOP, targets, state=state, children=False)
    assert [(result.outcome, result.state) for result in results] == [
        *[(Outcome.WRONG_STATE, State.WAITING)] * 20,
        (Outcome.GONE, None),
    ]
    assert _calls(store, "lpos") <= 40  # in the lists that are short


@pytest.mark.parametrize("way", ["clean", "remove", "obliterate"])
def test_jobs_whose_memory_takes_long_to_free_go_few_at_a_time(
    store: redis.Redis, operating: BullMQActions, way: str
) -> None:
    seed_queue(store, "shop", paused=True)
    for number in range(6):
        seed_job(store, SHOP, str(number), data=b"x" * 60_000_000 if number < 2 else b"{}")
        store.zadd("bull:shop:completed", {str(number): number})
    store.config_resetstat()
    went: list[int] = []
    if way == "remove":
        results = operating.remove(
            SHOP, [Target(b"%d" % number) for number in range(6)], state=State.COMPLETED, children=False
        )
        assert [result.outcome for result in results] == [Outcome.DONE] * 6
        assert _calls(store, "evalsha", "eval") >= 3
    else:
        cursor: str | None = ""
        while cursor is not None:
            step = (
                operating.clean(SHOP, State.COMPLETED, clock=Clock.FINISHED, before_ms=10, cursor=cursor)
                if way == "clean"
                else operating.obliterate(SHOP, force=False, cursor=cursor)
            )
            went, cursor = [*went, step.done], step.cursor
        assert (went[0], sum(went)) == (2, 6)
    assert store.zcard("bull:shop:completed") == 0
    assert not store.exists("bull:shop:0", "bull:shop:5")


def _family(store: redis.Redis, children: range) -> None:
    """A parent of jobs that stand in the middle of a long list of another queue."""
    seed_queue(store, "shop", waiting_children=1)
    seed_queue(store, "depot", waiting=21_000)
    with store.pipeline(transaction=False) as pipe:
        for number in children:
            pipe.hset(f"bull:depot:{number}", "parentKey", "bull:shop:1")
            pipe.sadd("bull:shop:1:dependencies", f"bull:depot:{number}")
        pipe.execute()
    store.config_resetstat()


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts of the size that they begin with: a slow machine would be asked for few jobs, which LPOS finds."""
    monkeypatch.setattr(Pace, "took", lambda *_told: None)


@pytest.mark.usefixtures("steady")
def test_a_tree_in_a_long_list_is_found_by_reads_and_goes_whole(store: redis.Redis, operating: BullMQActions) -> None:
    _family(store, range(10_000, 10_200))
    [result] = operating.remove(SHOP, [Target(b"1")], state=State.WAITING_CHILDREN, children=True)
    assert (result.outcome, result.removed) == (Outcome.DONE, 200)
    assert store.llen("bull:depot:wait") == 20_800
    assert store.lpos("bull:depot:wait", "0:9") is None
    assert not store.exists("bull:shop:1", "bull:depot:10000", "bull:depot:10199")
    assert store.exists("bull:depot:9999", "bull:depot:10200") == 2
    assert _calls(store, "eval", "evalsha") == 3 + 1  # rights, the job alone, which are to be found, the tree


@pytest.mark.usefixtures("steady")
def test_children_in_a_long_list_are_found_by_reads(store: redis.Redis, operating: BullMQActions) -> None:
    _family(store, range(10_000, 10_200))
    result = operating.remove_children(JobRef(SHOP, b"1"))
    assert (result.outcome, result.removed) == (Outcome.DONE, 200)
    assert _calls(store, "lpos") == 0
    assert store.llen("bull:depot:wait") == 20_800
    assert store.lpos("bull:depot:wait", "0:9") is None
    assert not store.exists("bull:depot:10000", "bull:depot:10199", "bull:shop:1:dependencies")


def test_a_child_that_is_in_no_list_is_looked_for_by_the_script_itself(
    store: redis.Redis, operating: BullMQActions
) -> None:
    _family(store, range(10_000, 10_020))
    store.lrem("bull:depot:wait", 1, "10007")
    [result] = operating.remove(SHOP, [Target(b"1")], state=State.WAITING_CHILDREN, children=True)
    assert (result.outcome, result.removed) == (Outcome.DONE, 20)
    assert store.llen("bull:depot:wait") == 20_980
    assert not store.exists("bull:depot:10007")


@pytest.mark.parametrize("paused", [False, True])
def test_jobs_of_a_long_list_get_a_priority_without_a_look_through_it_for_each(
    store: redis.Redis, operating: BullMQActions, paused: bool
) -> None:
    seed_queue(store, "shop", paused=paused, **{"parked" if paused else "waiting": 12_000})  # type: ignore[arg-type]
    seed_job(store, SHOP, "ended")
    store.zadd("bull:shop:completed", {"ended": 1})
    waiting = b"bull:shop:paused" if paused else b"bull:shop:wait"
    jobs = [b"%d" % number for number in (*range(1, 50), *range(6_000, 6_400), 11_999)]
    before = [one for one in store.lrange(waiting, 0, -1) if one not in jobs]
    store.config_resetstat()
    results = operating.priority(SHOP, [Target(one) for one in [*jobs, b"ended", b"never"]], priority=7)
    assert [result.outcome for result in results] == [
        *[Outcome.DONE] * len(jobs),
        Outcome.WRONG_STATE,
        Outcome.GONE,
    ]
    assert _calls(store, "lpos") == 0
    assert sorted(store.zrange("bull:shop:prioritized", 0, -1)) == sorted(jobs)
    assert store.lrange(waiting, 0, -1) == before


def test_scripts_of_several_threads_leave_room_for_others_between_them(
    store: redis.Redis, operating: BullMQActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed_queue(store, "shop", failed=8)
    connection = operating._writer.connection
    plain, under_way, most = connection.run, 0, 0

    def run(*positional: Any, **named: Any) -> Any:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        time.sleep(0.02)
        try:
            return plain(*positional, **named)
        finally:
            under_way -= 1

    operating.retry(SHOP, [Target(b"none")], state=State.FAILED, reset=False)  # rights are known by this
    monkeypatch.setattr(connection, "run", run)
    with ThreadPoolExecutor(8) as pool:
        told = pool.map(
            lambda number: operating.retry(SHOP, [Target(b"%d" % number)], state=State.FAILED, reset=False), range(1, 9)
        )
        assert [result.outcome for results in told for result in results] == [Outcome.DONE] * 8
    assert most == 1
