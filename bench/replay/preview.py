"""Freezing the set of a plan, whose failures are indexed, until it can be previewed; then its pages at that size."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench.failures.floors import reading
from bench.failures.place import follower, place, read_whole, until
from bench.failures.seeding import failing
from bench.measure import MB, Peak, resident
from bench.operate.pinging import Pings
from bench.replay import pages
from bench.replay.floors import Ledger
from bench.replay.product import Product, product, reached
from bench.report import Row, Table, limited
from bench.stage import Stage
from queues.models import Replay
from queues.replay.types import Phase

JOBS, LARGE = 100_000, 1_000_000
AIM_S = 10.0  # for 100,000 and fewer
PING_MS = 30.0
IDLE_S = 3.0


@dataclass(frozen=True)
class Figures:
    """Seconds, but for bytes of memory."""

    jobs: int
    answered: float  # the form
    frozen: float  # from sending it
    used: float  # of a processor, by the worker
    before: int
    peak: int
    idle: Pings
    pings: Pings
    read: float  # the floors
    written: float
    groups: int


def measure(stage: Stage) -> Iterator[Table]:
    """Tables of each size: what freezing takes, and the pages."""
    for size in [JOBS, *([LARGE] if stage.large else [])]:
        yield from _measured(stage, stage.sized(size, 200))


def _measured(stage: Stage, jobs: int) -> Iterator[Table]:
    source = f"preview-{jobs}"
    with place(stage, source, lambda client: failing(client, jobs, source, queues=1)) as held:
        with follower(held):
            until(lambda: read_whole(held), "the first scan", held)
        with product(stage, held) as made:
            plan, figures = _frozen(made, jobs, min(IDLE_S, stage.seconds or IDLE_S))
            yield _table(figures)
            yield pages.measure(stage, made, plan)


def _frozen(made: Product, jobs: int, idle_s: float) -> tuple[Replay, Figures]:
    made.pings.since_last()
    time.sleep(idle_s)
    idle = made.pings.since_last()
    read, written = reading(made.client, made.held.world.refs), _written(made, jobs)
    before, peak, used = resident(made.worker.pid), Peak(made.worker.pid), made.worked()
    made.pings.since_last()
    began = time.time()
    plan = made.plans()
    answered = time.time() - began
    plan = reached(plan, Phase.DRAFT)
    took = time.time() - began
    pings = made.pings.since_last()
    if plan.total != jobs:
        raise RuntimeError(f"{plan.total:,} jobs are in the set, not {jobs:,}")
    groups = len(plan.frozen["groups"]) + plan.frozen["more_groups"]
    used = made.worked() - used
    return plan, Figures(jobs, answered, took, used, before, peak.bytes(), idle, pings, read, written, groups)


def _written(made: Product, jobs: int) -> float:
    """Rows that are written when they are collected, and once more when they were looked at."""
    ledger = Ledger(made.held.folder, jobs)
    took = ledger.inserted() + ledger.updated()
    ledger.close()
    return took


def _table(found: Figures) -> Table:
    jobs, bare = found.jobs, found.read + found.written
    rows = [
        Row(
            "from the form until all can be previewed",
            f"{found.frozen:.1f} s",
            floor=f"{bare:.1f} s",
            ratio=f"{found.frozen / bare:.1f}",
            aim=f"at most {AIM_S:g} s" if jobs <= JOBS else "",
            met=found.frozen <= AIM_S if jobs <= JOBS else None,
        ),
        Row("the form is answered after", f"{found.answered * 1000:.0f} ms"),
        Row("a job", f"{found.frozen / jobs * 1e6:.0f} us", floor=f"{bare / jobs * 1e6:.0f} us"),
        Row("the same, processor time of the worker", f"{found.used / jobs * 1e6:.0f} us"),
        limited("memory of the worker when it begins", round(found.before / MB), "MB"),
        limited("the same, at its peak", round(found.peak / MB), "MB"),
        limited("longest PING meanwhile", round(found.pings.longest, 1), "ms", most=PING_MS),
        limited("99 of 100 PING are answered within", round(found.pings.nearly, 1), "ms"),
    ]
    floor = "Floor: ZRANGE and a pipeline of HMGET for each 1,000 jobs, and as many rows written, then written again."
    idle = f"Longest PING of three idle seconds before: {found.idle.longest:.1f} ms."
    return Table(
        f"Replay: freezing and looking at {jobs:,} failed jobs", rows, (f"Of {found.groups} groups. {floor} {idle}",)
    )
