"""The bare work that following cannot go below: XREAD of all streams four times a second, replies not looked at.

A process of its own, started by its path with `{"port", "database", "keys"}` as JSON; ends when its input
closes, and then prints one line of JSON.
"""

from __future__ import annotations

import json
import select
import sys
import time

import redis

EVERY_S = 0.25
MOST = 1_000  # entries of one stream in one reading


def main() -> None:
    plan = json.loads(sys.argv[1])
    link = redis.Connection(host="127.0.0.1", port=plan["port"], db=plan["database"], protocol=2)  # type: ignore[no-untyped-call]
    link.connect()  # type: ignore[no-untyped-call]
    after = {key.encode(): b"$" for key in plan["keys"]}
    _read(link, after)  # not yet measured: what is loaded at the first time
    after.update(_ends(link, list(after)))
    began, cpu, entries, readings = time.monotonic(), time.process_time(), 0, 0
    while not select.select([sys.stdin], [], [], EVERY_S)[0]:
        entries += _read(link, after)
        readings += 1
    took, used = time.monotonic() - began, time.process_time() - cpu
    print(json.dumps({"seconds": took, "processor_s": used, "entries": entries, "readings": readings}), flush=True)


def _read(link: redis.Connection, after: dict[bytes, bytes]) -> int:
    link.send_command("XREAD", "COUNT", MOST, "STREAMS", *after, *after.values())  # type: ignore[no-untyped-call]
    number = 0
    for key, entries in link.read_response() or ():
        after[key] = entries[-1][0]
        number += len(entries)
    return number


def _ends(link: redis.Connection, keys: list[bytes]) -> dict[bytes, bytes]:
    """The last id of each stream: `$` would be a new end with every reading."""
    ends = {}
    for key in keys:
        link.send_command("XREVRANGE", key, "+", "-", "COUNT", 1)  # type: ignore[no-untyped-call]
        found = link.read_response()
        ends[key] = found[0][0] if found else b"0-0"
    return ends


if __name__ == "__main__":
    main()
