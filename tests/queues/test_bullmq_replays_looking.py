"""What is read before jobs are sent, and after: what stands in the way of each, and how it stands."""

from __future__ import annotations

from typing import cast

import pytest
import redis

from queues.actions import NewJob, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.sendings import Conflict, Fate, Looked, Standing
from queues.types import State
from tests.hostile import JOBS
from tests.node import Node
from tests.queues.moving import put
from tests.queues.sent_jobs import EVERY, SHOP, STAY, copy, everything, picture, send, send_copies
from tests.seed import seed_job, seed_queue
from tests.valkey import Server

# Of four sent jobs one completes, one fails for good, one waits for its next attempt, and one is at work.
LIVES = """
const q = queue(args.major, "shop");
const fails = async () => { throw new Error("no"); };
const w = worker(args.major, "shop", fails);
await q.addBulk(["good", "bad", "later", "long", "still"].map((id) => ({ name: "n", data: {}, opts: { jobId: id } })));
await until(async () => (await q.getFailedCount()) === 5);
await w.close();
"""
RUN = """
const q = queue(args.major, "shop");
keep.go = null;
const w = worker(args.major, "shop", async (job) => {
  if (job.id === "long") await new Promise((go) => { keep.go = go; });
  if (job.id !== "good") throw new Error("again");
  return 1;
}, { concurrency: 4 });
await until(async () => keep.go && (await q.getFailedCount()) === args.failed && (await q.getCompletedCount()) === 1);
await q.pause();
"""
LET_GO = "keep.go();"


def _look(operating: BullMQActions, *ids: str, state: State = State.FAILED, seen: bytes = b"") -> list[Looked]:
    return list(operating.look(SHOP, [Target(job.encode(), seen) for job in ids], state=state))


def test_what_a_plan_has_to_know_of_failed_jobs_is_told(store: redis.Redis, operating: BullMQActions) -> None:
    everything(store)
    put(store, "torn", "failed", opts="[]", name="<b>" + "x" * 300)
    put(store, "many", "failed", opts='{"attempts":5}', attemptsMade="2", timestamp="17")
    put(store, "fine", "completed")
    put(store, "twin", "wait", deid="one")
    put(store, "orphan", "failed", parentKey="bull:orders:nobody")
    store.set("bull:shop:de:one", "twin")
    store.zadd("bull:shop:failed", {"ghost": 1, "meta": 1})
    store.zrem("bull:orders:waiting-children", "beside-parent")
    before = picture(store)
    found = _look(operating, *EVERY, "torn", "many", "fine", "twin", "orphan", "ghost", "never", "meta")
    told = {one.id.decode(): (one.conflict, one.note) for one in found}
    assert told == {
        **dict.fromkeys(EVERY, (Conflict.NONE, "")),
        "unique": (Conflict.TWIN, "twin"),
        "revived": (Conflict.PARENT_FAILED, "bull:orders:revived-parent"),
        "beside": (Conflict.PARENT_GONE, "bull:orders:beside-parent"),
        "torn": (Conflict.DAMAGED, "opts"),
        "many": (Conflict.NONE, ""),
        "fine": (Conflict.LEFT, "completed"),
        "twin": (Conflict.LEFT, "waiting"),
        "orphan": (Conflict.PARENT_GONE, "bull:orders:nobody"),
        "ghost": (Conflict.GONE, ""),
        "never": (Conflict.GONE, ""),
        "meta": (Conflict.DAMAGED, "data"),
    }
    by_id = {one.id.decode(): one for one in found}
    assert by_id["many"] == Looked(b"many", Conflict.NONE, "", b"send", 17, 1700000000001, 2, 5)
    assert by_id["p1"] == Looked(b"p1", Conflict.NONE, "", b"send", 1700000000000, 1700000000001, 3, 0)
    assert (by_id["torn"].name, by_id["torn"].attempts_max) == (b"<b>" + b"x" * 197, None)
    assert by_id["ghost"].created_ms is None
    assert picture(store) == before
    assert [one.conflict for one in _look(operating, "p1", seen=b"1600000000000")] == [Conflict.LEFT]
    assert [one.conflict for one in _look(operating, "fine", "p1", state=State.COMPLETED)] == [
        Conflict.NONE,
        Conflict.LEFT,
    ]


def test_letters_are_looked_for_wherever_they_wait(store: redis.Redis, operating: BullMQActions) -> None:
    for number, place in enumerate(("wait", "paused", "prioritized", "delayed", "active", "completed", "failed")):
        put(store, f"in {place}", place, timestamp=str(number))
    seed_job(store, SHOP, "nowhere")
    store.lpush("bull:shop:wait", "ghost")
    waiting = ("in wait", "in paused", "in prioritized", "in delayed")
    found = _look(operating, *waiting, "in active", "in completed", "nowhere", "ghost", "never", state=State.WAITING)
    assert [(one.conflict, one.note) for one in found] == [
        *[(Conflict.NONE, "")] * 4,
        (Conflict.LEFT, "active"),
        (Conflict.LEFT, "completed"),
        (Conflict.LEFT, ""),
        (Conflict.GONE, ""),
        (Conflict.GONE, ""),
    ]
    assert [one.failed_ms for one in found] == [None] * 9
    for job, seen, conflict in (
        ("in wait", b"0", Conflict.NONE),
        ("in wait", b"7", Conflict.LEFT),
        ("in delayed", b"3", Conflict.NONE),
        ("in delayed", STAY, Conflict.NONE),
        ("in delayed", b"4", Conflict.LEFT),
    ):
        assert _look(operating, job, state=State.WAITING, seen=seen)[0].conflict is conflict, (job, seen)


