"""What tests of sending again begin with: failed jobs of every sort, what a server holds, and receipts by their ids."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

import pytest
import redis

from queues.actions import NewJob, Outcome, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.backends.bullmq.replies import Part, Reply
from queues.backends.bullmq.writer import Writer
from queues.errors import Unreachable
from queues.sendings import Copy, InPlace, Sent
from queues.types import QueueRef, State
from tests.queues.moving import put
from tests.seed import seed_job

SHOP = QueueRef("main", b"bull", b"shop")
ORDERS = QueueRef("main", b"bull", b"orders")  # of the parents
PLAN, OTHER = "a" * 32, "b" * 32
DONE = Outcome.DONE
STAY = b"1700000000001"  # the score that `put` gives

# The jobs of `everything`.
EVERY = ("p1", "urgent", "p2", "p3", "unique", "child", "first", "revived", "beside", "p4")


def token(job: bytes | str) -> str:
    """The receipt of a job: any id as what may stand in a key."""
    return (job.encode() if isinstance(job, str) else job).hex()[:60] or "none"


def in_place(*ids: bytes | str, seen: bytes = STAY) -> list[InPlace]:
    return [InPlace(Target(job.encode() if isinstance(job, str) else job, seen), token(job)) for job in ids]


def send(
    operating: BullMQActions,
    *ids: bytes | str,
    plan: str = PLAN,
    seen: bytes = STAY,
    state: State = State.FAILED,
    reset: bool = False,
    twins: bool = False,
    orphans: bool = True,
    drop: Sequence[str] = (),
) -> list[Sent]:
    jobs = in_place(*ids, seen=seen)
    return list(
        operating.send(SHOP, jobs, state=state, plan=plan, reset=reset, twins=twins, orphans=orphans, drop=drop)
    )


def copy(job: str, data: bytes = b"{}", opts: bytes = b"{}", *, id: bytes = b"") -> Copy:  # noqa: A002
    """A copy, whose receipt is named by what it is a copy of."""
    return Copy(NewJob(b"job", data, opts, id), token(job))


def send_copies(
    operating: BullMQActions,
    *copies: Copy,
    plan: str = PLAN,
    new_ids: bool = False,
    twins: bool = False,
    drop: Sequence[str] = (),
) -> list[Sent]:
    return list(operating.send_copies(SHOP, copies, plan=plan, new_ids=new_ids, twins=twins, drop=drop))


def outcomes(results: Sequence[Sent]) -> list[Outcome]:
    return [result.outcome for result in results]


def everything(store: redis.Redis) -> None:
    """A queue whose failed jobs are in every relation that matters to one that runs again."""
    ended = {
        "failedReason": "it <b>broke</b>",
        "finishedOn": "1700000000001",
        "processedOn": "1699999999000",
        "atm": "3",
        "ats": "3",
        "stc": "1",
    }
    links = {"child": "", "revived": "fpof", "beside": "idof"}
    store.hset("bull:shop:meta", mapping={"version": "bullmq:6.7.0", "opts.maxLenEvents": "10000"})
    for job in EVERY:
        fields = dict(ended)
        if job == "urgent":
            fields |= {"priority": "5", "opts": '{"priority":5}'}
        if job == "first":
            fields |= {"opts": '{"lifo":true}'}
        if job == "unique":
            fields |= {"deid": "one", "opts": '{"de":{"id":"one"}}'}
        if job in links:
            fields |= {"parentKey": f"bull:orders:{job}-parent"}
            fields |= {
                "parent": json.dumps({"id": f"{job}-parent", "queueKey": "bull:orders", links[job] or "x": True})
            }
        put(store, job, "failed", **fields)
    for parent in ("child-parent", "revived-parent", "beside-parent"):
        seed_job(store, ORDERS, parent, timestamp=1)
    store.hset("bull:orders:meta", "version", "bullmq:6.7.0")
    store.zadd("bull:orders:waiting-children", {"child-parent": 1})
    store.sadd("bull:orders:child-parent:dependencies", "bull:shop:child")
    store.zadd("bull:orders:failed", {"revived-parent": 1})
    store.zadd("bull:orders:revived-parent:unsuccessful", {"bull:shop:revived": 1})
    store.zadd("bull:orders:waiting-children", {"beside-parent": 1})
    store.hset("bull:orders:beside-parent:failed", "bull:shop:beside", "it <b>broke</b>")
    store.sadd("bull:orders:beside-parent:dependencies", "bull:shop:other")


def picture(store: redis.Redis) -> dict[bytes, object]:
    """All that the server holds, but for receipts, events and when a child has failed."""
    keys = cast("list[bytes]", store.keys("*"))
    told = {key: _value(store, key) for key in keys if b":mirante:" not in key and not key.endswith(b":events")}
    return {key: value for key, value in told.items() if key != b"bull:shop:marker"}


def _value(store: redis.Redis, key: bytes) -> object:
    kind = cast(bytes, store.type(key))
    if kind == b"hash":
        return store.hgetall(key)
    if kind == b"list":
        return store.lrange(key, 0, -1)
    if kind == b"set":
        return store.smembers(key)
    if kind == b"zset":
        return store.zrange(key, 0, -1, withscores=not key.endswith(b":unsuccessful"))
    return store.get(key)


def told_by(operating: BullMQActions, queue: QueueRef, *names: str) -> list[tuple[str, bytes] | None]:
    """What receipts say: the plan, and the id that it made."""
    return [None if found is None else (found.plan, found.made) for found in operating.receipts(queue, names)]


def receipts(store: redis.Redis) -> list[bytes]:
    return sorted(key.rpartition(b":")[2] for key in cast("list[bytes]", store.keys("bull:shop:mirante:*")))


def lose_the_second_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the second script does is done, and nobody is told."""
    plain, calls = Writer.timed, 0

    def timed(self: Writer, name: str, queue: QueueRef, *arguments: Part) -> tuple[Reply, float]:
        nonlocal calls
        calls += 1
        answer = plain(self, name, queue, *arguments)
        if calls == 2:
            raise Unreachable("The second answer was lost.", source="main")
        return answer

    monkeypatch.setattr(Writer, "timed", timed)
