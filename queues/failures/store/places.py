"""Queues by their keys in the database."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from queues.errors import NotFound
from queues.models import Queue
from queues.types import QueueRef


@dataclass(frozen=True, slots=True)
class Place:
    """A queue and its key."""

    pk: int
    ref: QueueRef


class Places:
    """Those of one source, remembered until `forget`."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._known: dict[QueueRef, Place] = {}
        self._by_pk: dict[int, Place] = {}

    def forget(self) -> None:
        self._known.clear()
        self._by_pk.clear()

    def of(self, ref: QueueRef) -> Place:
        """NotFound where it has no row."""
        found = self._known.get(ref)
        if found is None:
            pk = Queue.objects.filter(source__name=self._source, slug=ref.slug).values_list("pk", flat=True).first()
            if pk is None:
                raise NotFound(_("There is no such queue."))
            found = self._known[ref] = self._by_pk[pk] = Place(pk, ref)
        return found

    def by_pk(self, pk: int) -> Place | None:
        """None where it has none, or is of another source."""
        if pk not in self._by_pk:
            slug = Queue.objects.filter(source__name=self._source, pk=pk).values_list("slug", flat=True).first()
            if slug is None:
                return None
            self.of(QueueRef.from_slug(self._source, slug))
        return self._by_pk[pk]
