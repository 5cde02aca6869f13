"""How long what the follower keeps stays: seven days. (Of one queue it keeps 10,000 at most: `follow.store`.)"""

from __future__ import annotations

import time

from queues.history import MINUTE_MS
from queues.models import Notable
from queues.quantities import now_ms

NOTABLE_KEPT_MS = 7 * 24 * 60 * MINUTE_MS
BATCH = 1_000  # rows in one transaction: some 10 ms
LONGEST_S = 5.0


def forget_old_events() -> int:
    """Delete events that are older than seven days, for five seconds at most. Gives how many; the next run goes on.

    Short transactions, so that nobody waits for SQLite's lock.
    """
    until = time.monotonic() + LONGEST_S
    deleted = 0
    while time.monotonic() < until:
        old = Notable.objects.filter(at_ms__lt=now_ms() - NOTABLE_KEPT_MS).values_list("pk", flat=True)[:BATCH]
        found = list(old)
        Notable.objects.filter(pk__in=found).delete()
        deleted += len(found)
        if len(found) < BATCH:
            break
    return deleted
