"""Two thousand failures a second for a while: how far the index falls behind, and when it has caught up."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import connection

from bench.failures.place import Place, Used, follower, place, read_whole, until
from bench.failures.seeding import QUEUES, empty
from bench.live.load import Helper
from bench.measure import MB, Peak, quantile
from bench.operate.pinging import Pings, pinging
from bench.report import Row, Table, limited
from bench.stage import Stage
from queues.models import Failure, FailureStrand, Indexing, Queue
from queues.quantities import now_ms

SOURCE = "burst"
RATE, SECONDS = 2_000, 20.0
LOOK_S = 0.25
PING_MS = 50.0


@dataclass
class Lag:
    """What was seen while it went on, four times a second."""

    failures: list[int] = field(default_factory=list)  # written, and not yet counted
    ms: list[float] = field(default_factory=list)  # how old what was indexed last is, of the queue that is latest
    told_ms: list[int] = field(default_factory=list)  # the same as the index says it of itself


def measure(stage: Stage) -> Table:
    rate, seconds = stage.sized(RATE, 50), SECONDS * min(max(stage.scale, 0.1), 1)
    with place(stage, SOURCE, lambda client: [empty(client, f"burst-{n}", SOURCE) for n in range(QUEUES)]) as held:
        return _measured(held, rate, seconds)


def _measured(held: Place, rate: int, seconds: float) -> Table:
    with pinging(held.monitored.port) as pings, follower(held) as process:
        until(lambda: read_whole(held), "a first look", held)
        peak, before = Peak(process.pid), Used.of(process)
        pings.since_last()
        told, lag, after = _burst(held, rate, seconds)
        rows = [*_lagging(told, lag, after), *_costs(Used.of(process).shares(before), peak, pings.since_last())]
    title = f"Failures: a burst of {told['failures']:,} in {told['seconds']:.0f} s"
    note = f"In {len(held.world.refs)} queues, of 100 kinds. Looked at four times a second."
    return Table(title, rows, (note,))


def _burst(held: Place, rate: int, seconds: float) -> tuple[dict[str, Any], Lag, float]:
    """What was written, how far behind the index was, and how long after the last failure it had caught up."""
    lag = Lag()
    with writing(held, rate) as writer:
        ending = time.monotonic() + seconds
        while time.monotonic() < ending:
            _look(held, lag)
        told = writer.end()
    ended = time.monotonic()
    until(lambda: _counted() >= told["failures"], "the index has caught up", held, LOOK_S / 5)
    return told, lag, time.monotonic() - ended


@contextlib.contextmanager
def writing(held: Place, rate: float, first: int = 1) -> Iterator[Helper]:
    """So many failures a second in the queues of a place, in the block or until its `end`."""
    plan = {"port": held.monitored.port, "queues": [ref.name.decode() for ref in held.world.refs]}
    script = str(Path(__file__).parent / "writer.py")
    command = [sys.executable, script, json.dumps({**plan, "rate": rate, "first": first})]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield Helper(process)
        finally:
            process.kill()


def _look(held: Place, lag: Lag) -> None:
    time.sleep(LOOK_S)
    counted = _counted()  # first: what comes in between counts as not yet indexed
    written = sum(int(held.client.zcard(f"bull:{ref.name.decode()}:failed")) for ref in held.world.refs)
    lag.failures.append(written - counted)
    newest = _newest(held)
    if len(newest) == len(held.world.refs):
        lag.ms.append(now_ms() - min(newest))
    lag.told_ms.append(Indexing.objects.values_list("behind_ms", flat=True).get(source__name=SOURCE))


def _newest(held: Place) -> Sequence[int]:
    """When the newest failure that is indexed was, by queue; an index answers each."""
    newest = f"SELECT max(score_ms) FROM {Failure._meta.db_table} WHERE queue_id = %s AND in_set"
    found = []
    with connection.cursor() as cursor:
        for pk in Queue.objects.filter(source__name=SOURCE).values_list("pk", flat=True):
            cursor.execute(newest, [pk])
            found.append(cursor.fetchone()[0])
    return [each for each in found if each is not None]


def _counted() -> int:
    return sum(FailureStrand.objects.values_list("total", flat=True))


def _lagging(told: dict[str, Any], lag: Lag, after: float) -> list[Row]:
    kept = Failure.objects.filter(in_set=True).count()
    return [
        limited("failures written a second", told["failures"] / told["seconds"], ""),
        limited("failures that are not indexed yet, at most", max(lag.failures), ""),
        limited("how old the newest is that is indexed, in the latest queue, p50", _of(lag.ms, 0.5), "ms"),
        limited("the same, at most", _of(lag.ms, 1), "ms"),
        limited("how far it says to be behind, at most", max(lag.told_ms), "ms"),
        limited("all were indexed so long after the last was written", round(after, 1), "s"),
        _equal("failures that were counted", _counted(), told["failures"]),
        _equal("failures that are kept", kept, told["failures"]),
        limited("refused by the server", told["errors"], "", most=0),
    ]


def _costs(shares: tuple[float, float], peak: Peak, pings: Pings) -> list[Row]:
    return [
        limited("processor of the follower, until it had caught up", round(100 * shares[0], 1), "% of a core"),
        limited("the same, of what indexes", round(100 * shares[1], 1), "% of a core"),
        limited("memory of the follower at its peak", peak.bytes() / MB, "MB"),
        limited("longest PING meanwhile", round(pings.longest, 1), "ms", most=PING_MS),
    ]


def _of(values: Sequence[float], part: float) -> float:
    return round(quantile(values, part)) if values else 0


def _equal(what: str, found: int, written: int) -> Row:
    return Row(what, f"{found:,}", aim=f"{written:,}", met=found == written)
