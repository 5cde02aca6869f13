"""Failed jobs by the hundred thousand, in BullMQ's layout: some signatures often, most seldom, stacks of real shape."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

import redis

from bench.failures.corpus import load
from queues.quantities import DAY
from queues.types import QueueRef
from tests.seed import write_hash

QUEUES, SIGNATURES = 5, 100
OF_CORPUS = 40  # of the signatures: as they are written there
SPAN_MS = 3 * DAY  # from the oldest failure to now
SLOTS = 1_000  # failures until the mix of signatures begins anew
LONGEST = 4_000  # characters of a reason or stack that is taken from the corpus
BATCH = 5_000
MIX = 7_919  # a prime: neighbours in time differ

# Reasons in the manner of an application: `<n>` is another number in each job.
REASONS = (
    "Order <n> of customer 00<n> was not found",
    "Request to https://api.example.com/v{}/orders/<n> failed with status code 503",
    "timeout of {}000ms exceeded while job <n> waited for shard {}",
    'duplicate key value violates unique constraint "part_{}_pkey" (id=<n>)',
)
STACK = (
    "Error: {reason}\n"
    "    at step{number} (/app/src/steps/step{number}.js:{line}:11)\n"
    "    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)\n"
    "    at async Worker.processJob (/app/node_modules/bullmq/dist/cjs/classes/worker.js:455:28)"
)

# Not for production: keys are made, not declared.
_MAKE = """
local a = cjson.decode(ARGV[1])
for i = a.first, a.first + a.n - 1 do
  local which = a.slots[(i * a.mix) % #a.slots + 1]
  local at = string.format("%.0f", a.time + math.floor((i - a.first) * a.step))
  local reason = string.gsub(a.reasons[which], "<n>", tostring(i))
  redis.call("HSET", a.base .. i, "name", a.names[which], "data", a.data, "opts", a.opts, "timestamp", at, "delay", "0",
    "priority", "0", "processedOn", at, "finishedOn", at, "ats", "3", "atm", "3", "pb", "worker-" .. i % 4,
    "failedReason", reason, "stacktrace", (string.gsub(a.stacks[which], "<n>", tostring(i))))
  redis.call("ZADD", a.base .. "failed", at, i)
end
"""


@dataclass(frozen=True)
class Shape:
    """How failures of one signature look: `stacks` is the field as BullMQ writes it."""

    name: str
    reason: str
    stacks: str


def shapes(number: int = SIGNATURES) -> list[Shape]:
    """So many different ones: those of the corpus first."""
    found: dict[str, Shape] = {}
    for entry in load("tune"):
        thrown = entry.thrown
        if thrown.reason and thrown.stack and max(len(thrown.reason), len(thrown.stack)) <= LONGEST:
            found.setdefault(entry.group, Shape(thrown.name, thrown.reason, json.dumps([thrown.stack])))
    made = list(found.values())[:: max(1, len(found) // OF_CORPUS)][:OF_CORPUS]
    return [*made, *(_own(number) for number in range(len(made), number))][:number]


def _own(number: int) -> Shape:
    reason = REASONS[number % len(REASONS)].replace("{}", str(number % 7 + 1))
    stack = STACK.format(reason=reason, number=number, line=10 + number)
    return Shape(f"step-{number % 12}", reason, json.dumps([stack]))


def failing(client: redis.Redis, failures: int, source: str, queues: int = QUEUES) -> list[QueueRef]:
    """Queues with so many failed jobs in all, over three days until now. About 40,000 a second."""
    refs = [empty(client, f"failing-{number:03d}", source) for number in range(queues)]
    for number, ref in enumerate(refs):
        _fill(client, ref, failures // queues + (number < failures % queues))
    return refs


def empty(client: redis.Redis, name: str, source: str) -> QueueRef:
    """A queue in which nothing has failed yet."""
    ref = QueueRef(source, b"bull", name.encode())
    write_hash(client, b"bull:%b:meta" % ref.name, {"opts.maxLenEvents": "10000", "version": "bullmq:6.7.0"})
    return ref


def _fill(client: redis.Redis, ref: QueueRef, amount: int) -> None:
    script, looks = client.register_script(_MAKE), shapes()
    step, now = SPAN_MS / max(amount, 1), int(time.time() * 1000)
    plan = {
        "base": f"bull:{ref.name.decode()}:",
        "names": [look.name for look in looks],
        "reasons": [look.reason for look in looks],
        "stacks": [look.stacks for look in looks],
        "slots": slots(looks),
        "mix": MIX,
        "step": step,
        "data": '{"customerId":4711,"cents":1999,"tenant":"t-17"}',
        "opts": '{"attempts":3,"backoff":{"delay":1000,"type":"exponential"}}',
    }
    for begin in range(0, amount, BATCH):
        batch = {"first": begin + 1, "n": min(BATCH, amount - begin), "time": int(now - (amount - begin) * step)}
        script(args=[json.dumps({**plan, **batch})])


def slots(looks: Sequence[Shape]) -> list[int]:
    """Places of shapes, counted from one: the n-th comes 1/n times as often as the first."""
    parts = [1 / (place + 1) for place in range(len(looks))]
    return [place + 1 for place, part in enumerate(parts) for _ in range(max(1, round(SLOTS * part / sum(parts))))]
