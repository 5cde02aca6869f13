"""Writing what is indexed while the index goes on: people merge and split, rules decide anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.db.models import F

from queues.models import Indexing


@contextmanager
def beside_the_index(source_pk: int) -> Iterator[None]:
    """A transaction of somebody else (a person who merges, a change of rules) that the index waits for.

    Whoever moves signatures or strands, or changes their counts, does it inside: else what the index adds just then
    is added to where it was before. Keep it under 100 ms.
    """
    with transaction.atomic():
        # Locks the row that every writing of the index begins with; SQLite locks all anyway.
        Indexing.objects.filter(source_id=source_pk).update(beats=F("beats") + 1)
        yield
