"""Who may run what is run in slices: one worker at a time, for one slice, fenced by an epoch that every writing checks.

No clock is compared with another machine's. A slice takes a row that nobody holds, and gives it back when it ends. A
worker that died in one holds it still: whoever looks after all rows sees that its beats have not grown for fifteen
seconds of the looker's own time, and frees it, with `LOST` among its facts.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from django.db.models import F, QuerySet
from django.utils import timezone

from queues.models import Bulk, Replay

FREE_AFTER_S = 15.0  # much more than a slice takes between two beats
LOST = "lost"  # in `facts`, true: a worker was lost on the way

R = TypeVar("R", Bulk, Replay)  # with holder, epoch, beats, beat_at and facts


class LeaseLost(Exception):
    """Another worker has taken over: what we have not stored is its business now."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run one row of a table, for one slice."""

    kind: type[Bulk] | type[Replay]
    row: int
    epoch: int

    def keep(self, **values: object) -> None:
        """Show that we live, and write how far we are. Within the transaction of what else is stored.

        LeaseLost when the lease is no longer ours: the transaction must not be committed then.
        """
        ours = self.kind.objects.filter(pk=self.row, epoch=self.epoch).exclude(holder="")
        if not ours.update(**{"beats": F("beats") + 1, "beat_at": timezone.now(), **values}):
            raise LeaseLost

    def release(self) -> None:
        """Let the next slice begin, here or elsewhere. Nothing where the lease is lost already."""
        self.kind.objects.filter(pk=self.row, epoch=self.epoch).update(holder="", beats=F("beats") + 1)


@dataclass(frozen=True, slots=True)
class Leases(Generic[R]):
    """The rows of one table that have still to be run: `unended` gives them."""

    kind: type[R]
    unended: Callable[[], QuerySet[R]]

    def take(self, row: int, epoch: int) -> Lease | None:
        """The lease of a row that nobody holds and that has had no holder since `epoch`; else None."""
        free = self.unended().filter(pk=row, epoch=epoch, holder="")
        values = {"epoch": F("epoch") + 1, "beats": F("beats") + 1, "beat_at": timezone.now()}
        return Lease(self.kind, row, epoch + 1) if free.update(holder=_name(), **values) else None


@dataclass
class Watch(Generic[R]):
    """What this process has seen of those that hold a row. `clock` is monotonic, in seconds."""

    leases: Leases[R]
    clock: Callable[[], float] = time.monotonic
    _seen: dict[int, tuple[tuple[int, int], float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def resting(self) -> Sequence[tuple[int, int]]:
        """The rows that could go on and nobody holds, with their epochs; those of silent holders are freed.

        One query, and a write for each that is freed.
        """
        rows = list(self.leases.unended().only("pk", "epoch", "beats", "holder", "facts").order_by("pk"))
        with self._lock:
            found = [(row.pk, epoch) for row in rows if (epoch := self._free_since(row)) is not None]
            self._seen = {row.pk: self._seen[row.pk] for row in rows if row.pk in self._seen}
        return found

    def _free_since(self, row: R) -> int | None:
        if not row.holder:
            return row.epoch
        beat, now = (row.epoch, row.beats), self.clock()
        seen, since = self._seen.get(row.pk, (None, now))
        if seen != beat:
            self._seen[row.pk] = (beat, now)
            return None
        return _freed(row) if now - since >= FREE_AFTER_S else None


def _freed(row: R) -> int | None:
    """Take it from whoever holds it, unless that one shows a sign of life meanwhile."""
    silent = type(row).objects.filter(pk=row.pk, epoch=row.epoch, beats=row.beats, holder=row.holder)
    known = {**row.facts, LOST: True}
    return row.epoch + 1 if silent.update(holder="", epoch=F("epoch") + 1, facts=known) else None


def _name() -> str:
    return f"{socket.gethostname()[:60]}:{os.getpid()}:{threading.get_native_id()}"
