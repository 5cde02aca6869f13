"""What an edit would make of some jobs of a plan: their data before and after, read from the server now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from dashboard.replays.edit import rules_of
from queues.actions import Stored
from queues.errors import QueueError
from queues.operations.sending import writer
from queues.redaction import Rules
from queues.replay.copies import Unmapped, copied
from queues.replay.patching import Line, Patcher, Unfit, compared, patcher
from queues.replay.preview import Sight
from queues.replay.terms import PatchKind, Terms
from queues.types import JobRef, QueueRef

SHOWN = 3  # jobs whose data stand there at least, where there are so many
MOST = 6  # at most: one of each kind
BYTES = 1024 * 1024  # of the jobs of one queue


@dataclass(frozen=True, slots=True)
class EditSample:
    """One job: the lines that differ, none where nothing changes; None where the edit does not fit, and `why`."""

    sight: Sight
    lines: Sequence[Line] | None
    why: str = ""

    @property
    def kind(self) -> tuple[int, str]:
        """Its queue, by its key, and its name."""
        return self.sight.row.queue_id, self.sight.row.name


@dataclass(frozen=True, slots=True)
class Edited:
    """Some jobs of a plan before and after, those of different kinds first; or why that cannot be shown."""

    samples: Sequence[EditSample] = ()
    error: str = ""

    @property
    def shown(self) -> Sequence[EditSample]:
        return self.samples[: max(SHOWN, min(self.kinds, MOST))]

    @property
    def kinds(self) -> int:
        """Different names of jobs, those of different queues apart."""
        return len({sample.kind for sample in self.samples})

    @property
    def queues(self) -> int:
        return len({sample.sight.row.queue_id for sample in self.samples})

    @property
    def number(self) -> int:
        return len(self.samples)

    @property
    def unfit(self) -> int:
        return sum(sample.lines is None for sample in self.samples)

    @property
    def unchanged(self) -> int:
        return sum(sample.lines is not None and not sample.lines for sample in self.samples)

    @property
    def unseen(self) -> int:
        """Of which only what is hidden could have changed."""
        return sum(sample.lines[0].kind == "unseen" for sample in self.samples if sample.lines)

    @property
    def changed(self) -> int:
        return self.number - self.unfit - self.unchanged - self.unseen


def edited(terms: Terms, sights: Sequence[Sight], *, data: bytes | None = None, blind: bool = True) -> Edited | None:
    """What becomes of these jobs, a short call for each of their queues; None without an edit. No `QueueError`.

    `blind` as in `patching.compared`.
    """
    if terms.patch is None or (terms.patch.kind is PatchKind.WHOLE and data is None):
        return None
    try:
        change, found = patcher(terms.patch, data), stored_of(sights, BYTES)
        samples = [_sample(terms, sight, found.get(sight.job), change, blind) for sight in sights if sight.job]
        return Edited(samples)
    except QueueError as error:
        return Edited(error=str(error))


def stored_of(sights: Sequence[Sight], most: int) -> Mapping[JobRef | None, Stored]:
    """The jobs as they are stored; those that are gone, or of which a queue has more than so many bytes, are left out.

    A call for each queue.
    """
    found: dict[JobRef | None, Stored] = {}
    for queue, ids in _by_queue(sights):
        with writer(queue.source) as actions:
            stored = actions.stored(queue, ids, most=most)
        found |= {JobRef(queue, job): each for job, each in stored.items()}
    return found


def _by_queue(sights: Sequence[Sight]) -> Iterator[tuple[QueueRef, Sequence[bytes]]]:
    jobs = [sight.job for sight in sights if sight.job]
    for queue in dict.fromkeys(job.queue for job in jobs):
        yield queue, [job.id for job in jobs if job.queue == queue]


def _sample(terms: Terms, sight: Sight, stored: Stored | None, change: Patcher, blind: bool) -> EditSample:
    if stored is None or sight.job is None:
        return EditSample(sight, None, _("It is gone, or too large to be shown."))
    try:
        before = copied(sight.row, stored, replace(terms, patch=None)).data
        after = change(before)
    except (Unfit, Unmapped) as error:
        return EditSample(sight, None, str(error))
    return EditSample(sight, compared(before, after, _rules(sight, sight.job.queue), blind=blind))


def _rules(sight: Sight, queue: QueueRef) -> Rules:
    """What is hidden in the queue it is in, and in the one it goes to."""
    target = sight.row.target
    return rules_of(queue, QueueRef.from_slug(queue.source, target.slug) if target else None)
