"""Finding queues among 1.2 million keys."""

from __future__ import annotations

import time

from bench.report import Row, Table, limited
from bench.stage import Stage
from queues import discovery
from queues.models import Source

TIMES = 3
LONGEST_COMMAND_MS = 10.0


def run(stage: Stage) -> list[Table]:
    """A scan of 1.2 million keys against the bare SCAN, and its longest single command."""
    world = stage.long
    world.watch()
    ours, bare = [], []
    for _ in range(min(TIMES, stage.rounds)):
        began = time.perf_counter()
        discovery.scan(world.config.name)
        ours.append(time.perf_counter() - began)
        began = time.perf_counter()
        for _key in world.client.scan_iter(match="*:meta", count=1000):
            pass
        bare.append(time.perf_counter() - began)
    keys = Source.objects.get(name=world.config.name).scan_keys
    rows = [
        Row(
            f"scan of {keys:,} keys",
            f"{min(ours):.2f} s",
            f"{min(ours):.2f} to {max(ours):.2f}",
            f"{min(bare):.2f} s",
            f"{min(ours) / min(bare):.2f}",
        ),
        limited("its longest single command", stage.scripts.longest("SCAN"), "ms", most=LONGEST_COMMAND_MS),
    ]
    note = f"The best of {len(ours)}. Floor: redis-py's scan_iter with the same pattern and step."
    return [Table("Discovery", rows, (note,))]
