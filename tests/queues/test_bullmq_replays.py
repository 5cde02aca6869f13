"""Jobs that a plan sends in place: each once, in order, as a retry would, and with a receipt that says so."""

from __future__ import annotations

from typing import Any, cast

import pytest
import redis

from queues.actions import BATCH, Outcome, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.errors import LimitExceeded, Unsure
from queues.sendings import RECEIPT_DAYS, Conflict, InPlace, Sent
from queues.types import QueueRef, State
from tests.hostile import JOB_IDS
from tests.node import Node
from tests.queues.moving import IDLE, WORKED, at_once, everywhere, fields, last_told, places, put, targets, told
from tests.queues.sent_jobs import (
    DONE,
    EVERY,
    OTHER,
    PLAN,
    SHOP,
    STAY,
    copy,
    everything,
    in_place,
    lose_the_second_answer,
    outcomes,
    picture,
    receipts,
    send,
    token,
    told_by,
)
from tests.seed import seed_job, seed_queue
from tests.valkey import Server

FAIL = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async () => { throw new Error("no"); });
await q.addBulk(["a", "b", "c", "d", "e"].map((id) =>
  ({ name: "n", data: {}, opts: { jobId: id, ...(id === "d" ? { priority: 5 } : {}) } })));
await until(async () => (await q.getFailedCount()) === 5);
await w.close();
"""
PAUSE = 'const q = queue(args.major, "shop"); await q.waitUntilReady(); await q.pause();'
ADD = 'const q = queue(args.major, "shop"); for (const id of args.ids) await q.add("more", {}, { jobId: id });'
FINISH = """
const q = queue(args.major, "shop");
await q.resume();
const order = [];
const w = worker(args.major, "shop", async (job) => { order.push(job.id); });
await until(async () => (await q.getCompletedCount()) === args.count);
await w.close();
return order;
"""
ORDER = ["c", "a", "e", "b"]  # in which they are sent, and then d, which has a priority


@pytest.mark.parametrize("paused", [False, True], ids=["open", "paused"])
def test_what_a_plan_sends_is_finished_in_its_order_and_not_sent_again(
    major: int, paused: bool, *, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(FAIL, url=server.url, major=major)
    if paused:
        node.run(PAUSE, url=server.url, major=major)
    first = send(operating, "c", "d", "a", "e", "b", "nobody", seen=b"")
    assert outcomes(first) == [DONE] * 5 + [Outcome.GONE]
    before = picture(store)
    again = send(operating, "c", "d", "a", "e", "b", "nobody", seen=b"")
    assert [(one.outcome, one.again, one.made, one.was, one.at_ms) for one in again[:5]] == [
        (DONE, True, one.made, one.was, one.at_ms) for one in first[:5]
    ]
    assert picture(store) == before
    assert everywhere(store) == [b"a", b"b", b"c", b"d", b"e"]
    assert node.run(FINISH, url=server.url, major=major, count=5) == [*ORDER, "d"]


@pytest.mark.parametrize("waits", [(), ("x", "y")], ids=["empty", "with-waiting"])
@pytest.mark.parametrize("resumed", [5, 6], ids=["resumed5", "resumed6"])
@pytest.mark.parametrize("paused", [5, 6], ids=["paused5", "paused6"])
def test_what_one_major_paused_and_another_resumes_loses_nothing_that_was_sent(
    paused: int, resumed: int, waits: tuple[str, ...], *, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(FAIL, url=server.url, major=paused)
    node.run(ADD, url=server.url, major=paused, ids=waits)
    node.run(PAUSE, url=server.url, major=paused)
    assert outcomes(send(operating, *ORDER, "d", seen=b"")) == [DONE] * 5
    order = node.run(FINISH, url=server.url, major=resumed, count=5 + len(waits))
    assert order == [*waits, *ORDER, "d"]


def test_a_worker_that_idles_for_a_minute_takes_what_is_sent_at_once(
    major: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run(FAIL, url=server.url, major=major)
    node.run(IDLE, url=server.url, major=major)
    assert outcomes(send(operating, "a", seen=b"")) == [DONE]
    assert node.run(WORKED, url=server.url, count=1) == ["a"]


@pytest.mark.parametrize("reset", [False, True], ids=["kept", "reset"])
@pytest.mark.parametrize("single", [False, True], ids=["together", "one-by-one"])
def test_sending_leaves_and_tells_what_a_retry_does(
    store: redis.Redis, operating: BullMQActions, reset: bool, single: bool
) -> None:
    everything(store)
    operating.retry(SHOP, targets(*EVERY), state=State.FAILED, reset=reset)
    expected, events = picture(store), told(store)
    assert len(everywhere(store)) == len(EVERY)
    store.flushall()
    everything(store)
    for part in [[job] for job in EVERY] if single else [EVERY]:
        assert set(outcomes(send(operating, *part, reset=reset))) == {DONE}
    assert picture(store) == expected
    assert told(store) == events
    assert receipts(store) == sorted(token(job).encode() for job in EVERY)


def test_the_order_that_was_asked_is_kept_over_many_scripts(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", failed=1_000)
    jobs = [b"%d" % (number * 7 % 1_000 + 1) for number in range(1_000)]
    first = [InPlace(Target(job), token(job)) for job in jobs]
    results = operating.send(SHOP, first, state=State.FAILED, plan=PLAN, reset=False, twins=False, orphans=False)
    assert [(result.id, result.outcome) for result in results] == [(job, DONE) for job in jobs]
    assert cast("list[bytes]", store.lrange("bull:shop:wait", 0, -1))[::-1] == jobs
    assert len(receipts(store)) == 1_000


def test_of_two_plans_that_send_at_once_one_does_and_the_other_is_told_by_whom(
    store: redis.Redis, operating: BullMQActions
) -> None:
    everything(store)
    plans = iter((PLAN, OTHER))
    both = at_once(lambda: (plan := next(plans), send(operating, *EVERY, plan=plan)))
    assert sorted(outcomes(both[0][1]) + outcomes(both[1][1])) == sorted([DONE, Outcome.ALREADY] * len(EVERY))
    for (mine, results), (theirs, _others) in (both, both[::-1]):
        refused = [result for result in results if result.outcome is Outcome.ALREADY]
        assert {(one.plan, one.conflict) for one in refused} <= {(theirs, Conflict.SENT_BEFORE)}
        assert mine not in {one.plan for one in refused}
    assert everywhere(store) == sorted(job.encode() for job in EVERY)
    assert len(told(store)) == len(EVERY)


def test_two_who_ask_for_the_same_plan_at_once_send_once(store: redis.Redis, operating: BullMQActions) -> None:
    everything(store)
    both = at_once(lambda: send(operating, *EVERY))
    assert outcomes(both[0]) == outcomes(both[1]) == [DONE] * len(EVERY)
    assert sorted(one.again for one in both[0] + both[1]) == [False] * len(EVERY) + [True] * len(EVERY)
    assert [one.was for one in both[0]] == [one.was for one in both[1]]
    assert everywhere(store) == sorted(job.encode() for job in EVERY)


def test_a_job_that_is_asked_for_twice_in_one_call_is_sent_once(store: redis.Redis, operating: BullMQActions) -> None:
    everything(store)
    jobs = [*in_place("p1", "p2", "p1"), InPlace(Target(b"p2", STAY), token("another receipt"))]
    first, second, third, fourth = operating.send(
        SHOP, jobs, state=State.FAILED, plan=PLAN, reset=False, twins=False, orphans=False
    )
    assert (first.outcome, first.again, second.outcome) == (DONE, False, DONE)
    assert (third.outcome, third.again, third.was) == (DONE, True, first.was)
    assert (fourth.outcome, fourth.conflict, fourth.note) == (Outcome.WRONG_STATE, Conflict.LEFT, "waiting")
    assert places(store)["wait"] == [b"p2", b"p1"]


def test_receipts_expire_tell_and_are_dropped_with_a_later_call(store: redis.Redis, operating: BullMQActions) -> None:
    everything(store)
    send(operating, "p1", "p2", "p3")
    days = store.pttl(f"bull:shop:mirante:{token('p1')}") / 86_400_000
    assert RECEIPT_DAYS - 1 < days <= RECEIPT_DAYS
    assert told_by(operating, SHOP, token("p1"), "never") == [(PLAN, b"p1"), None]
    send(operating, "p4", drop=[token("p1"), token("p2"), "never"])
    assert receipts(store) == sorted([token("p3").encode(), token("p4").encode()])
    send(operating, drop=[token("p3")])
    operating.drop_receipts(SHOP, [token("p4")])
    assert receipts(store) == []
    assert outcomes(send(operating, "p1")) == [Outcome.WRONG_STATE]  # nothing tells any more that it was sent


def test_a_receipt_that_is_none_of_ours_keeps_its_job_from_being_sent(
    store: redis.Redis, operating: BullMQActions
) -> None:
    everything(store)
    store.set(f"bull:shop:mirante:{token('p1')}", b"\xc1what?")
    [result] = send(operating, "p1")
    assert (result.outcome, result.plan) == (Outcome.ALREADY, "")
    assert places(store)["failed"].count(b"p1") == 1


def test_a_later_failure_of_a_job_is_another_stay(store: redis.Redis, operating: BullMQActions) -> None:
    everything(store)
    [stale] = send(operating, "p1", seen=b"1600000000000")
    assert (stale.outcome, stale.conflict, stale.note) == (Outcome.WRONG_STATE, Conflict.LEFT, "failed")
    assert outcomes(send(operating, "p1")) == [DONE]


def test_what_stands_in_the_way_is_told_and_nothing_is_written(store: redis.Redis, operating: BullMQActions) -> None:
    everything(store)
    put(store, "torn", "failed", data="{not json")
    put(store, "fine", "completed")
    put(store, "twin", "wait", deid="one")
    store.set("bull:shop:de:one", "twin")
    store.zadd("bull:shop:failed", {"ghost": STAY})
    put(store, "orphan", "failed", parentKey="bull:orders:nobody")
    store.zrem("bull:orders:waiting-children", "beside-parent")
    before = picture(store)
    asked = ("torn", "fine", "unique", "ghost", "never", "orphan", "revived", "beside", "twin")
    results = send(operating, *asked, orphans=False)
    assert [(one.id.decode(), one.outcome, one.conflict, one.note) for one in results] == [
        ("torn", Outcome.UNSUPPORTED, Conflict.DAMAGED, "data"),
        ("fine", Outcome.WRONG_STATE, Conflict.LEFT, "completed"),
        ("unique", Outcome.UNSUPPORTED, Conflict.TWIN, "twin"),
        ("ghost", Outcome.GONE, Conflict.GONE, ""),
        ("never", Outcome.GONE, Conflict.GONE, ""),
        ("orphan", Outcome.UNSUPPORTED, Conflict.PARENT_GONE, "bull:orders:nobody"),
        ("revived", Outcome.UNSUPPORTED, Conflict.PARENT_FAILED, "bull:orders:revived-parent"),
        ("beside", Outcome.UNSUPPORTED, Conflict.PARENT_GONE, "bull:orders:beside-parent"),
        ("twin", Outcome.WRONG_STATE, Conflict.LEFT, "waiting"),
    ]
    assert picture(store) == before
    assert receipts(store) == []
    again = send(operating, *asked, twins=True)
    assert [one.id for one in again if one.outcome is DONE] == [b"unique", b"orphan", b"revived", b"beside"]


def test_a_job_whose_children_have_not_ended_is_sent_with_a_warning(
    store: redis.Redis, operating: BullMQActions
) -> None:
    everything(store)
    store.sadd("bull:shop:p2:dependencies", "bull:shop:p1")
    results = send(operating, "p1", "p2", "p3")
    assert outcomes(results) == [DONE] * 3
    assert [bool(one.note) for one in results] == [False, True, False]
    assert "Children of it have not ended" in results[1].note


def test_ids_that_are_names_of_other_keys_and_keys_of_wrong_types_cost_themselves_only(
    store: redis.Redis, operating: BullMQActions
) -> None:
    everything(store)
    odd = {"wait", "meta", "events", "failed", "repeat", "p1:lock"}
    put(store, "x", "wait")
    store.set("bull:shop:p1:lock", "token")
    store.zadd("bull:shop:failed", dict.fromkeys(odd, STAY))
    store.set("bull:orders:child-parent:dependencies", "no set")
    store.rpush("bull:shop:de:one", "no string")
    before = {key: value for key, value in picture(store).items() if key != b"bull:shop:wait"}
    results = send(operating, *sorted(odd), "child")
    assert {one.outcome for one in results} <= {Outcome.UNSUPPORTED, Outcome.GONE}
    assert {key: value for key, value in picture(store).items() if key != b"bull:shop:wait"} == before
    assert outcomes(send(operating, "unique", "p1")) == [DONE, DONE]
    assert store.lrange("bull:shop:de:one", 0, -1) == [b"no string"]


@pytest.mark.parametrize("prefix", [b"bull", b"a:b:c", b"{bull}"])
def test_ids_of_any_bytes_under_any_prefix_are_sent_as_they_are(
    prefix: bytes, operating: BullMQActions, store: redis.Redis
) -> None:
    queue = QueueRef("main", prefix, b"shop")
    ids = [job for job in JOB_IDS if job]
    for job in ids:
        seed_job(store, queue, job)
        store.zadd(prefix + b":shop:failed", {job: 1})
    store.hset(prefix + b":shop:meta", "version", "bullmq:6.7.0")
    jobs = [InPlace(Target(job, b"1"), token(job)) for job in ids]
    for again in (False, True):
        results = operating.send(queue, jobs, state=State.FAILED, plan=PLAN, reset=True, twins=False, orphans=False)
        assert [(one.outcome, one.made, one.again) for one in results] == [(DONE, job, again) for job in ids]
    assert cast("list[bytes]", store.lrange(prefix + b":shop:wait", 0, -1))[::-1] == ids


@pytest.mark.parametrize("single", [False, True], ids=["plain", "ranked"])
def test_values_of_any_size_are_sent_a_few_at_a_time_and_kept_as_far_as_is_meant(
    store: redis.Redis, operating: BullMQActions, single: bool
) -> None:
    sizes = {"small": 10, "long": 70_000, "huge": 5_000_000}
    for job, size in sizes.items():
        text = ("é" * size)[:size]
        put(store, job, "failed", failedReason=text, data="[" + "1," * size + "1]", priority="3" if single else "0")
    operating.send(SHOP, [], state=State.FAILED, plan=PLAN, reset=False, twins=False, orphans=False)
    small, long, huge = send(operating, *sizes)
    assert outcomes([small, long, huge]) == [DONE] * 3
    kept = {job.id: job.was or b"" for job in (small, long, huge)}
    assert ("é" * 10).encode() in kept[b"small"]
    assert 65_536 < len(kept[b"long"]) < 66_000
    assert b" ... (140000 bytes)" in kept[b"long"]
    assert len(kept[b"huge"]) < 500
    assert b" ... (10000000 bytes)" in kept[b"huge"]
    assert [fields(store, job).get(b"failedReason") for job in sizes] == [None] * 3


def test_an_answer_that_is_lost_is_found_again_by_asking_for_the_same(
    store: redis.Redis, operating: BullMQActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed_queue(store, "shop", failed=500)
    jobs = [InPlace(Target(b"%d" % number), token(str(number))) for number in range(1, 501)]
    lose_the_second_answer(monkeypatch)
    options = {"state": State.FAILED, "plan": PLAN, "reset": False, "twins": False, "orphans": False}
    with pytest.raises(Unsure, match="second answer") as caught:
        operating.send(SHOP, jobs, **options)  # type: ignore[arg-type]
    known = cast("list[Sent]", caught.value.results)
    assert [(one.id, one.outcome) for one in known] == [(job.target.id, DONE) for job in jobs[: len(known)]]
    moved = store.llen("bull:shop:wait")
    assert 0 < len(known) < moved < 500
    results = operating.send(SHOP, jobs, **options)  # type: ignore[arg-type]
    assert [(one.outcome, one.again) for one in results] == [(DONE, number < moved) for number in range(500)]
    assert all(one.was for one in results)
    assert cast("list[bytes]", store.lrange("bull:shop:wait", 0, -1))[::-1] == [job.target.id for job in jobs]


def test_a_completed_job_is_sent_in_place_too(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(ADD, url=server.url, major=major, ids=["x"])
    assert node.run(FINISH, url=server.url, major=major, count=1) == ["x"]
    mark = last_told(store)
    assert outcomes(send(operating, "x", seen=b"", state=State.COMPLETED)) == [DONE]
    assert told(store, after=mark) == [{b"event": b"waiting", b"jobId": b"x", b"prev": b"completed"}]
    assert node.run(FINISH, url=server.url, major=major, count=1) == ["x"]


def test_after_the_moment_until_which_it_is_wanted_nothing_is_sent(
    operating: BullMQActions, store: redis.Redis
) -> None:
    for job in ("a", "b"):
        put(store, job, "failed")
    seconds, micros = store.time()
    now = seconds * 1000 + micros // 1000
    before = picture(store)
    how: dict[str, Any] = {"state": State.FAILED, "reset": False, "twins": False, "orphans": True}
    assert operating.send(SHOP, in_place("a"), plan=PLAN, until_ms=now - 1, **how) == []
    assert operating.send_copies(SHOP, [copy("c")], plan=PLAN, new_ids=False, until_ms=now - 1) == []
    assert (picture(store), receipts(store)) == (before, [])
    assert outcomes(operating.send(SHOP, in_place("a"), plan=PLAN, until_ms=now + 600_000, **how)) == [DONE]
    copied = operating.send_copies(SHOP, [copy("c")], plan=PLAN, new_ids=False, until_ms=now + 600_000)
    assert outcomes(copied) == [DONE]


def test_bounds_are_kept(operating: BullMQActions, store: redis.Redis) -> None:
    with pytest.raises(LimitExceeded):
        send(operating, *[str(number) for number in range(BATCH + 1)])
    with pytest.raises(ValueError, match="receipt"):
        operating.receipts(SHOP, ["a:b"])
    assert send(operating) == []
    assert store.keys() == []
