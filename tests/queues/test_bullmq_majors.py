"""Two majors that write one queue in turn, as in a fleet during its upgrade: read as the keys stand at each step."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from typing import cast

import pytest
import redis

from queues.backends.bullmq.reader import BullMQ
from queues.types import JobRef, Order, QueueRef, State
from tests.node import MAJORS, Node
from tests.policy import rounds
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
PAIRS = list(combinations(MAJORS, 2))
# A queue of each major stays open for a whole run; what each step does is in `args.op`.
STEP = """
const q = keep[args.major] ??= queue(args.major, "shop");
await q.waitUntilReady();
const add = (opts) => q.add("job", { n: args.id }, { jobId: args.id, ...opts });
await ({
  add: () => add({}),
  first: () => add({ lifo: true }),
  urgent: () => add({ priority: 3 }),
  later: () => add({ delay: 3600000 }),
  pause: () => q.pause(),
  resume: () => q.resume(),
  work: async () => {
    const w = worker(args.major, "shop", async (job) => { if (job.data.n.endsWith("7")) throw new Error("seven"); });
    await sleep(300);
    await w.close();
  },
})[args.op]();
"""
OPS = ("add", "add", "add", "first", "urgent", "later", "pause", "resume", "resume", "work")
LISTS = {b"wait": State.WAITING, b"paused": State.WAITING, b"active": State.ACTIVE}
SETS = (State.PRIORITIZED, State.DELAYED, State.COMPLETED, State.FAILED)


@pytest.mark.soak
def test_what_two_majors_write_in_turn_is_read_as_the_keys_stand(
    bullmq: BullMQ, node: Node, server: Server, store: redis.Redis, rng: random.Random
) -> None:
    pairs = PAIRS * rounds(sample=1, soak=20)
    for pair in rng.sample(pairs, rounds(sample=1, soak=len(pairs))):
        node.reset()
        store.flushall()
        added: list[str] = []
        done: list[str] = []
        for number in range(rounds(sample=20, soak=60)):
            major, op = pair[number % 2], rng.choice(OPS)
            node.run(STEP, url=server.url, major=major, op=op, id=f"job-{number}")
            added += [f"job-{number}"] if op in ("add", "first", "urgent", "later") else []
            done.append(f"{major}.x {op}")
            _compare(bullmq, store, added, " · ".join(done))


def _compare(bullmq: BullMQ, store: redis.Redis, added: Sequence[str], done: str) -> None:
    """What our reader says against the raw keys. Majors can lose each other's jobs: then no list has them."""
    raw = _raw(store)
    counts = bullmq.counts([SHOP])[SHOP]
    depths = {state: len(raw.get(state, ())) for state in State}
    waiting = depths[State.WAITING] + _hidden(store, "wait") + _hidden(store, "paused")
    assert counts.by_state == depths | {State.WAITING: waiting}, done
    assert counts.paused == store.hexists("bull:shop:meta", "paused"), done
    assert counts.parked in (0, len(_ids(store, b"paused")) + _hidden(store, "paused")), done
    for state in State:
        assert sorted(_walk(bullmq, state)) == sorted(raw.get(state, ())), done
    for job in map(str.encode, added):
        expected: list[State] = [state for state, jobs in raw.items() if job in jobs]
        found = bullmq.job(JobRef(SHOP, job))
        assert list(found.states) == expected, (job, done)
        assert not found.state_inferred, (job, done)
        assert [hit.state for hit in bullmq.find([SHOP], job)] == [expected[0] if expected else None], (job, done)


def _raw(store: redis.Redis) -> dict[State, list[bytes]]:
    found: dict[State, list[bytes]] = {}
    for suffix, state in LISTS.items():
        found.setdefault(state, []).extend(_ids(store, suffix))
    return found | {state: _bytes(store.zrange(f"bull:shop:{state.value}", 0, -1)) for state in SETS}


def _ids(store: redis.Redis, suffix: bytes) -> list[bytes]:
    """Without the markers that 4.x leaves in its lists."""
    return [job for job in _bytes(store.lrange(b"bull:shop:" + suffix, 0, -1)) if not job.startswith(b"0:")]


def _hidden(store: redis.Redis, name: str) -> int:
    """Markers with jobs on both sides, by a LIFO job. They are counted: to find one is to read the whole list."""
    return sum(entry.startswith(b"0:") for entry in _bytes(store.lrange(f"bull:shop:{name}", 1, -2)))


def _bytes(reply: object) -> list[bytes]:
    """For redis-py's types, which know of clients that decode and of scores."""
    return cast(list[bytes], reply)


def _walk(bullmq: BullMQ, state: State) -> list[bytes]:
    page = bullmq.jobs(SHOP, [state], size=20, order=Order.OLDEST)
    found = [row.ref.id for row in page.rows]
    while page.next:
        page = bullmq.jobs(SHOP, [state], size=20, order=Order.OLDEST, cursor=page.next)
        found += [row.ref.id for row in page.rows]
    return found
