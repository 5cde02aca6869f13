"""Acting on many jobs: how long it takes from confirm to done, and how long the server is held by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.report import Table
    from bench.stage import Stage


def run(stage: Stage) -> list[Table]:
    """Retry of 20,000 jobs against Bull Board and BullMQ's own call; emptying 1,000,000; cleaning 200,000."""
    from bench.operate.runs import measure
    from bench.operate.tables import tables

    return tables(measure(stage))
