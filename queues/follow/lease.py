"""Who may follow a source: one at a time, fenced by an epoch that every writing checks.

No clock is compared with another machine's: whoever stands by watches the holder's beats, and takes over when they
have not grown for six seconds of its own time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from queues.models import Following, Source

TAKE_AFTER_S = 6.0


class LeaseLost(Exception):
    """Another follower has taken over: what we have not stored is its business now."""


class Lease:
    """The right of `holder` to follow one source. For one thread; `clock` is monotonic, in seconds."""

    def __init__(self, source: str, holder: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.source = source
        self.holder = holder
        self.epoch: int | None = None
        self._clock = clock
        self._seen: tuple[int, int] | None = None  # epoch and beats of whoever holds it
        self._seen_at = 0.0

    @property
    def held(self) -> bool:
        return self.epoch is not None

    def take(self) -> bool:
        """Take the lease when it is free or its holder is silent. One query, and a write when it looks free."""
        row = self._row()
        seen = (row.epoch, row.beats)
        if row.holder and seen != self._seen:
            self._seen, self._seen_at = seen, self._clock()
            return False
        if row.holder and self._clock() - self._seen_at < TAKE_AFTER_S:
            return False
        ours = Following.objects.filter(pk=row.pk, epoch=row.epoch, beats=row.beats, holder=row.holder)
        if ours.update(holder=self.holder, epoch=F("epoch") + 1, beats=F("beats") + 1, beat_at=timezone.now()):
            self.epoch = row.epoch + 1
        self._seen = None
        return self.held

    def keep(self, **values: object) -> None:
        """Show that we live, and write how following stands. Within the transaction of what else is stored.

        LeaseLost when the lease is no longer ours: the transaction must not be committed then.
        """
        if not self._ours().update(beats=F("beats") + 1, beat_at=timezone.now(), **values):
            self.epoch = None
            raise LeaseLost(self.source)

    def release(self) -> None:
        """Let another follower begin at once."""
        if self.epoch is not None:
            self._ours().update(holder="", beats=F("beats") + 1)
            self.epoch = None

    def _ours(self) -> QuerySet[Following]:
        # No epoch is below 1: without the lease nothing matches.
        return Following.objects.filter(source__name=self.source, holder=self.holder, epoch=self.epoch or 0)

    def _row(self) -> Following:
        row = Following.objects.filter(source__name=self.source).first()
        if row is None:
            with transaction.atomic():
                source, _created = Source.objects.get_or_create(name=self.source)
                row, _created = Following.objects.get_or_create(source=source)
        return row
