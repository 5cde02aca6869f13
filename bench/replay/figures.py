"""What is measured of plans that send as fast as the server takes it."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.operate.pinging import Pings


@dataclass
class Done:
    """What was measured of one way: a value for each round. Seconds; memory is bytes."""

    whole: list[float] = field(default_factory=list)  # from when it was asked for
    sent: list[float] = field(default_factory=list)  # from the first job, until the last was sent
    recorded: list[float] = field(default_factory=list)  # the same, until the last was written down
    used: list[float] = field(default_factory=list)  # of a processor, by who sends
    served: list[float] = field(default_factory=list)  # the same by the server
    longest: list[float] = field(default_factory=list)  # PING, ms
    nearly: list[float] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)  # jobs, afterwards
    ledger: list[int] = field(default_factory=list)  # rows that say that their job was sent
    before: list[int] = field(default_factory=list)  # memory of the worker
    peak: list[int] = field(default_factory=list)


@dataclass
class Figures:
    """All that was measured with so many jobs."""

    jobs: int
    idle: Pings = field(default_factory=lambda: Pings(0, 0, 0))
    ours: Done = field(default_factory=Done)
    board: Done = field(default_factory=Done)
    bare: Done = field(default_factory=Done)
    written: list[float] = field(default_factory=list)  # seconds of the bare ledger


@dataclass(frozen=True)
class Worked:
    """One plan whose jobs are completed meanwhile. Seconds from the first job."""

    jobs: int
    recorded: float  # until all were written down as sent
    completed: float  # until the last was
    ended: float  # until the ledger said so
    known: int  # jobs that have completed, by the ledger
    lost: int  # events
    used: float  # of a processor, by the worker of the product
    pings: Pings
