"""What indexing costs when little happens: commands a second at the monitored server, and the processor's share."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil

from bench.failures.burst import writing
from bench.failures.place import Place, Used, follower, place, read_whole, until
from bench.failures.seeding import empty
from bench.live.listening import Heard, listen
from bench.measure import MB, resident
from bench.report import Row, Table, limited
from bench.stage import Stage
from queues.backends.bullmq.connection import CLIENT_NAME
from queues.models import Indexing

SOURCE = "steady"
QUEUES, RATE = 100, 5.0
SECONDS = 60.0  # over which the index counts its own commands
SETTLE_S = 12.0  # after the first look at all queues
LISTEN_S = 20.0  # of two looks at all queues
IDLE_COMMANDS, BUSY_COMMANDS = 1.0, 4 * RATE  # of the index, a second
IDLE_SHARE, BUSY_SHARE = 0.02, 0.10  # of a core, of what indexes


@dataclass(frozen=True)
class Stretch:
    """`share` and `index`: of a core, by the process and by what indexes in it."""

    heard: Heard
    own: float | None  # commands a second that the index says to send
    share: float
    index: float


def measure(stage: Stage) -> Table:
    queues, seconds = stage.sized(QUEUES, 10), stage.seconds or max(SECONDS * min(stage.scale, 1), 2)
    with (
        place(stage, SOURCE, lambda client: [empty(client, f"steady-{n:03d}", SOURCE) for n in range(queues)]) as held,
        follower(held) as process,
    ):
        until(lambda: read_whole(held), "a first look", held)
        time.sleep(min(SETTLE_S, seconds))
        idle = _stretch(held, process, seconds)
        with writing(held, RATE):
            time.sleep(min(SETTLE_S, seconds))
            busy = _stretch(held, process, seconds)
        return _table(queues, idle, busy, resident(process.pid))


def _stretch(held: Place, process: psutil.Process, seconds: float) -> Stretch:
    """The processor first: MONITOR costs, too."""
    before = Used.of(process)
    time.sleep(seconds)
    share, index = Used.of(process).shares(before)
    own = Indexing.objects.values_list("commands_per_s", flat=True).get(source__name=SOURCE)
    heard = listen(held.client, CLIENT_NAME.__eq__, min(LISTEN_S, seconds))
    return Stretch(heard, own, share, index)


def _table(queues: int, idle: Stretch, busy: Stretch, memory: int) -> Table:
    rows = [
        *_rows("idle", idle, IDLE_COMMANDS, IDLE_SHARE),
        *_rows(f"{RATE:g} failures a second", busy, BUSY_COMMANDS, BUSY_SHARE),
        limited("memory of the follower", memory / MB, "MB"),
    ]
    notes = (f"Sent: {_sent(idle)} idle; {_sent(busy)} with failures.",)
    return Table(f"Failures: indexing {queues} queues in steady state", rows, notes)


def _rows(what: str, stretch: Stretch, commands: float, share: float) -> list[Row]:
    heard = stretch.heard
    return [
        Row(
            f"{what}: commands of the index a second",
            "–" if stretch.own is None else f"{stretch.own:.2f}",
            aim=f"at most {commands:g}",
            met=None if stretch.own is None else stretch.own <= commands,
        ),
        Row("the same, of all that follows", f"{heard.sent.total() / heard.seconds:.1f}"),
        Row("the same, called by scripts inside the server", f"{heard.inside / heard.seconds:,.0f}"),
        limited("processor of the follower", 100 * stretch.share, "% of a core"),
        limited("the same, of what indexes", 100 * stretch.index, "% of a core", most=100 * share),
    ]


def _sent(stretch: Stretch) -> str:
    heard = stretch.heard
    return ", ".join(f"{calls / heard.seconds:.1f} {name} a second" for name, calls in heard.sent.most_common())
