"""Queues and jobs written straight in BullMQ's layout, by the million: for benches, pages and long lists.

What the real library writes is tested against the library; this only has to be fast and alike.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence

import redis

from queues.types import QueueRef, State

VERSION = "bullmq:6.7.0"
BATCH = 5_000
ERRORS = (
    "connect ECONNREFUSED 10.0.0.12:5432",
    "Request failed with status code 503",
    "ValidationError: customer_id is required",
    'duplicate key value violates unique constraint "payments_pkey"',
)
_STACK = "Error: {reason}\n    at charge (/app/src/payments.js:41:11)\n    at Worker.processJob (/app/worker.js:7:3)"

# Jobs with the ids from `first` on and their place in one collection. Not for production: no key is declared.
_MAKE = """
local a = cjson.decode(ARGV[1])
for i = 0, a.n - 1 do
  local id, at = tostring(a.first + i), a.time + math.floor(i * a.step)
  local key, reason = a.base .. id, a.reasons[i % #a.reasons + 1]
  local row = {"name", a.names[i % #a.names + 1], "data", a.data, "opts", a.opts,
    "timestamp", string.format("%.0f", at), "delay", a.delay or "0", "priority", a.priority or "0"}
  local function put(name, value) row[#row + 1] = name; row[#row + 1] = value end
  if a.started then
    put("processedOn", string.format("%.0f", at + 20)); put("ats", "1")
  end
  if a.finished then
    put("finishedOn", string.format("%.0f", at + 170)); put("atm", "1")
  end
  if a.state == "completed" then put("returnvalue", "{\\"ok\\":true}") end
  if a.state == "failed" then put("failedReason", reason); put("stacktrace", a.stacks[i % #a.stacks + 1]) end
  redis.call("HSET", key, unpack(row))
  if a.list then
    redis.call("LPUSH", a.base .. a.list, id)
  elseif a.state == "delayed" then
    redis.call("ZADD", a.base .. "delayed", string.format("%.0f", (at + tonumber(a.delay)) * 4096), id)
  elseif a.state == "prioritized" then
    redis.call("ZADD", a.base .. "prioritized", string.format("%.0f", a.priority * 4294967296 + a.first + i), id)
  else
    redis.call("ZADD", a.base .. a.state, string.format("%.0f", at + (a.finished and 170 or 0)), id)
  end
end
"""

_LISTS = {"waiting": "wait", "active": "active", "parked": "paused"}


def seed_queue(
    client: redis.Redis,
    name: str | bytes,
    *,
    prefix: str | bytes = "bull",
    waiting: int = 0,
    prioritized: int = 0,
    active: int = 0,
    delayed: int = 0,
    waiting_children: int = 0,
    completed: int = 0,
    failed: int = 0,
    parked: int = 0,
    paused: bool = False,
    version: str = VERSION,
    names: Sequence[str] = ("send", "render", "charge"),
    data: str = '{"customerId":4711,"cents":1999}',
    errors: Sequence[str] = ERRORS,
    step_ms: float = 1000.0,
    until_ms: int | None = None,
    source: str = "main",
) -> QueueRef:
    """Add a queue with so many jobs of each state. About 100,000 jobs a second.

    Ids count upwards in the order of the arguments. Jobs of a state were created `step_ms` apart, the
    last at `until_ms` (now); `parked` is 5.x's paused list. A queue without jobs is only its meta hash.
    """
    ref = QueueRef(source, _bytes(prefix), _bytes(name))
    base = b"%b:%b:" % (ref.prefix, ref.name)
    meta = (
        {"opts.maxLenEvents": "10000"} | ({"version": version} if version else {}) | ({"paused": "1"} if paused else {})
    )
    write_hash(client, base + b"meta", meta)
    amounts = {
        "waiting": waiting,
        "prioritized": prioritized,
        "active": active,
        "delayed": delayed,
        "waiting-children": waiting_children,
        "completed": completed,
        "failed": failed,
        "parked": parked,
    }
    common: dict[str, object] = {
        "base": base.decode("utf-8"),
        "names": list(names),
        "reasons": list(errors),
        "stacks": [json.dumps([_STACK.format(reason=reason)]) for reason in errors],
        "data": data,
        "opts": '{"attempts":3,"backoff":{"delay":1000,"type":"exponential"}}',
        "step": step_ms,
    }
    first = int(client.get(base + b"id") or 0) + 1
    for state, amount in amounts.items():
        plan = {**common, "state": state, "until": until_ms or int(time.time() * 1000)}
        _make(client, plan, first=first, amount=amount)
        first += amount
    if first > 1:
        client.set(base + b"id", first - 1)
    return ref


def seed_state(
    client: redis.Redis, name: str, state: State, amount: int, *, names: Sequence[str] = ("send",)
) -> QueueRef:
    """Add a queue with so many jobs of one state."""
    amounts = {state.value.replace("-", "_"): amount}
    return seed_queue(client, name, names=names, **amounts)  # type: ignore[arg-type]


def seed_many(client: redis.Redis, queues: int, *, name: str = "queue-{:04d}", **each: object) -> list[QueueRef]:
    """Add many queues that are alike; `name` is given the number of each."""
    return [seed_queue(client, name.format(number), **each) for number in range(queues)]  # type: ignore[arg-type]


def seed_job(client: redis.Redis, queue: QueueRef, job_id: str | bytes, **fields: str | bytes | int) -> None:
    """Write the hash of one job: a plain one, with `fields` in place of or beside its own."""
    plain: Mapping[str, str | bytes | int] = {
        "name": "send",
        "data": "{}",
        "opts": '{"attempts":1}',
        "timestamp": int(time.time() * 1000),
        "delay": 0,
        "priority": 0,
    }
    write_hash(client, b"%b:%b:%b" % (queue.prefix, queue.name, _bytes(job_id)), {**plain, **fields})


def write_hash(client: redis.Redis, key: bytes, fields: Mapping[str, str | bytes | int]) -> None:
    client.hset(key, items=[part for pair in fields.items() for part in pair])


def _make(client: redis.Redis, plan: Mapping[str, object], *, first: int, amount: int) -> None:
    script = client.register_script(_MAKE)
    state, until, step = plan["state"], int(str(plan["until"])), float(str(plan["step"]))
    for begin in range(0, amount, BATCH):
        batch = {
            **plan,
            "first": first + begin,
            "n": min(BATCH, amount - begin),
            "time": int(until - (amount - 1 - begin) * step),
            "list": _LISTS.get(str(state)),
            "started": state in ("active", "completed", "failed"),
            "finished": state in ("completed", "failed"),
            "delay": "3600000" if state == "delayed" else None,
            "priority": "5" if state == "prioritized" else None,
        }
        script(args=[json.dumps({name: value for name, value in batch.items() if value is not None})])


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value
