"""Live pages under load: what is lost, what it costs, and how long an event takes to a socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.report import Table
    from bench.stage import Stage


def run(stage: Stage) -> list[Table]:
    """20,000 events a second over 1,000 queues with 50 open pages, and 500 pages of one queue."""
    from bench.live.runs import measure
    from bench.live.tables import tables

    return tables(measure(stage))
