"""How well failures are grouped and classed, and what indexing and showing them costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.report import Table
    from bench.stage import Stage


def run(_stage: Stage) -> list[Table]:
    """How well signatures and classes agree with what a person says of the corpus of errors, and what they take."""
    from bench.failures.agreement import tables

    return tables()
