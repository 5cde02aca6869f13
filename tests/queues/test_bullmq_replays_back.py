"""Jobs that were sent and not begun, taken back: all is as it was before, and what has begun is left alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import redis

from queues.actions import Outcome, Result, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.sendings import Sent
from queues.types import QueueRef, State
from tests.node import Node
from tests.queues.moving import at_once, everywhere, fields, last_told, places, put, told
from tests.queues.sent_jobs import (
    DONE,
    EVERY,
    OTHER,
    SHOP,
    STAY,
    everything,
    outcomes,
    picture,
    receipts,
    send,
)
from tests.seed import seed_queue
from tests.valkey import Server

FAIL = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async () => { throw new Error("no"); });
await q.addBulk(["a", "b", "c"].map((id) =>
  ({ name: "n", data: {}, opts: { jobId: id, attempts: 2, ...(id === "c" ? { priority: 5 } : {}) } })));
await until(async () => (await q.getFailedCount()) === 3);
await w.close();
if (args.paused) await q.pause();
"""
# One attempt of the first job: it is begun, and either waits again (for its second attempt) or stays active.
BEGIN = """
let begun = 0;
const w = worker(args.major, "shop", async () => { begun += 1; throw new Error("again"); }, { concurrency: 1 });
await until(() => begun >= 1);
await w.close();
"""
FINISH = """
const q = queue(args.major, "shop");
await q.resume();
const order = [];
const w = worker(args.major, "shop", async (job) => { order.push(job.id); });
await until(async () => (await q.getCompletedCount()) === args.count);
await w.close();
return order;
"""


def _take_back(operating: BullMQActions, sent: Sequence[Sent], queue: QueueRef = SHOP) -> list[Result]:
    return list(operating.take_back(queue, [(Target(one.id, STAY), one.was or b"") for one in sent]))


