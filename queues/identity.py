"""What is remembered about a source belongs to one server: told apart by the address, forgotten when that changes."""

from __future__ import annotations

import logging

from django.db import transaction

from queues.failures import merging
from queues.models import FailureGroup, Following, Notable, Queue, Snapshot, Source, Stream
from queues.registry import backend, configured

logger = logging.getLogger(__name__)


def recognise() -> None:
    """Forget what is known of a source whose address is another than at the last start; pinned queues stay.

    For the start of a process, before anything is read: a name such as `main` outlives the server
    behind it. One query, and writes only where an address is new.
    """
    known = {source.name: source for source in Source.objects.all()}
    for config in configured():
        address = backend(config.name).address
        source = known.get(config.name)
        if source is None or source.address == address:
            continue
        if source.address:
            logger.info("%s is another server now, %s: what was known of the old one is forgotten", source, address)
            _forget(source)
        Source.objects.filter(pk=source.pk).update(address=address)


@transaction.atomic
def _forget(source: Source) -> None:
    Queue.objects.filter(source=source, pinned=False).delete()
    # Their failures went with them; what a group says for all time must not hold them still, and then the new ones too.
    for group in FailureGroup.objects.filter(source=source).iterator():
        merging.recount(group)
    Snapshot.objects.filter(source=source).delete()
    # A pinned queue has another stream there.
    Stream.objects.filter(queue__source=source).delete()
    Notable.objects.filter(source=source).delete()
    Following.objects.filter(source=source).update(covered_ms=0, strange=0)
    kept = {"pk", "id", "name", "address"}
    fresh = Source()
    Source.objects.filter(pk=source.pk).update(
        **{field.attname: getattr(fresh, field.attname) for field in Source._meta.fields if field.attname not in kept}
    )
