"""Any sequence of adding, pausing, resuming, removing, draining and cleaning: no job is lost, none is left over."""

from __future__ import annotations

import time
from collections import Counter
from typing import cast

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from queues.actions import Clock, Outcome, Step, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.types import QueueRef, State
from tests.node import Node
from tests.queues.sweeping import to_the_end
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
ADD = """
const opts = { plain: {}, first: { lifo: true }, urgent: { priority: 7 }, later: { delay: 3600000 } }[args.kind];
const jobs = args.ids.map((id) => ({ name: "send", data: {}, opts: { jobId: id, ...opts } }));
await queue(args.major, "shop").addBulk(jobs);
"""
FINISH = """
const q = queue(args.major, "shop");
await Promise.all((await q.getDelayed()).map((job) => job.promote()));
const seen = [];
worker(args.major, "shop", async (job) => { seen.push(job.id); });
await until(async () => seen.length >= args.count && (await q.getActiveCount()) === 0);
return seen;
"""
KINDS = st.sampled_from(["plain", "first", "urgent", "later"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), KINDS, st.sampled_from([5, 6]), st.integers(1, 6)),
        st.tuples(st.just("pause")),
        st.tuples(st.just("resume")),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 30), min_size=1, max_size=8)),
        st.tuples(st.just("drain"), st.booleans()),
        st.tuples(st.just("clean"), st.sampled_from([State.WAITING, State.PRIORITIZED, State.DELAYED])),
    ),
    min_size=3,
    max_size=10,
)


def later() -> int:
    return int(time.time() * 1000) + 1000


def collected(store: redis.Redis) -> Counter[bytes]:
    """How often each id stands in a collection."""
    found: Counter[bytes] = Counter()
    for name in ("wait", "paused", "active"):
        found.update(cast(list[bytes], store.lrange(f"bull:shop:{name}", 0, -1)))
    for name in ("prioritized", "delayed", "completed", "failed", "waiting-children"):
        found.update(cast(list[bytes], store.zrange(f"bull:shop:{name}", 0, -1)))
    return found


def removed_by(operating: BullMQActions, what: str, how: list[object]) -> int:
    """Does one thing and tells how many jobs went by what it says."""

    def drain(cursor: str) -> Step:
        return operating.drain(SHOP, delayed=bool(how[0]), until_ms=later(), cursor=cursor)

    def clean(cursor: str) -> Step:
        return operating.clean(SHOP, cast(State, how[0]), clock=Clock.CREATED, before_ms=later(), cursor=cursor)

    if what == "pause":
        operating.pause(SHOP)
    elif what == "resume":
        to_the_end(lambda _at: operating.resume(SHOP))
    elif what == "remove":
        asked = [Target(b"j-%d" % n) for n in dict.fromkeys(cast(list[int], how[0]))]
        told = operating.remove(SHOP, asked, state=None, children=False)
        return sum(1 for one in told if one.outcome is Outcome.DONE)
    else:
        return to_the_end(drain if what == "drain" else clean)[0]
    return 0


@pytest.mark.parametrize("major", [5, 6])
@given(steps=STEPS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_jobs_before_are_those_after_and_those_removed(
    *, major: int, steps: list[tuple[str, ...]], node: Node, valkey_server: Server, valkey: redis.Redis
) -> None:
    valkey.flushall()
    valkey.hset("bull:shop:meta", "version", f"bullmq:{major}.0.0")
    operating = BullMQActions(valkey_server.config())
    added, gone, held = list[str](), 0, Counter[bytes]()
    for what, *how in steps:
        if what == "add":
            ids = [f"j-{len(added) + n}" for n in range(int(how[2]))]
            node.run(ADD, url=valkey_server.url, major=how[1], kind=how[0], ids=ids)
            added += ids
        else:
            gone += removed_by(operating, what, list(how))
        held = collected(valkey)
        assert set(held.values()) <= {1}, "a job stands in one place"
        assert {b"bull:shop:" + job for job in held} == set(cast(list[bytes], valkey.keys("bull:shop:j-*")))
        assert len(held) == len(added) - gone
    removed_by(operating, "resume", [])
    seen = cast(list[str], node.run(FINISH, url=valkey_server.url, major=major, count=len(held)))
    assert sorted(job.encode() for job in seen) == sorted(held)
    node.reset()
    operating.close()
