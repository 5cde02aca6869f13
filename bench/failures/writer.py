"""Lets jobs fail as BullMQ's script does, at a steady rate, until its input closes: a process of its own.

Started with `{"port", "queues", "rate", "first"}` as JSON; prints one line of JSON at the end. For each failure one
transaction of the job's hash, its place in the failed set and the entry of the stream, the queues in turn.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time
from collections.abc import Iterator

import hiredis

TICK_S = 0.05
MOST_BEHIND_S = 1.0  # what could not be written in time is not made up for beyond this
KINDS = 100
RECEIVE = 1 << 16
REASON = "Request {} to https://api-{}.example.com/orders/{} failed with status code 503"
STACK = "Error: {}\n    at step{} (/app/src/steps/step{}.js:41:11)\n    at Worker.processJob (/app/worker.js:7:3)"


def main() -> None:
    plan = json.loads(sys.argv[1])
    link = Link(plan["port"])
    began = last = time.monotonic()
    sent, due, longest = 0, 0.0, 0.0
    while not select.select([sys.stdin], [], [], max(last + TICK_S - time.monotonic(), 0))[0]:
        now = time.monotonic()
        due = min(due + plan["rate"] * (now - last), plan["rate"] * MOST_BEHIND_S)
        longest = max(longest, now - last)
        last = now
        for _ in range(int(due)):
            link.send(failure(plan["queues"][sent % len(plan["queues"])], plan["first"] + sent))
            sent += 1
        due -= int(due)
        link.receive()
    took = time.monotonic() - began
    print(json.dumps({"seconds": took, "failures": sent, "errors": link.errors, "longest_tick_s": longest}), flush=True)


class Link:
    """One connection that waits for all answers of a tick together."""

    def __init__(self, port: int) -> None:
        self.errors = 0
        self._reader = hiredis.Reader()
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._waiting: list[bytes] = []

    def send(self, commands: Iterator[bytes]) -> None:
        self._waiting += commands

    def receive(self) -> None:
        self._socket.sendall(b"".join(self._waiting))
        replies, self._waiting = len(self._waiting), []
        while replies:
            reply = self._reader.gets()
            if reply is False:
                self._reader.feed(self._socket.recv(RECEIVE))
                continue
            self.errors += isinstance(reply, hiredis.ReplyError)
            replies -= 1


def failure(queue: str, job: int) -> Iterator[bytes]:
    """What makes one job of a queue fail for good, now."""
    base, kind, now = f"bull:{queue}:", job % KINDS, int(time.time() * 1000)
    reason = REASON.format(job, kind, job * 17)
    stacks = json.dumps([STACK.format(reason, kind, kind)])
    yield _command("MULTI")
    yield _command(
        *(
            "HSET",
            f"{base}{job}",
            "name",
            f"step-{kind % 12}",
            "data",
            '{"customerId":4711,"cents":1999}',
            "opts",
            "{}",
        ),
        *("timestamp", now - 200, "delay", 0, "priority", 0, "processedOn", now - 100, "finishedOn", now),
        *("failedReason", reason, "stacktrace", stacks, "ats", 1, "atm", 1, "pb", f"worker-{job % 4}"),
    )
    yield _command("ZADD", f"{base}failed", now, job)
    head = ("XADD", f"{base}events", "MAXLEN", "~", 10_000, "*", "event", "failed", "jobId", job)
    yield _command(*head, "failedReason", reason, "prev", "active")
    yield _command("EXEC")


def _command(*words: str | int) -> bytes:
    raw = [str(word).encode() for word in words]
    return b"".join([b"*%d\r\n" % len(raw), *(b"$%d\r\n%b\r\n" % (len(word), word) for word in raw)])


if __name__ == "__main__":
    main()
