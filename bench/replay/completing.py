"""Completes jobs of a queue as a worker would, so many a second, until its input closes: a process of its own.

Started with `{"port", "queue", "rate"}` as JSON; prints one line of JSON at the end: how many it completed, and when
the last of them, in ms since 1970 by the server's clock.
"""

from __future__ import annotations

import json
import select
import sys
import time
from typing import cast

import redis

TICK_S = 0.02
MOST_BEHIND_S = 0.1  # what could not be done in time is not made up for beyond this

# At most ARGV[1] waiting jobs; those with a priority last. Not for production: keys are not declared.
_WORK = """
local base, done, time = KEYS[1], 0, redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
while done < tonumber(ARGV[1]) do
  local id = redis.call("RPOP", base .. "wait") or redis.call("ZPOPMIN", base .. "prioritized")[1]
  if not id then break end
  done = done + 1
  redis.call("HINCRBY", base .. id, "atm", 1)
  redis.call("HSET", base .. id, "processedOn", now, "finishedOn", now, "returnvalue", "null")
  redis.call("ZADD", base .. "completed", now, id)
  for _, told in ipairs({ { "active", "waiting" }, { "completed", "active" } }) do
    redis.call("XADD", base .. "events", "MAXLEN", "~", 10000, "*", "event", told[1], "jobId", id, "prev", told[2])
  end
end
return { done, now }
"""


def main() -> None:
    plan = json.loads(sys.argv[1])
    script = redis.Redis(port=plan["port"]).register_script(_WORK)
    done, last_ms, due, last = 0, 0, 0.0, time.monotonic()
    while not select.select([sys.stdin], [], [], TICK_S)[0]:
        now = time.monotonic()
        due = min(due + plan["rate"] * (now - last), plan["rate"] * MOST_BEHIND_S)
        last = now
        number, at_ms = cast("list[int]", script(keys=[f"bull:{plan['queue']}:"], args=[int(due)]))
        due -= int(due)
        done, last_ms = done + number, at_ms if number else last_ms
    print(json.dumps({"done": done, "last_ms": last_ms}), flush=True)


if __name__ == "__main__":
    main()
