"""What tests of actions look at: where the jobs of a queue are, what is told of it, and two that press at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

import redis

from queues.actions import Outcome, Result, Target

LISTS = ("wait", "paused", "active")
SETS = ("prioritized", "delayed", "completed", "failed", "waiting-children")
# A worker that has nothing to do and, unless it is woken, looks again in a minute; and what it has done then.
IDLE = """
const q = queue(args.major, "shop");
await q.waitUntilReady();
keep.worked = [];
keep.worker = worker(args.major, "shop", async (job) => { keep.worked.push(job.id); }, { drainDelay: 60 });
await keep.worker.waitUntilReady();
await sleep(500);
"""
WORKED = "await until(async () => keep.worked.length === args.count, args.within ?? 20000); return keep.worked;"

T = TypeVar("T")


def places(store: redis.Redis, queue: str = "shop", prefix: str = "bull") -> dict[str, list[bytes]]:
    """The ids in each collection that holds any, as they stand; markers of 4.x too."""
    base = f"{prefix}:{queue}:"
    found = {name: cast(list[bytes], store.lrange(base + name, 0, -1)) for name in LISTS}
    found |= {name: cast(list[bytes], store.zrange(base + name, 0, -1)) for name in SETS}
    return {name: ids for name, ids in found.items() if ids}


def everywhere(store: redis.Redis, queue: str = "shop", prefix: str = "bull") -> list[bytes]:
    """All ids of a queue, as often as they stand somewhere, without markers."""
    return sorted(job for ids in places(store, queue, prefix).values() for job in ids if not job.startswith(b"0:"))


def told(store: redis.Redis, queue: str = "shop", after: bytes = b"-") -> list[dict[bytes, bytes]]:
    """The events of a queue, field by field and in their order, after one that was the last."""
    begin = after if after == b"-" else b"(" + after
    entries = cast(list[tuple[bytes, dict[bytes, bytes]]], store.xrange(f"bull:{queue}:events", begin, "+"))
    return [fields for _id, fields in entries]


def last_told(store: redis.Redis, queue: str = "shop") -> bytes:
    entries = cast(list[tuple[bytes, object]], store.xrevrange(f"bull:{queue}:events", count=1))
    return entries[0][0] if entries else b"-"


def fields(store: redis.Redis, job: str, queue: str = "shop") -> dict[bytes, bytes]:
    return cast(dict[bytes, bytes], store.hgetall(f"bull:{queue}:{job}"))


def put(store: redis.Redis, job: str | bytes, into: str, **changed: str | None) -> None:
    """A plain job of `shop` in one of its collections; a field that is None is not there."""
    name = job.encode() if isinstance(job, str) else job
    plain = {"name": "send", "data": "{}", "opts": "{}", "timestamp": "1700000000000", "delay": "0", "priority": "0"}
    fields = {field: value for field, value in {**plain, **changed}.items() if value is not None}
    store.hset(b"bull:shop:" + name, items=[part for pair in fields.items() for part in pair])
    if into in LISTS:
        store.lpush(f"bull:shop:{into}", name)
    else:
        store.zadd(f"bull:shop:{into}", {name: 1700000000001})


def outcomes(results: Sequence[Result]) -> list[Outcome]:
    return [result.outcome for result in results]


def targets(*ids: str | bytes, seen: Mapping[str, bytes] | None = None) -> list[Target]:
    return [Target(job if isinstance(job, bytes) else job.encode(), (seen or {}).get(str(job), b"")) for job in ids]


def at_once(press: Callable[[], T], *, times: int = 2) -> list[T]:
    """What each of several threads got that pressed in the same moment."""
    gate, got = threading.Barrier(times), cast(list[T], [])

    def run() -> None:
        gate.wait()
        got.append(press())

    threads = [threading.Thread(target=run) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == times
    return got
