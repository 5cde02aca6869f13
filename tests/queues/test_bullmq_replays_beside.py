"""What goes with a job that is sent: the original of a copy, and a letter beside either, in the same moment."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from queues.actions import NewJob, Outcome, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.errors import ReadOnly
from queues.sendings import Conflict, Copy, Letter, Original, Sent
from queues.types import QueueRef, State
from tests.node import Node
from tests.queues.moving import LISTS, everywhere, places, put, told
from tests.queues.sent_jobs import (
    DONE,
    OTHER,
    PLAN,
    SHOP,
    STAY,
    copy,
    in_place,
    outcomes,
    receipts,
    send,
    token,
    told_by,
)
from tests.seed import seed_job
from tests.valkey import Server

DEAD = QueueRef("main", b"bull", b"shop-dlq")
AT = 1_700_000_000_000
DEEP = 2_600  # entries on either side: more than a script looks through for each


def of(job: str, *, queue: QueueRef = DEAD, seen: object = AT, state: State | None = None) -> Copy:
    """A copy of a letter, or of a job of another state, which goes with it."""
    original = Original(queue, Target(job.encode(), str(seen).encode()), state, goes=True)
    return replace(copy(job), original=original)


def post(store: redis.Redis, *ids: str, into: str = "wait") -> None:
    for job in ids:
        seed_job(store, DEAD, job, timestamp=AT)
        if into in LISTS:
            store.lpush(f"bull:shop-dlq:{into}", job)
        else:
            store.zadd(f"bull:shop-dlq:{into}", {job: 7})


def asked(operating: BullMQActions, *copies: Copy, plan: str = PLAN, queue: QueueRef = SHOP) -> list[Sent]:
    return list(operating.send_copies(queue, copies, plan=plan, new_ids=False))


@pytest.mark.parametrize("into", ["wait", "paused", "prioritized", "delayed"])
def test_a_letter_goes_as_its_copy_comes_wherever_it_waits(
    into: str, store: redis.Redis, operating: BullMQActions
) -> None:
    post(store, "a", "b", "c", into=into)
    store.rpush("bull:shop-dlq:b:logs", "a line")
    [sent] = asked(operating, of("b"))
    assert (sent.outcome, sent.made, sent.away) == (DONE, b"1", True)
    assert sorted(everywhere(store, "shop-dlq")) == [b"a", b"c"]
    assert not store.exists("bull:shop-dlq:b", "bull:shop-dlq:b:logs")
    state = b"waiting" if into in LISTS else into.encode()
    assert told(store, "shop-dlq") == [{b"event": b"removed", b"jobId": b"b", b"prev": state}]
    assert places(store) == {"wait": [b"1"]}


@pytest.mark.parametrize("state", [State.FAILED, State.COMPLETED])
def test_a_job_that_has_ended_goes_as_its_copy_comes_to_another_queue(
    state: State, store: redis.Redis, operating: BullMQActions
) -> None:
    put(store, "a", state.value)
    other = QueueRef("main", b"bull", b"other")
    [sent] = asked(operating, of("a", queue=SHOP, seen=STAY.decode(), state=state), queue=other)
    assert (sent.outcome, sent.away) == (DONE, True)
    assert (places(store), everywhere(store, "other")) == ({}, [b"1"])
    assert receipts(store) == [token("a").encode()], "beside what was copied"


def test_of_what_is_not_there_as_it_was_seen_no_copy_is_made(store: redis.Redis, operating: BullMQActions) -> None:
    put(store, "again", "failed")
    put(store, "moved", "wait")
    post(store, "later", "prior", "runs", "ended")
    store.lrem("bull:shop-dlq:wait", 0, "runs")
    store.lpush("bull:shop-dlq:active", "runs")
    store.lrem("bull:shop-dlq:wait", 0, "ended")
    store.zadd("bull:shop-dlq:completed", {"ended": 5})
    before = {name: everywhere(store, name) for name in ("shop", "shop-dlq")}
    sent = asked(
        operating,
        of("gone"),
        of("later", seen=AT + 1),
        of("runs"),
        of("ended"),
        of("again", queue=SHOP, seen=5, state=State.FAILED),
        of("moved", queue=SHOP, seen=STAY.decode(), state=State.FAILED),
        of("nobody", queue=SHOP, seen=STAY.decode(), state=State.FAILED),
    )
    assert [(one.conflict, one.note) for one in sent] == [
        (Conflict.GONE, ""),
        (Conflict.LEFT, "waiting"),
        (Conflict.LEFT, "active"),
        (Conflict.LEFT, "completed"),
        (Conflict.LEFT, "failed"),
        (Conflict.LEFT, "waiting"),
        (Conflict.GONE, ""),
    ]
    assert {name: everywhere(store, name) for name in ("shop", "shop-dlq")} == before
    assert receipts(store) == []


def test_one_letter_is_copied_once_wherever_to(store: redis.Redis, operating: BullMQActions) -> None:
    post(store, "kept")
    stays = replace(of("kept"), original=Original(DEAD, Target(b"kept", str(AT).encode())))
    other = QueueRef("main", b"bull", b"other")
    assert outcomes(asked(operating, stays)) == [DONE]
    [second] = asked(operating, stays, plan=OTHER, queue=other)
    assert (second.outcome, second.plan, second.conflict) == (Outcome.ALREADY, PLAN, Conflict.SENT_BEFORE)
    assert everywhere(store, "other") == []
    [again] = asked(operating, stays)
    assert (again.again, again.away, everywhere(store, "shop-dlq")) == (True, False, [b"kept"])
    assert told_by(operating, DEAD, token("kept")) == [(PLAN, b"1")]


def test_what_stands_deep_in_a_long_list_or_is_held_is_left_to_be_removed(
    store: redis.Redis, operating: BullMQActions
) -> None:
    with store.pipeline(transaction=False) as pipe:
        for number in range(2 * DEEP):
            pipe.hset(f"bull:shop-dlq:l{number}", mapping={"name": "x", "timestamp": AT})
            pipe.lpush("bull:shop-dlq:wait", f"l{number}")
        pipe.execute()
    store.set("bull:shop-dlq:l3:lock", "a worker")
    last = 2 * DEEP - 1
    sent = asked(operating, *(of(f"l{number}") for number in (0, 3, DEEP, last)))
    assert [(one.outcome, one.away) for one in sent] == [(DONE, True), (DONE, False), (DONE, False), (DONE, True)]
    left = set(everywhere(store, "shop-dlq"))
    assert {b"l3", b"l%d" % DEEP} <= left
    assert not {b"l0", b"l%d" % last} & left
    assert len(left) == 2 * DEEP - 2


def test_a_letter_beside_a_job_goes_as_the_job_is_sent(store: redis.Redis, operating: BullMQActions) -> None:
    for job in ("a", "b", "c", "urgent"):
        put(store, job, "failed", **({"priority": "3", "opts": '{"priority":3}'} if job == "urgent" else {}))
    post(store, "of-a", "of-c", "of-urgent", "else")
    letters = {"a": "of-a", "c": "nobody", "urgent": "of-urgent"}
    jobs = [
        replace(job, letter=Letter(DEAD, letters[name].encode()) if name in letters else None)
        for name, job in zip(("a", "b", "c", "urgent"), in_place("a", "b", "c", "urgent"), strict=True)
    ]
    sent = operating.send(SHOP, jobs, state=State.FAILED, plan=PLAN, reset=False, twins=False, orphans=True)
    assert [(one.outcome, one.away) for one in sent] == [(DONE, True), (DONE, False), (DONE, True), (DONE, True)]
    assert sorted(everywhere(store, "shop-dlq")) == [b"else", b"of-c"]
    assert places(store) == {"wait": [b"c", b"b", b"a"], "prioritized": [b"urgent"]}
    post(store, "of-a")
    assert outcomes(send(operating, "a")) == [DONE], "again"
    assert b"of-a" in everywhere(store, "shop-dlq"), "another letter of the same id"


def test_a_letter_goes_with_a_copy_of_its_job(store: redis.Redis, operating: BullMQActions) -> None:
    put(store, "a", "failed")
    post(store, "of-a")
    both = replace(of("a", queue=SHOP, seen=STAY.decode(), state=State.FAILED), letter=Letter(DEAD, b"of-a"))
    [sent] = asked(operating, both)
    assert (sent.away, places(store), everywhere(store, "shop-dlq")) == (True, {"wait": [b"1"]}, [])


def test_where_we_may_not_write_to_the_queue_of_the_letters_nothing_is_sent(
    store: redis.Redis, operating: BullMQActions, server: Server
) -> None:
    post(store, "a")
    store.acl_setuser("half", enabled=True, passwords=["+x"], keys=["bull:shop:*"], commands=["+@all"])
    host, port = server.url.removeprefix("redis://").removesuffix("/0").split(":")
    half = BullMQActions(replace(server.config(), url=f"redis://half:x@{host}:{port}/0"))
    try:
        with pytest.raises(ReadOnly):
            asked(half, of("a"))
    finally:
        half.close()
        store.acl_deluser("half")
    assert (everywhere(store), everywhere(store, "shop-dlq")) == ([], [b"a"])


# Each job fails again as soon as a worker has it, nothing of it is kept, and a letter is posted under one id.
POST = """
const box = queue(args.major, "shop-dlq");
keep.posted = 0;
const w = worker(args.major, "shop", async () => { throw new Error("again"); }, { concurrency: 20 });
w.on("failed", async (job) => {
  await box.add("dead", { queue: "shop", jobId: job.id, data: job.data }, { jobId: `of-${job.id}` });
  keep.posted += 1;
});
"""
POSTED = "await until(() => keep.posted >= args.count);"


@pytest.mark.parametrize("new", [5, 6], ids=["bullmq5", "bullmq6"])
def test_a_letter_that_is_posted_again_under_its_id_is_never_lost(
    new: int, *, node: Node, server: Server, operating: BullMQActions, store: redis.Redis
) -> None:
    count = 200
    node.run(POST, url=server.url, major=new)
    post(store, *(f"of-{number}" for number in range(count)))
    job = NewJob(b"job", b"{}", b'{"removeOnFail":true}')
    copies = [replace(of(f"of-{number}"), job=job) for number in range(count)]
    for first in range(0, count, 40):
        assert {one.away for one in asked(operating, *copies[first : first + 40])} == {True}
    node.run(POSTED, url=server.url, count=count)
    assert everywhere(store, "shop-dlq") == sorted(b"of-%d" % number for number in range(1, count + 1))
    assert everywhere(store) == []
