"""How well a pace is kept, by the events that the server wrote; and what a plan asks of the server meanwhile."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import cast

import redis

from bench.live.listening import Heard, listen
from bench.replay.product import FREE, QUEUE, Product, forget, reached, seed
from bench.report import Row, Table, limited
from bench.stage import Stage
from queues.backends.bullmq.connection import CLIENT_NAME
from queues.models import Replay
from queues.replay.types import Phase

PACES = (5.0, 50.0, 200.0)
SECONDS = 60.0
LISTEN_S = 20.0
QUIET_S = 75.0  # until a halted plan looks as seldom as it ever does
SPARE_S = 30.0  # of jobs that are left when all was measured
LEAST = 0.95  # of the pace
PAGE = 10_000


@dataclass(frozen=True)
class Kept:
    """A pace over some seconds: jobs, the most in any one second, the longest time between two sendings in ms."""

    pace: float
    jobs: int
    seconds: float
    most: int
    longest_ms: int
    used: float  # share of a core of the worker
    heard: Heard  # what was sent to the server, afterwards

    @property
    def mean(self) -> float:
        return self.jobs / self.seconds


def measure(stage: Stage, made: Product) -> list[Table]:
    """A table of each pace's second by second, and one of the commands."""
    seconds = stage.seconds or max(SECONDS * min(stage.scale, 1), 2)
    listens = min(LISTEN_S, seconds)
    kept = [_kept(made, pace, seconds, listens) for pace in PACES]
    halted, quiet = _halted(made, min(QUIET_S, seconds), listens)
    return [_paces(kept, seconds), _commands(kept, halted, quiet)]


def _kept(made: Product, pace: float, seconds: float, listens: float) -> Kept:
    _seed(made.client, round(pace * (seconds + listens + SPARE_S)))
    plan = _started(made, pace)
    used, began = made.worked(), time.monotonic()
    time.sleep(seconds + 1)
    share = (made.worked() - used) / (time.monotonic() - began)
    sent = _sent(made.client)
    heard = listen(made.client, CLIENT_NAME.__eq__, listens)
    _end(made, plan)
    within = [at for at in sent if at < sent[0] + seconds * 1000]
    longest = max((later - at for at, later in pairwise(within)), default=0)
    return Kept(pace, len(within), seconds, most_in_a_second(within), longest, share, heard)


def _halted(made: Product, quiet_s: float, listens: float) -> tuple[Heard, Heard]:
    """What is sent for a plan that was paused while its jobs wait: at once, and when it has been so for long."""
    pace = PACES[1]
    _seed(made.client, round(pace * SPARE_S))
    plan = _started(made, pace)
    time.sleep(2)
    made.acts(plan, "pause")
    time.sleep(1)
    soon = listen(made.client, CLIENT_NAME.__eq__, listens)
    time.sleep(max(0.0, quiet_s - listens))
    later = listen(made.client, CLIENT_NAME.__eq__, listens)
    _end(made, plan)
    return soon, later


def _started(made: Product, pace: float) -> Replay:
    """A plan that has sent its first job."""
    plan = made.drafts()
    made.starts(plan, replace(FREE, pace_from=pace, pace_to=pace))
    while not made.client.exists(f"bull:{QUEUE}:events"):
        time.sleep(0.01)
    return plan


def _end(made: Product, plan: Replay) -> None:
    made.acts(plan, "cancel")
    reached(plan, Phase.CANCELLED)
    forget()


def _seed(client: redis.Redis, jobs: int) -> None:
    """The queue anew, with a stream that keeps all."""
    seed(client, jobs)
    client.hset(f"bull:{QUEUE}:meta", "opts.maxLenEvents", 10_000_000)


def _sent(client: redis.Redis) -> list[int]:
    """When each job began to wait, in ms of the server's clock, by the events."""
    found: list[int] = []
    after = "-"
    while entries := cast(
        "list[tuple[bytes, dict[bytes, bytes]]]", client.xrange(f"bull:{QUEUE}:events", after, count=PAGE)
    ):
        found += [int(key.partition(b"-")[0]) for key, told in entries if told[b"event"] == b"waiting"]
        after = "(" + entries[-1][0].decode()
    return found


def most_in_a_second(moments: Sequence[int]) -> int:
    """The most of these, in ms and ascending, that lie within any one second."""
    most, window = 0, deque[int]()
    for at in moments:
        window.append(at)
        while window[0] <= at - 1000:
            window.popleft()
        most = max(most, len(window))
    return most


def _paces(kept: Sequence[Kept], seconds: float) -> Table:
    rows = []
    for each in kept:
        least = LEAST * each.pace
        rows += [
            Row(
                f"{each.pace:g} a second: mean",
                f"{each.mean:.2f}",
                aim=f"{least:g} to {each.pace:g}",
                met=least <= each.mean <= each.pace,
            ),
            limited("the same, most in any one second", each.most, "", most=each.pace),
            Row("the same, longest time between two sendings", f"{each.longest_ms:,} ms"),
            limited("processor of the worker", round(100 * each.used, 1), "% of a core"),
        ]
    note = "By the events that begin to wait, and the server's clock in their ids. Jitter of 20 %."
    return Table(f"Replay: three paces over {seconds:g} s", rows, (note,))


def _commands(kept: Sequence[Kept], halted: Heard, quiet: Heard) -> Table:
    named = [(f"{each.pace:g} jobs a second", each.heard) for each in kept]
    named += [("paused a moment ago, its jobs wait", halted), ("paused for more than a minute", quiet)]
    rows = [row for what, heard in named for row in _asked(what, heard)]
    notes = [f"{what}: {_names(heard)}." for what, heard in named]
    return Table("Replay: what it sends to the server a second", rows, (" ".join(notes),))


def _asked(what: str, heard: Heard) -> list[Row]:
    return [
        Row(what, f"{heard.sent.total() / heard.seconds:.1f}"),
        Row("the same, called by scripts inside the server", f"{heard.inside / heard.seconds:,.0f}"),
    ]


def _names(heard: Heard) -> str:
    return ", ".join(f"{calls / heard.seconds:.1f} {name}" for name, calls in heard.sent.most_common()) or "nothing"
