"""Queues of a source by key, slug and name, as long as one slice needs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from queues.errors import NotFound
from queues.failures.store.places import Place
from queues.models import Queue, Source
from queues.types import QueueRef


@dataclass
class Book:
    """Those of one source. A queue that it does not know yet is asked for; one that is acted on gets a row."""

    source: Source
    _by_pk: dict[int, Place] = field(default_factory=dict)
    _by_slug: dict[str, Place] = field(default_factory=dict)
    _keys: Mapping[QueueRef, int] | None = None

    def called(self, slug: str) -> Place:
        """The queue of this slug; ValueError for what is none."""
        if slug not in self._by_slug:
            ref = QueueRef.from_slug(self.source.name, slug)
            row, _made = Queue.objects.get_or_create(source=self.source, slug=slug)
            self._keep(Place(row.pk, ref))
        return self._by_slug[slug]

    def by_pk(self, pk: int) -> Place:
        """NotFound where there is no such queue any more."""
        if pk not in self._by_pk:
            slug = Queue.objects.filter(source=self.source, pk=pk).values_list("slug", flat=True).first()
            if slug is None:
                raise NotFound(_("A queue of this plan is not known any more."))
            self._keep(Place(pk, QueueRef.from_slug(self.source.name, slug)))
        return self._by_pk[pk]

    def keys(self) -> Mapping[QueueRef, int]:
        """All queues of the source with their keys. One query."""
        if self._keys is None:
            rows = Queue.objects.filter(source=self.source).values_list("slug", "pk")
            self._keys = {QueueRef.from_slug(self.source.name, slug): pk for slug, pk in rows}
        return self._keys

    def _keep(self, place: Place) -> None:
        self._by_pk[place.pk] = self._by_slug[place.ref.slug] = place
