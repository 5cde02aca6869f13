"""How long it takes until all that has failed is indexed, what that costs, and how it compares with the bare work."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil

from bench.failures import floors
from bench.failures.place import Asked, Place, Used, follower, place, read_whole, until
from bench.failures.seeding import QUEUES, SIGNATURES, failing
from bench.measure import MB, Peak
from bench.operate.pinging import Pings, pinging
from bench.report import Row, Table, limited
from bench.stage import Stage
from queues.models import Failure, FailureGroup, FailureHour, FailureStrand, Indexing

FAILED, LARGE = 200_000, 1_000_000
AIM_S = 15.0  # for 200,000
PING_MS = 50.0
IDLE_S = 3.0


@dataclass(frozen=True)
class Figures:
    """Seconds, unless it says otherwise. `term`: from when the index had begun with its source."""

    jobs: int
    whole: float
    term: float
    used: float  # of the processor, by what indexes
    before: int  # bytes
    peak: int
    pings: Pings
    idle: Pings
    asked: Asked
    read: float  # the floors
    written: float
    made: str


def measure(stage: Stage, jobs: int) -> Table:
    """One table for so many failed jobs."""
    with place(stage, f"index-{jobs}", lambda client: failing(client, jobs, f"index-{jobs}")) as held:
        return _table(_measured(held, jobs))


def _measured(held: Place, jobs: int) -> Figures:
    with pinging(held.monitored.port) as pings:
        pings.since_last()
        time.sleep(IDLE_S)
        idle = pings.since_last()
        read = floors.reading(held.client, held.world.refs)
        written = floors.writing(held.folder, jobs, len(held.world.refs))
        held.client.config_resetstat()
        pings.since_last()
        began = time.monotonic()
        with follower(held) as process:
            before, peak = _begun(held, process)
            until(lambda: read_whole(held), "the first scan", held)
            whole, ended_ms = time.monotonic() - began, time.time() * 1000
            seen, asked, most = pings.since_last(), Asked.of(held.client), peak.bytes()
            used = Used.of(process).index
    since_ms = Indexing.objects.get(source__name=held.source).since_ms or ended_ms
    return Figures(
        jobs, whole, (ended_ms - since_ms) / 1000, used, before, most, seen, idle, asked, read, written, _made(jobs)
    )


def _begun(held: Place, process: psutil.Process) -> tuple[int, Peak]:
    """What the process holds when indexing begins."""
    until(lambda: Indexing.objects.filter(source__name=held.source, since_ms__isnull=False).exists(), "a term", held)
    return int(process.memory_info().rss), Peak(process.pid)


def _made(jobs: int) -> str:
    failures = Failure.objects.filter(in_set=True).count()
    if failures != jobs:
        raise RuntimeError(f"{failures:,} failures are indexed, not {jobs:,}")
    groups, strands, hours = (model.objects.count() for model in (FailureGroup, FailureStrand, FailureHour))
    return f"{groups:,} groups, {strands:,} strands, {hours:,} hours of strands"


def _table(figures: Figures) -> Table:
    jobs, bare = figures.jobs, figures.read + figures.written
    aim = AIM_S * jobs / FAILED
    rows = [
        _timed("from the start of the process until all is indexed", figures.whole, bare, aim),
        _timed("the same, from when its term began", figures.term, bare),
        Row("a job, in its term", f"{figures.term / jobs * 1e6:.0f} us", floor=f"{bare / jobs * 1e6:.0f} us"),
        _timed("against reading the same fields alone", figures.term, figures.read),
        _timed("against writing as many rows alone", figures.term, figures.written),
        Row("the same, processor time of what indexes", f"{figures.used / jobs * 1e6:.0f} us"),
        limited("memory of the follower when it begins", figures.before / MB, "MB"),
        limited("the same, at its peak", figures.peak / MB, "MB"),
        limited("longest PING meanwhile", round(figures.pings.longest, 1), "ms", most=PING_MS),
        limited("99 of 100 PING are answered within", round(figures.pings.nearly, 1), "ms"),
        Row("scripts sent to the monitored server", f"{figures.asked.scripts:,}"),
        Row("the same, commands called inside it", f"{figures.asked.inside:,}"),
        Row("the same, time of the server in them", f"{figures.asked.seconds:.1f} s"),
    ]
    seeds = f"{QUEUES} queues, {SIGNATURES} kinds of errors; made of them: {figures.made}."
    floor = "Floor: ZRANGE and a pipeline of HMGET for each 1,000 jobs, and executemany of as many rows of failures."
    idle = f"Longest PING of three idle seconds before: {figures.idle.longest:.1f} ms."
    return Table(f"Failures: indexing {jobs:,} failed jobs", rows, (f"{seeds} {floor} {idle}",))


def _timed(what: str, took: float, floor: float, aim: float | None = None) -> Row:
    return Row(
        what,
        f"{took:.1f} s",
        floor=f"{floor:.1f} s",
        ratio=f"{took / floor:.1f}",
        aim="" if aim is None else f"at most {aim:g} s",
        met=None if aim is None else took <= aim,
    )
