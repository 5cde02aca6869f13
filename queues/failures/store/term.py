"""Who may write the index of a source: the term of its follower, checked by every transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from queues.failures.store.types import Lost
from queues.models import Indexing, Source
from queues.passing import short_wait


class Term:
    """The right to write in `epoch`. `begun` is called in each transaction first, `forget` when one came to nothing."""

    def __init__(self, source: str, epoch: int, begun: Callable[[], None], forget: Callable[[], None]) -> None:
        self.source = source
        self.epoch = epoch
        self.source_pk = 0
        self.windows_ms = 0  # as the running transaction found it
        self._begun, self._forget = begun, forget
        self._inside = False

    def begin(self) -> bool:
        """Take the term where no later one has begun. A write, and two more where the source is new.

        It begins as far behind as the one before was, and as long as nobody has shown a sign of life since.
        """
        now = timezone.now()
        with short_wait(), transaction.atomic():
            source, _created = Source.objects.get_or_create(name=self.source)
            row, _created = Indexing.objects.get_or_create(source=source)
            silent = now - row.beat_at if row.beat_at else timedelta()
            behind_ms = max(0, row.behind_ms + int(silent.total_seconds() * 1000))
            ours = Indexing.objects.filter(source=source, epoch__lte=self.epoch)
            return bool(ours.update(epoch=self.epoch, beats=F("beats") + 1, beat_at=now, behind_ms=behind_ms))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, which nobody else's for this source runs beside; within another, a part of that."""
        if self._inside:
            yield
            return
        try:
            with short_wait(), transaction.atomic():
                self._keep()
                self._begun()
                self._inside = True
                yield
        except BaseException:
            self._forget()
            raise
        finally:
            self._inside = False

    def _keep(self) -> None:
        ours = Indexing.objects.filter(source__name=self.source)
        if not ours.filter(epoch=self.epoch).update(beats=F("beats") + 1, beat_at=timezone.now()):
            raise Lost(self.source)
        self.source_pk, self.windows_ms = ours.values_list("source_id", "windows_ms")[0]
