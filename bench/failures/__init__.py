"""How well failures are grouped and classed, and what indexing and showing them costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.report import Table
    from bench.stage import Stage


def run(stage: Stage) -> list[Table]:
    """How well failures are grouped and classed; indexing 200,000, a burst, what idling costs, and the pages."""
    from bench.failures.agreement import tables
    from bench.failures.costs import measure

    return [*tables(), *measure(stage)]
