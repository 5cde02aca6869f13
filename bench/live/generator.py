"""Writes events as BullMQ's workers do, at a steady rate, until its input closes: a process of its own.

Started by its path with a plan as JSON (`bench.live.load.Plan`); prints one line of JSON at the end. Only the
standard library and hiredis: it has to cost little beside what is measured. Of each ten jobs one also moves
through the lists, so that counts change; of fifty one fails; of five one tells progress.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import hiredis

TICK_S = 0.05
MOST_BEHIND_S = 1.0  # what could not be written in time is not made up for beyond this
FIRST_JOB = 10_000_000  # ids of eight digits: the lengths in the protocol never change
RECEIVE = 1 << 16

Step = tuple[str, bytes, int]  # the word, the commands with room for the job's id, how many replies they bring


def main() -> None:
    plan = json.loads(sys.argv[1])
    writer = Writer(plan)
    began, cpu = time.monotonic(), time.process_time()
    sent, due, by_second = 0, 0.0, Counter[int]()
    last = began
    while not select.select([sys.stdin], [], [], max(last + TICK_S - time.monotonic(), 0))[0]:
        now = time.monotonic()
        due = min(due + plan["rate"] * (now - last), plan["rate"] * MOST_BEHIND_S)
        last = now
        number = int(due)
        writer.write(number)
        due -= number
        sent += number
        by_second[int(now - began)] += number
    took = time.monotonic() - began
    whole = [by_second[second] for second in range(int(took))]
    told = {"seconds": took, "events": sent, "by_second": whole, "kinds": writer.kinds, "errors": writer.errors}
    print(json.dumps({**told, "processor_s": time.process_time() - cpu}), flush=True)


class Writer:
    """One connection, and where each queue stands in the life of its present job."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self.kinds: Counter[str] = Counter()
        self.errors = 0
        self._reader = hiredis.Reader()
        self._link = socket.create_connection(("127.0.0.1", plan["port"]))
        self._link.sendall(_command("SELECT", str(plan["database"])) + _command("CLIENT", "SETNAME", "generator"))
        self._receive(2)
        still = set(plan["still"])
        self._lives = [_lives(name, plan["most"], moves=name not in still) for name in plan["queues"]]
        self._jobs = [FIRST_JOB + place for place in range(len(self._lives))]
        self._now = [_life(lives, job) for lives, job in zip(self._lives, self._jobs, strict=True)]
        self._steps = [0] * len(self._lives)
        self._place = 0

    def write(self, number: int) -> None:
        """The next step of so many queues in turn; comes back when the server has done them all."""
        commands, replies, values = [], 0, {b"job": 0, b"ms": int(time.time() * 1000)}
        for _ in range(number):
            word, template, brings = self._next(values)
            commands.append(template % values)
            replies += brings
            self.kinds[word] += 1
        self._link.sendall(b"".join(commands))
        self._receive(replies)

    def _next(self, values: dict[bytes, int]) -> Step:
        place = self._place
        self._place = (place + 1) % len(self._now)
        life, step = self._now[place], self._steps[place]
        values[b"job"] = self._jobs[place]
        if step + 1 < len(life):
            self._steps[place] = step + 1
        else:
            self._steps[place] = 0
            self._jobs[place] += 1
            self._now[place] = _life(self._lives[place], self._jobs[place])
        return life[step]

    def _receive(self, replies: int) -> None:
        while replies:
            reply = self._reader.gets()
            if reply is False:
                self._reader.feed(self._link.recv(RECEIVE))
                continue
            self.errors += isinstance(reply, hiredis.ReplyError)
            replies -= 1


def _life(lives: Mapping[str, Sequence[Step]], job: int) -> Sequence[Step]:
    if job % 50 == 7:
        return lives["failing"]
    if job % 10 == 0:
        return lives["moving"]
    return lives["telling"] if job % 5 == 1 else lives["plain"]


def _lives(queue: str, most: int, *, moves: bool) -> Mapping[str, Sequence[Step]]:
    """What becomes of a job: the entries that BullMQ 5.x and 6.x write, field by field."""
    base = f"bull:{queue}:"

    def step(word: str, *fields: str, then: Sequence[bytes] = ()) -> Step:
        head = ("XADD", f"{base}events", "MAXLEN", "~", str(most), "*", "event", word, "jobId", "%(job)08d")
        return word, _command(*head, *fields) + b"".join(then), 1 + len(then)

    added, waiting = step("added", "name", "send"), step("waiting")
    active, told = step("active", "prev", "waiting"), step("progress", "data", "50")
    done = ("completed", "returnvalue", '{"ok":true,"sent":3}', "prev", "active")
    broken = step("failed", "failedReason", "Request failed with status code 503", "prev", "active")
    plain = (added, waiting, active, step(*done))
    put = _command("LPUSH", f"{base}wait", "%(job)08d")
    take = _command("LMOVE", f"{base}wait", f"{base}active", "RIGHT", "LEFT")
    end = (
        _command("RPOP", f"{base}active"),
        _command("ZADD", f"{base}completed", "%(ms)013d", "%(job)08d"),
        _command("ZREMRANGEBYRANK", f"{base}completed", "0", "-201"),
    )
    moving = (
        added,
        step("waiting", then=[put]),
        step("active", "prev", "waiting", then=[take]),
        step(*done, then=end),
    )
    return {
        "plain": plain,
        "telling": (added, waiting, active, told, step(*done)),
        "failing": (added, waiting, active, broken),
        "moving": moving if moves else plain,
    }


def _command(*words: str) -> bytes:
    """In the protocol's form; `%(...)` in a word stands for digits that come later, as many as it says."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        length = len(word) if not word.startswith("%(") else int(word.rpartition(")")[2].strip("d"))
        parts.append(b"$%d\r\n%b\r\n" % (length, word.encode()))
    return b"".join(parts)


if __name__ == "__main__":
    main()
