"""What indexing and showing failures costs, in the order in which it is measured."""

from __future__ import annotations

from bench.failures import burst, indexing, pages, steady
from bench.report import Table
from bench.stage import Stage


def measure(stage: Stage) -> list[Table]:
    """The first scan (the large one only when asked for), a burst, what idling costs, and the pages."""
    sizes = [indexing.FAILED, *([indexing.LARGE] if stage.large else [])]
    scans = [indexing.measure(stage, stage.sized(size, 200)) for size in sizes]
    return [*scans, burst.measure(stage), steady.measure(stage), *pages.measure(stage)]
