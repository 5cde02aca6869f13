"""Replays: how fast they send and how well they keep a pace, what preparing one takes, and how fast its pages are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.report import Table
    from bench.stage import Stage


def run(stage: Stage) -> Iterator[Table]:
    """Replay of 20,000 and 100,000 jobs against Bull Board; three paces; the preview of 100,000, and the pages."""
    from bench.failures.place import place
    from bench.replay import pace, preview, product, sending

    with (
        place(stage, product.SOURCE, lambda client: [product.seed(client, 1)]) as held,
        product.product(stage, held) as made,
    ):
        yield from sending.measure(stage, made)
        yield from pace.measure(stage, made)
    yield from preview.measure(stage)
