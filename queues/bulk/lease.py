"""Who may run an action: see `queues.lease`."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from django.db.models import QuerySet

from queues.audit.types import Status
from queues.bulk.phases import Phase
from queues.lease import Lease, Leases, Watch
from queues.models import Bulk


def unended() -> QuerySet[Bulk]:
    """The actions that have still to be run."""
    return Bulk.objects.filter(entry__status=Status.RUNNING).exclude(phase=Phase.ENDED)


def take(bulk: int, epoch: int) -> Lease | None:
    """The lease of an action that nobody holds and that has had no holder since `epoch`; else None."""
    return _LEASES.take(bulk, epoch)


def watch(clock: Callable[[], float] = monotonic) -> Watch[Bulk]:
    """What looks after those that hold one."""
    return Watch(_LEASES, clock)


_LEASES = Leases(Bulk, unended)
