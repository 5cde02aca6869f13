"""The rows with which an action over many jobs begins, and the wish that a worker takes it up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from queues.actions import Target
from queues.audit.types import Status
from queues.bulk.freezing import store
from queues.bulk.phases import Phase
from queues.models import AuditEntry, Bulk


def frozen(entry: AuditEntry, targets: Sequence[Target], **values: Any) -> None:
    """Begin an action over these jobs. `values` are of `Bulk`, here and below; the entry is running by it."""
    number = len(targets)
    _begin(entry, targets, phase=Phase.ACTING, cursor="0", expected=number, collected=number, until_ms=0, **values)


def matching(entry: AuditEntry, **values: Any) -> None:
    """Begin an action over all jobs of a state that were there by `until_ms`."""
    _begin(entry, (), phase=Phase.COLLECTING, **values)


def sweep(entry: AuditEntry, **values: Any) -> None:
    """Begin an action over a whole state or queue."""
    _begin(entry, (), phase=Phase.SWEEPING, sweep=True, **values)


def ask_to_stop(entry: AuditEntry, by: str) -> bool:
    """Have it stop after its step; False where it has ended. One that nobody runs just now is taken up for that."""
    running = Bulk.objects.filter(entry=entry, entry__status=Status.RUNNING).exclude(phase=Phase.ENDED)
    asked = running.filter(stop_asked_by="").update(stop_asked_by=by[:150] or "–")
    for bulk in running:
        _wake(bulk)
    return bool(asked) or running.exists()


def _begin(entry: AuditEntry, targets: Sequence[Target], **values: Any) -> None:
    with transaction.atomic():
        bulk = Bulk.objects.create(entry=entry, **values)
        store(bulk, targets)
        # What is not running is nobody's to take up: see `lease.unended`.
        AuditEntry.objects.filter(pk=entry.pk).update(status=Status.RUNNING)
    entry.status = Status.RUNNING
    _wake(bulk)


def _wake(bulk: Bulk) -> None:
    """Have a worker take it up, once this is committed. Where the broker is away, the clock finds it."""
    from queues import tasks

    transaction.on_commit(lambda: tasks.wake_bulk(bulk.pk, bulk.epoch))
