"""The shop's queues: how many jobs each works at once, what it keeps, and where its producers stop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

Options: TypeAlias = dict[str, Any]

DEAD_LETTERS = "payments-failed"
SHIPPING = "shipping-labels"


def _keep(completed: int, failed: int) -> Options:
    return {"removeOnComplete": {"age": 6 * 3600, "count": completed}, "removeOnFail": {"count": failed}}


def _retry(attempts: int, first_ms: int) -> Options:
    return {"attempts": attempts, "backoff": {"type": "exponential", "delay": first_ms}}


@dataclass(frozen=True)
class QueueSpec:
    """`cap` is the number of unfinished jobs at which producers stop adding; no `concurrency` means no worker."""

    name: str
    cap: int
    concurrency: int = 0
    options: Options = field(default_factory=dict)


QUEUES = {
    spec.name: spec
    for spec in (
        QueueSpec("accounting", cap=20, concurrency=1, options=_keep(100, 50)),
        QueueSpec("cart-reminders", cap=150, concurrency=2, options={**_keep(300, 50), **_retry(3, 5_000)}),
        QueueSpec("email-notifications", cap=400, concurrency=5, options={**_keep(500, 1_000), **_retry(5, 2_000)}),
        QueueSpec("imports", cap=12, concurrency=2, options={**_keep(60, 1_000), "keepLogs": 500}),
        QueueSpec("invoices", cap=200, concurrency=3, options={**_keep(300, 1_000), **_retry(4, 3_000)}),
        QueueSpec("ledger-export", cap=20, options=_keep(50, 50)),
        QueueSpec("media.resize", cap=150, concurrency=3, options={**_keep(200, 1_000), **_retry(2, 1_000)}),
        QueueSpec("media.thumbnails", cap=60, concurrency=1, options=_keep(200, 50)),
        QueueSpec("newsletter", cap=300, concurrency=4, options={**_keep(200, 50), **_retry(3, 10_000)}),
        QueueSpec("orders", cap=120, concurrency=3, options=_keep(300, 100)),
        QueueSpec("payments", cap=150, concurrency=4, options={**_keep(300, 5_000), **_retry(3, 1_500)}),
        QueueSpec(DEAD_LETTERS, cap=500),
        # Left without bounds, as many shops do: a slow leak for Mirante to point at.
        QueueSpec("reports", cap=50, concurrency=2),
        QueueSpec("search-index", cap=2_000, options=_keep(100, 50)),
        QueueSpec(SHIPPING, cap=80, concurrency=1, options={**_keep(200, 1_000), **_retry(2, 2_000)}),
    )
}
