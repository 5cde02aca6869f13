"""How long what is kept stays: events for seven days (of one queue 10,000 at most: `follow.store`), what was done, and
failures whose jobs are gone, and replays that ended, for as long as the settings say, copies of removed jobs until they
expire.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from queues import undo
from queues.audit.types import Status
from queues.failures.store import aging
from queues.history import MINUTE_MS
from queues.models import AuditEntry, Notable
from queues.passing import in_passing
from queues.quantities import now_ms
from queues.replay import forgetting

NOTABLE_KEPT_MS = 7 * 24 * 60 * MINUTE_MS
FUTURE_MS = 365 * 24 * 60 * MINUTE_MS  # clocks may be wrong, but not so much
BATCH = 1_000  # rows in one transaction: some 10 ms
LONGEST_S = 5.0


def forget_old_events() -> int:
    """Delete events that are older than seven days, for five seconds at most. Gives how many; the next run goes on.

    Also those of a future that somebody made up: of next year or later. Short transactions, so that nobody waits for
    SQLite's lock; while somebody else holds it, the rest is left to the next run.
    """
    until = time.monotonic() + LONGEST_S
    deleted = 0
    with in_passing():
        while time.monotonic() < until and (found := _old()):
            Notable.objects.filter(pk__in=found).delete()
            deleted += len(found)
            if len(found) < BATCH:
                break
    return deleted


def forget_old_entries() -> int:
    """Delete entries of the audit log that are too old, and copies that have expired, in the same manner.

    What still runs stays.
    """
    until = time.monotonic() + LONGEST_S
    deleted = 0
    with in_passing():
        while time.monotonic() < until and (copies := undo.forget_old(BATCH)):
            deleted += copies
        while time.monotonic() < until and (found := _old_entries()):
            AuditEntry.objects.filter(pk__in=found).delete()
            deleted += len(found)
    return deleted


def forget_old_failures() -> int:
    """Delete failures that are too old and whose jobs are gone, hours and idle groups, in the same manner."""
    until = time.monotonic() + LONGEST_S
    deleted = 0
    with in_passing():
        deleted = aging.forget_old(settings.MIRANTE_FAILURES_DAYS, now_ms(), until)
        _minutes.forget(until)
    return deleted


def forget_old_replays() -> int:
    """Delete the rows of replays that ended long ago, what was discarded, and idle drafts, in the same manner."""
    until = time.monotonic() + LONGEST_S
    with in_passing():
        return forgetting.forget(settings.MIRANTE_REPLAYS_DAYS, BATCH, until)
    return 0


class _Minutes:
    """Up to which hour this process has forgotten minutes: the first time all are looked at, then only newer ones."""

    def __init__(self) -> None:
        self._done: int | None = None

    def forget(self, until: float) -> None:
        self._done = aging.forget_minutes(now_ms(), until, self._done)


_minutes = _Minutes()


def _old_entries() -> Sequence[int]:
    if not settings.MIRANTE_AUDIT_DAYS:
        return ()
    before = timezone.now() - timedelta(days=settings.MIRANTE_AUDIT_DAYS)
    old = AuditEntry.objects.filter(at__lt=before).exclude(status=Status.RUNNING)
    return list(old.order_by("at").values_list("pk", flat=True)[:BATCH])


def _old() -> Sequence[int]:
    now = now_ms()
    wrong = Q(at_ms__lt=now - NOTABLE_KEPT_MS) | Q(at_ms__gt=now + FUTURE_MS)
    return list(Notable.objects.filter(wrong).values_list("pk", flat=True)[:BATCH])
