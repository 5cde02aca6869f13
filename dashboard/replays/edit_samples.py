"""What an edit would make of the first jobs of a plan: their data before and after, read from the server now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from queues import masking
from queues.errors import QueueError
from queues.operations.sending import writer
from queues.replay.copies import Unmapped, copied
from queues.replay.patching import Line, Unfit, compared, patcher
from queues.replay.preview import Sight
from queues.replay.terms import PatchKind, Terms

MOST = 3  # jobs
BYTES = 1024 * 1024  # of all of them


@dataclass(frozen=True, slots=True)
class EditSample:
    """One job: the lines that differ, none where nothing changes; None where the edit does not fit, and `why`."""

    sight: Sight
    lines: Sequence[Line] | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Edited:
    """Some jobs before and after, or why that cannot be shown."""

    samples: Sequence[EditSample] = ()
    error: str = ""


def edited(terms: Terms, sights: Sequence[Sight], *, data: bytes | None = None) -> Edited | None:
    """The first three of these jobs, one short call for each; None without an edit. Never raises a `QueueError`."""
    if terms.patch is None:
        return None
    if terms.patch.kind is PatchKind.WHOLE and data is None:
        return None
    try:
        return Edited(list(_samples(terms, sights[:MOST], data)))
    except QueueError as error:
        return Edited(error=str(error))


def _samples(terms: Terms, sights: Sequence[Sight], data: bytes | None) -> Iterator[EditSample]:
    if terms.patch is None:
        return
    change = patcher(terms.patch, data)
    as_is = replace(terms, patch=None)
    for sight in sights:
        if sight.job is None:
            continue
        queue = sight.job.queue
        with writer(queue.source) as actions:
            stored = actions.stored(queue, [sight.job.id], most=BYTES).get(sight.job.id)
        if stored is None:
            yield EditSample(sight, None, _("It is gone, or too large to be shown."))
            continue
        try:
            before = copied(sight.row, stored, as_is).data
            after = change(before)
        except (Unfit, Unmapped) as error:
            yield EditSample(sight, None, str(error))
        else:
            yield EditSample(sight, compared(before, after, masking.rules_for(queue)))