@pytest.mark.parametrize("paused", [False, True], ids=["open", "paused"])
def test_what_was_sent_to_a_queue_is_taken_back_and_can_be_sent_again_by_any_plan(
    major: int, paused: bool, *, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(FAIL, url=server.url, major=major, paused=paused)
    before = picture(store)
    sent = send(operating, "b", "c", "a", seen=b"")
    assert outcomes(sent) == [DONE] * 3
    assert [one.outcome for one in _take_back(operating, sent)] == [DONE] * 3
    after = picture(store)
    # What wakes an idle worker stays, and so does what counts prioritized jobs.
    passing = {b"bull:shop:wait", b"bull:shop:pc"}
    assert {key: value for key, value in after.items() if key not in passing} == {
        key: value for key, value in before.items() if key not in passing
    }
    assert everywhere(store) == [b"a", b"b", b"c"]
    assert receipts(store) == []
    assert outcomes(send(operating, "a", "b", "c", seen=b"", plan=OTHER)) == [DONE] * 3
    assert node.run(FINISH, url=server.url, major=major, count=3) == ["a", "b", "c"]


@pytest.mark.parametrize("reset", [False, True], ids=["kept", "reset"])
def test_all_is_as_it_was_before_a_parent_and_a_deduplication_id_too(
    store: redis.Redis, operating: BullMQActions, reset: bool
) -> None:
    everything(store)
    before = picture(store)
    sent = send(operating, *EVERY, reset=reset)
    mark = last_told(store)
    results = _take_back(operating, sent)
    assert [(one.id, one.outcome, one.state) for one in results] == [
        (job.encode(), DONE, State.FAILED) for job in EVERY
    ]
    assert picture(store) | {b"bull:shop:pc": b""} == before | {b"bull:shop:pc": b""}
    assert [(one[b"event"], one[b"jobId"], one[b"failedReason"]) for one in told(store, after=mark)] == [
        (b"failed", job.encode(), b"it <b>broke</b>") for job in EVERY
    ]
    again = _take_back(operating, sent)
    assert [one.outcome for one in again] == [Outcome.ALREADY] * len(EVERY)


def test_a_completed_child_is_taken_back_and_its_parent_goes_on_where_it_was_the_last(
    store: redis.Redis, operating: BullMQActions
) -> None:
    everything(store)
    child = {"returnvalue": '{"n":1}', "finishedOn": "1700000000001", "parentKey": "bull:orders:child-parent"}
    put(store, "ended", "completed", **child)
    store.hset("bull:orders:child-parent:processed", "bull:shop:ended", '{"n":1}')
    before = fields(store, "ended")
    sent = send(operating, "ended", state=State.COMPLETED)
    assert store.smembers("bull:orders:child-parent:dependencies") == {b"bull:shop:child", b"bull:shop:ended"}
    store.srem("bull:orders:child-parent:dependencies", "bull:shop:child")  # the other has ended meanwhile
    assert [(one.outcome, one.state) for one in _take_back(operating, sent)] == [(DONE, State.COMPLETED)]
    assert fields(store, "ended") == before
    assert places(store, "orders")["wait"] == [b"child-parent"]
    assert store.hget("bull:orders:child-parent:processed", "bull:shop:ended") == b'{"n":1}'
    assert told(store)[-1][b"returnvalue"] == b'{"n":1}'


def test_a_parent_that_was_retried_meanwhile_is_told_that_its_child_has_failed(
    store: redis.Redis, operating: BullMQActions
) -> None:
    everything(store)
    sent = send(operating, "revived")
    store.zrem("bull:orders:failed", "revived-parent")
    store.zadd("bull:orders:waiting-children", {"revived-parent": 1})  # it runs again, and waits for its child
    assert [one.outcome for one in _take_back(operating, sent)] == [DONE]
    assert places(store, "orders")["wait"] == [b"revived-parent"]
    assert fields(store, "revived-parent", "orders")[b"defa"] == b"child bull:shop:revived failed"


@pytest.mark.parametrize("reset", [False, True], ids=["kept", "reset"])
def test_what_a_worker_has_begun_is_left_alone(
    major: int, reset: bool, *, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(FAIL, url=server.url, major=major, paused=False)
    sent = send(operating, "a", "b", "c", seen=b"", reset=reset)
    node.run(BEGIN, url=server.url, major=major)
    before = {job: fields(store, job) for job in "abc"}
    begun = {job for job in "abc" if b"processedOn" in before[job] or b"failedReason" in before[job]}
    assert begun
    results = _take_back(operating, sent)
    for one in results:
        job = one.id.decode()
        assert (one.outcome is DONE) is (job not in begun), job
        assert one.outcome in (DONE, Outcome.WRONG_STATE, Outcome.LOCKED)
        assert fields(store, job) == before[job] or job not in begun
    assert everywhere(store) == [b"a", b"b", b"c"]


def test_what_was_moved_removed_or_is_held_is_left_alone(store: redis.Redis, operating: BullMQActions) -> None:
    everything(store)
    sent = {one.id: one for one in send(operating, "p1", "p2", "p3", "p4", "urgent")}
    store.lrem("bull:shop:wait", 1, "p1")
    store.zadd("bull:shop:delayed", {"p1": 1})
    store.lrem("bull:shop:wait", 1, "p2")
    store.delete("bull:shop:p2")
    store.set("bull:shop:p3:lock", "token", px=60_000)
    store.lrem("bull:shop:wait", 1, "p4")
    store.zadd("bull:shop:failed", {"p4": 1800000000000})
    before = picture(store)
    results = _take_back(operating, [sent[job] for job in (b"p1", b"p2", b"p3", b"p4")])
    assert [(one.outcome, one.state) for one in results] == [
        (Outcome.WRONG_STATE, State.DELAYED),
        (Outcome.GONE, None),
        (Outcome.LOCKED, None),
        (Outcome.WRONG_STATE, State.FAILED),
    ]
    assert picture(store) == before
    store.zrem("bull:shop:prioritized", "urgent")
    store.lpush("bull:shop:wait", "urgent")  # of another rank, but not begun
    assert [one.outcome for one in _take_back(operating, [sent[b"urgent"]])] == [DONE]


def test_two_who_take_back_at_once_do_so_once(store: redis.Redis, operating: BullMQActions) -> None:
    everything(store)
    sent = send(operating, *EVERY)
    mark = last_told(store)
    both = at_once(lambda: _take_back(operating, sent))
    assert sorted(one.outcome for each in both for one in each) == sorted([DONE, Outcome.ALREADY] * len(EVERY))
    assert len(told(store, after=mark)) == len(EVERY)
    assert everywhere(store) == sorted(job.encode() for job in EVERY)


@pytest.mark.parametrize("was", [b"", b"\xc1", b"\x81", b"\x94\xa6failed\xa11\xa1t\xa0x", b"\x93\xa1a\xa1b\xa1c"])
def test_what_was_kept_and_cannot_be_read_moves_nothing(
    was: bytes, store: redis.Redis, operating: BullMQActions
) -> None:
    everything(store)
    send(operating, "p1")
    before = picture(store)
    [result] = operating.take_back(SHOP, [(Target(b"p1"), was)])
    assert result.outcome in (Outcome.UNSUPPORTED, Outcome.WRONG_STATE)
    assert result.why
    assert picture(store) == before


def test_a_result_that_was_too_long_to_be_kept_keeps_its_job_where_it_is(
    store: redis.Redis, operating: BullMQActions
) -> None:
    put(store, "x", "completed", returnvalue='"' + "x" * 70_000 + '"')
    [sent] = send(operating, "x", state=State.COMPLETED)
    [result] = _take_back(operating, [sent])
    assert result.outcome is Outcome.UNSUPPORTED
    assert "too long" in result.why
    assert places(store) == {"wait": [b"x"]}
    put(store, "y", "failed", failedReason="y" * 70_000)
    assert [one.outcome for one in _take_back(operating, send(operating, "y"))] == [DONE]
    assert fields(store, "y")[b"failedReason"] == b"y" * 65_536 + b" ... (70000 bytes)"


@pytest.mark.parametrize("paused", [False, True], ids=["open", "paused"])
def test_jobs_of_a_long_list_are_taken_back_without_a_look_through_it_for_each(
    store: redis.Redis, operating: BullMQActions, paused: bool
) -> None:
    queue = seed_queue(store, "shop", paused=paused, failed=1_000, version="bullmq:5.81.5")
    seed_queue(store, "shop", paused=paused, version="bullmq:5.81.5", **{"parked" if paused else "waiting": 8_000})  # type: ignore[arg-type]
    waiting = b"bull:shop:paused" if paused else b"bull:shop:wait"
    before, failed = store.lrange(waiting, 0, -1), store.zrange("bull:shop:failed", 0, -1, withscores=True)
    sent = send(operating, *[str(number) for number in range(1, 1_001)], seen=b"")
    assert store.llen(waiting) == 9_000
    store.config_resetstat()
    results = _take_back(operating, sent, queue)
    assert {one.outcome for one in results} == {DONE}
    assert [one.id for one in results] == [one.id for one in sent]
    assert store.lrange(waiting, 0, -1) == before
    assert store.zrange("bull:shop:failed", 0, -1, withscores=True) == failed
    stats = store.info("commandstats")
    assert isinstance(stats, dict)
    assert "cmdstat_lpos" not in stats
    assert receipts(store) == []
