"""What a person says about a queue of dead letters: that it is one or none, whose letters it holds, how they read."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.utils.translation import gettext as _

from queues import audit
from queues.audit.types import Asked
from queues.errors import BadInput, NotFound
from queues.failures.letters import book
from queues.failures.letters.mapping import checked
from queues.models import DeadLetterQueue, IndexedQueue, Queue
from queues.types import QueueRef

SAID = "dead-letters"  # as the log of actions calls it


def say(
    asked: Asked,
    queue: QueueRef,
    *,
    is_one: bool | None,
    origin: QueueRef | None = None,
    mapping: Mapping[str, str] | None = None,
) -> None:
    """Keep it, together with its entry in the log. `is_one` None: forget what was said, the name decides again.

    Its letters are read anew. BadInput for a path that is none, or a queue that were its own origin; NotFound for a
    queue that we do not know.
    """
    if origin == queue:
        raise BadInput(_("A queue cannot hold its own dead letters."))
    own = checked(mapping or {})
    told = {"is_one": is_one, "origin": origin.label if origin else "", "mapping": own}
    with transaction.atomic():
        row = Queue.objects.filter(source__name=queue.source, slug=queue.slug).first()
        if row is None:
            raise NotFound(_("This queue is not known."))
        if is_one is None:
            DeadLetterQueue.objects.filter(queue=row).delete()
        else:
            values = {
                "is_one": is_one,
                "origin": origin.slug if origin else "",
                "mapping": own,
                "said_by": asked.by.name,
            }
            DeadLetterQueue.objects.update_or_create(queue=row, defaults=values)
        remap(row)
        audit.record(asked.by, SAID, queue=queue, parameters=told, reason=asked.reason)
    book.forget()


def remap(row: Queue) -> None:
    """Have the letters of a queue read anew, or forgotten where it holds none: the index does it within seconds.

    The wish is kept until that is done, whatever ends meanwhile. What is not indexed yet is read as it is now anyway.
    """
    IndexedQueue.objects.filter(queue=row).update(reread=IndexedQueue.REREAD_ALL)
