"""Which jobs an action was frozen on: kept for a day after its end, for whoever looks into it, and no longer."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from queues.bulk.phases import Phase
from queues.models import BulkBatch
from queues.passing import in_passing

KEPT = timedelta(days=1)
MOST = 1_000  # rows in one transaction, each of some 10 KB


def forget_old_batches() -> int:
    """Delete the batches of actions that ended a day ago, at most 1,000; gives how many. The next run goes on."""
    deleted = 0
    with in_passing():
        until = timezone.now() - KEPT
        old = BulkBatch.objects.filter(bulk__phase=Phase.ENDED, bulk__entry__ended_at__lt=until)
        found = list(old.values_list("pk", flat=True)[:MOST])
        if found:
            deleted, _each = BulkBatch.objects.filter(pk__in=found).delete()
    return deleted
