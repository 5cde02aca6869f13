"""As fast as the server takes them: beside Bull Board's retry of all, beside the bare work, and beside a worker."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
from django.db.models import Max, Min, Sum

from bench.live.load import Helper
from bench.measure import Peak, resident
from bench.operate.board import Board, board
from bench.operate.pinging import Pings
from bench.replay import tables
from bench.replay.figures import Done, Figures, Worked
from bench.replay.floors import Ledger, moving
from bench.replay.product import FREE, QUEUE, Product, forget, reached, seed, used
from bench.report import Table
from bench.stage import Stage
from queues.models import Replay, ReplayJob, ReplayQueue
from queues.replay.types import Phase, Place

JOBS, MANY = 20_000, 100_000
ROUNDS = 3  # at most, of the smaller number
WORKED = 2_000.0  # jobs a second that a worker completes
IDLE_S, SETTLE_S = 3.0, 0.5


@dataclass(frozen=True)
class _Round:
    """One round of all ways."""

    made: Product
    theirs: Board
    figures: Figures

    def run(self, number: int) -> None:
        ways: list[Callable[[], None]] = [self._ours, self._board, self._bare]
        for way in ways[number % len(ways) :] + ways[: number % len(ways)]:
            seed(self.made.client, self.figures.jobs)
            time.sleep(SETTLE_S)
            way()

    def _ours(self) -> None:
        made, done = self.made, self.figures.ours
        plan = made.drafts()
        done.before.append(resident(made.worker.pid))
        peak, worked, served = Peak(made.worker.pid), made.worked(), made.served()
        made.pings.since_last()
        began = made.starts(plan, FREE)
        plan = reached(plan, Phase.ENDING, Phase.DONE)
        self._pinged(done)
        done.used.append(made.worked() - worked)
        done.served.append(made.served() - served)
        done.peak.append(peak.bytes())
        first, last = moments(plan)
        assert plan.sent_at is not None
        done.whole.append(plan.sent_at.timestamp() - began)
        done.sent.append(last - first)
        done.recorded.append(plan.sent_at.timestamp() - first)
        done.ledger.append(ReplayJob.objects.filter(replay=plan, place=Place.SENT).count())
        forget()

    def _board(self) -> None:
        done, node = self.figures.board, _node()
        worked, served = used(node), self.made.served()
        self.made.pings.since_last()
        began = time.perf_counter()
        self.theirs.put(f"/api/queues/{QUEUE}/retry/failed")
        done.whole.append(time.perf_counter() - began)
        self._pinged(done)
        done.used.append(used(node) - worked)
        done.served.append(self.made.served() - served)

    def _bare(self) -> None:
        done = self.figures.bare
        self.made.pings.since_last()
        done.whole.append(moving(self.made.client, QUEUE))
        self._pinged(done)
        ledger = Ledger(self.made.held.folder, self.figures.jobs)
        ledger.inserted()
        self.figures.written.append(ledger.updated())
        ledger.close()

    def _pinged(self, done: Done) -> None:
        pings, client = self.made.pings.since_last(), self.made.client
        done.longest.append(pings.longest)
        done.nearly.append(pings.nearly)
        done.waiting.append(int(client.llen(f"bull:{QUEUE}:wait")) + int(client.zcard(f"bull:{QUEUE}:prioritized")))


def measure(stage: Stage, made: Product) -> Iterator[Table]:
    """20,000 several times, in turns that rotate; more of them once; and once with somebody who completes them."""
    with board(made.held.monitored.port, QUEUE, stage.folder / "board.log") as theirs:
        _Round(made, theirs, Figures(100)).run(0)  # what is loaded once is loaded by this
        sizes = ((JOBS, min(stage.rounds, ROUNDS), 1.0), (MANY, 1, None))
        for jobs, rounds, slower in sizes:
            figures = Figures(stage.sized(jobs, jobs // 200), _idle(stage, made))
            for number in range(rounds):
                _Round(made, theirs, figures).run(number)
            yield tables.sent(figures, slower=slower)
        yield tables.worked(_worked(made, stage.sized(JOBS, 100)), WORKED)


def moments(plan: Replay) -> tuple[float, float]:
    """When the first and the last job of a plan were sent: seconds since 1970, by the server's clock."""
    told = ReplayJob.objects.filter(replay=plan).aggregate(first=Min("sent_ms"), last=Max("sent_ms"))
    return told["first"] / 1000, told["last"] / 1000


def _node() -> psutil.Process:
    """Bull Board's process."""
    return next(each for each in psutil.Process().children() if "board.mjs" in each.cmdline())


def _idle(stage: Stage, made: Product) -> Pings:
    """What a PING takes while nothing is done."""
    made.pings.since_last()
    time.sleep(min(IDLE_S, stage.seconds or IDLE_S))
    return made.pings.since_last()


def _worked(made: Product, jobs: int) -> Worked:
    seed(made.client, jobs)
    plan, used = made.drafts(), made.worked()
    made.pings.since_last()
    with _completing(made) as completing:
        made.starts(plan, FREE)
        plan = reached(plan, Phase.DONE)
        told = completing.end()
    pings = made.pings.since_last()
    first, _last = moments(plan)
    lost = ReplayQueue.objects.filter(replay=plan).aggregate(sum=Sum("lost"))["sum"] or 0
    assert plan.sent_at is not None
    assert plan.ended_at is not None
    recorded, ended = plan.sent_at.timestamp() - first, plan.ended_at.timestamp() - first
    completed = told["last_ms"] / 1000 - first
    forget()
    return Worked(jobs, recorded, completed, ended, plan.completed, lost, made.worked() - used, pings)


@contextlib.contextmanager
def _completing(made: Product) -> Iterator[Helper]:
    plan = {"port": made.held.monitored.port, "queue": QUEUE, "rate": WORKED}
    command = [sys.executable, str(Path(__file__).parent / "completing.py"), json.dumps(plan)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield Helper(process)
        finally:
            process.kill()
