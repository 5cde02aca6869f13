"""Who may run an action: one worker at a time, for one slice, fenced by an epoch that every writing checks.

No clock is compared with another machine's. A slice takes an action that nobody holds, and gives it back when it ends.
A worker that died in one holds it still: whoever looks after all actions sees that its beats have not grown for
fifteen seconds of the looker's own time, and frees it.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.db.models import F, QuerySet
from django.utils import timezone

from queues.audit.types import Status
from queues.bulk import facts
from queues.bulk.phases import Phase
from queues.models import Bulk

FREE_AFTER_S = 15.0  # much more than a slice takes between two beats


class LeaseLost(Exception):
    """Another worker has taken over: what we have not stored is its business now."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run one action, for one slice."""

    bulk: int
    epoch: int

    def keep(self, **values: object) -> None:
        """Show that we live, and write how far we are. Within the transaction of what else is stored.

        LeaseLost when the lease is no longer ours: the transaction must not be committed then.
        """
        ours = Bulk.objects.filter(pk=self.bulk, epoch=self.epoch).exclude(holder="")
        if not ours.update(**{"beats": F("beats") + 1, "beat_at": timezone.now(), **values}):
            raise LeaseLost

    def release(self) -> None:
        """Let the next slice begin, here or elsewhere. Nothing where the lease is lost already."""
        Bulk.objects.filter(pk=self.bulk, epoch=self.epoch).update(holder="", beats=F("beats") + 1)


def take(bulk: int, epoch: int) -> Lease | None:
    """The lease of an action that nobody holds and that has had no holder since `epoch`; else None."""
    free = unended().filter(pk=bulk, epoch=epoch, holder="")
    values = {"epoch": F("epoch") + 1, "beats": F("beats") + 1, "beat_at": timezone.now()}
    return Lease(bulk, epoch + 1) if free.update(holder=_name(), **values) else None


def unended() -> QuerySet[Bulk]:
    """The actions that have still to be run."""
    return Bulk.objects.filter(entry__status=Status.RUNNING).exclude(phase=Phase.ENDED)


@dataclass
class Watch:
    """What this process has seen of those that hold an action. `clock` is monotonic, in seconds."""

    clock: Callable[[], float] = time.monotonic
    _seen: dict[int, tuple[tuple[int, int], float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def resting(self) -> Sequence[tuple[int, int]]:
        """The actions that could go on and nobody holds, with their epochs; those of silent holders are freed.

        One query, and a write for each that is freed.
        """
        rows = list(unended().only("pk", "epoch", "beats", "holder", "facts").order_by("pk"))
        with self._lock:
            found = [(row.pk, epoch) for row in rows if (epoch := self._free_since(row)) is not None]
            self._seen = {row.pk: self._seen[row.pk] for row in rows if row.pk in self._seen}
        return found

    def _free_since(self, row: Bulk) -> int | None:
        if not row.holder:
            return row.epoch
        beat, now = (row.epoch, row.beats), self.clock()
        seen, since = self._seen.get(row.pk, (None, now))
        if seen != beat:
            self._seen[row.pk] = (beat, now)
            return None
        return _freed(row) if now - since >= FREE_AFTER_S else None


def _freed(row: Bulk) -> int | None:
    """Take it from whoever holds it, unless that one shows a sign of life meanwhile."""
    silent = Bulk.objects.filter(pk=row.pk, epoch=row.epoch, beats=row.beats, holder=row.holder)
    known = {**row.facts, facts.LOST: True}
    return row.epoch + 1 if silent.update(holder="", epoch=F("epoch") + 1, facts=known) else None


def _name() -> str:
    return f"{socket.gethostname()[:60]}:{os.getpid()}:{threading.get_native_id()}"