def test_letters_of_a_long_list_are_judged_by_their_hashes(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=10_500)
    seed_job(store, SHOP, "ended", finishedOn=1)
    seed_job(store, SHOP, "taken")
    store.set("bull:shop:taken:lock", "token")
    store.config_resetstat()
    asked = [Target(b"%d" % number) for number in range(1, 999)] + [Target(b"ended"), Target(b"taken")]
    found = operating.look(SHOP, asked, state=State.WAITING)
    assert {one.conflict for one in found[:998]} == {Conflict.NONE}
    assert [(one.conflict, one.note) for one in found[998:]] == [(Conflict.LEFT, ""), (Conflict.LEFT, "active")]
    assert "cmdstat_lpos" not in cast("dict[str, object]", store.info("commandstats"))


@pytest.mark.parametrize("label", JOBS)
def test_no_job_is_too_odd_to_be_looked_at(label: str, store: redis.Redis, operating: BullMQActions) -> None:
    odd = {name: value for name, value in JOBS[label].items() if value is not None}
    seed_job(store, SHOP, "odd", **odd)
    for name, value in JOBS[label].items():
        if value is None:
            store.hdel("bull:shop:odd", name)
    put(store, "plain", "failed")
    store.zadd("bull:shop:failed", {"odd": 1})
    odd_one, plain = _look(operating, "odd", "plain")
    assert odd_one.conflict in (Conflict.NONE, Conflict.DAMAGED, Conflict.GONE, Conflict.PARENT_GONE)
    assert plain.conflict is Conflict.NONE
    assert operating.standings(SHOP, [b"odd"])[0].fate in (Fate.FAILED, Fate.GONE)
    results = send(operating, "odd", "plain", seen=b"")
    assert results[1].made == b"plain"
    assert (results[0].made == b"odd") is (odd_one.conflict in (Conflict.NONE, Conflict.PARENT_GONE))


def test_how_sent_jobs_stand_is_told_through_their_lives(
    major: int, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    node.run(LIVES, url=server.url, major=major)
    score = store.zscore("bull:shop:failed", "bad")
    store.hset("bull:shop:later", "opts", '{"attempts":9,"backoff":{"type":"fixed","delay":3600000}}')
    ids = [b"long", b"good", b"bad", b"later", b"never"]
    assert [one.fate for one in operating.standings(SHOP, ids)] == [Fate.FAILED] * 4 + [Fate.GONE]
    send(operating, "long", "good", "bad", "later", seen=b"")
    assert [one.fate for one in operating.standings(SHOP, ids)] == [Fate.WAITING] * 4 + [Fate.GONE]
    store.hset("bull:shop:long", "opts", '{"attempts":9}')
    node.run(RUN, url=server.url, major=major, failed=2)
    long, good, bad, later, never = operating.standings(SHOP, ids)
    assert (long.fate, good.fate, later.fate, never) == (
        Fate.RUNNING,
        Fate.COMPLETED,
        Fate.RETRYING,
        Standing(Fate.GONE),
    )
    assert (bad.fate, bad.attempts) == (Fate.FAILED, 2)
    assert (bad.ended_ms or 0) > (score or 0)
    assert later.attempts == 2
    node.run(LET_GO, url=server.url)
    node.run('await until(async () => (await queue(args.major, "shop").getActiveCount()) === 0);', url=server.url,
             major=major)  # fmt: skip
    assert [one.fate for one in operating.standings(SHOP, [b"long"])] == [Fate.RETRYING]


def test_standings_in_lists_that_are_long_are_told_by_hash(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=10_500, delayed=1, prioritized=1, waiting_children=1, active=1)
    sent = send_copies(operating, copy("a"), copy("b"))
    store.hset("bull:shop:7", mapping={"atm": "1", "failedReason": "no"})
    store.set("bull:shop:8:lock", "token")
    seed_job(store, SHOP, "ended", finishedOn=1)
    ids = [*(one.made for one in sent), b"7", b"8", b"10501", b"10502", b"10503", b"10504", b"ended", b"never", b"wait"]
    store.config_resetstat()
    found = operating.standings(SHOP, ids)
    assert "cmdstat_lpos" not in cast("dict[str, object]", store.info("commandstats"))
    fates = {id_: one.fate for id_, one in zip(ids, found, strict=True)}
    assert [fates[one.made] for one in sent] == [Fate.WAITING] * 2
    assert (fates[b"7"], fates[b"8"]) == (Fate.RETRYING, Fate.RUNNING)
    assert (fates[b"ended"], fates[b"never"], fates[b"wait"]) == (Fate.GONE,) * 3
    assert sorted(fates[one] for one in ids[4:8]) == sorted([Fate.WAITING, Fate.WAITING, Fate.RUNNING, Fate.RUNNING])


def test_nothing_is_asked_where_nothing_is_to_be_looked_at(store: redis.Redis, operating: BullMQActions) -> None:
    sent = operating.commands_sent
    assert _look(operating) == []
    assert operating.look_copies(SHOP, []) == []
    assert operating.standings(SHOP, []) == []
    assert operating.receipts(SHOP, []) == []
    assert operating.take_back(SHOP, []) == []
    operating.drop_receipts(SHOP, [])
    assert operating.commands_sent == sent
    assert operating.look_copies(SHOP, [NewJob(b"a", b"")])[0].conflict is Conflict.NONE
