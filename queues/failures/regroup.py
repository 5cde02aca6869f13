"""A new version of the rules that make signatures: what is indexed is grouped by it in the background, in slices.

First the samples tell which new signature each old one becomes, so that what fails meanwhile finds its group. Then jobs
that are still there are read again, since one old signature may have become several. What is left follows at the end.
Nothing is remembered but in the database: who begins in the middle only reads some jobs twice.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Sum

from queues.errors import QueueError, Unreachable
from queues.failures import classes
from queues.failures.index.finding import found
from queues.failures.index.term import Reader, Term
from queues.failures.signature import of
from queues.failures.store import Written, ids
from queues.failures.store.regrouping import Old, Regrouper
from queues.failures.types import VERSION, Found, Thrown
from queues.models import Failure, FailureSample, FailureSignature, FailureStrand, Indexing
from queues.quantities import now_ms
from queues.types import QueueRef

TURN_S = 0.2  # that one call works
AGAIN_S = 5.0  # until a server that did not answer is asked again
SIGNATURES = 50  # old ones in one transaction
ROWS = 1_000  # failures that are looked at at once
TELL_S = 1.0  # between two writings of how far it is


@dataclass(frozen=True, slots=True)
class _Row:
    """A failure as it is kept."""

    id: int
    queue: int
    job: str
    score_ms: int
    at_ms: int
    present: bool
    strand: int


class Regroup:
    """For the thread that indexes one source, within one term."""

    def __init__(self, term: Term) -> None:
        self._term = term
        self._work: Regrouper = term.store.regrouper()
        self._phase = self._begin
        self._after = 0
        self._strands: Mapping[int, int] = {}
        self._done = 0
        self._told_at = float("-inf")
        self._again_at = float("-inf")
        self._moved = False
        self.over = False

    def run(self, until: float | None = None) -> None:
        """Work for a fifth of a second at most, or until then (monotonic); `over` says when all is done.

        Raises what writing raises. A server that does not answer is asked again later.
        """
        until = time.monotonic() + TURN_S if until is None else until
        while not self.over and time.monotonic() < until and time.monotonic() >= self._again_at:
            self._phase()

    def _begin(self) -> None:
        ours = Indexing.objects.filter(source__name=self._term.source)
        if not self._work.old(most=1):
            if ours.filter(version__lt=VERSION).exists():
                self._stand(version=VERSION, regrouping=0, regrouped=0)
            self.over = True
            return
        self._strands = self._work.strands()
        self._stand(regrouping=max(1, self._expected()), regrouped=0)
        self._phase = self._by_samples

    def _expected(self) -> int:
        strands = FailureStrand.objects.filter(
            signature__source__name=self._term.source, signature__version__lt=VERSION
        )
        return strands.aggregate(present=Sum("present"))["present"] or 0

    def _by_samples(self) -> None:
        """Name heirs by what the samples of old signatures say."""
        olds = self._work.old(after=self._after, most=SIGNATURES)
        if not olds:
            self._after, self._phase = 0, self._by_jobs
            return
        with self._term.writing(len(olds)):
            for old in olds:
                self._by_samples_of(old)
        self._after = olds[-1].pk

    def _by_samples_of(self, old: FailureSignature) -> None:
        said = [(sample, _thrown(sample, old)) for sample in FailureSample.objects.filter(signature=old)]
        if not said:
            return
        signatures = [of(thrown) for _sample, thrown in said]
        digest = Counter(each.digest for each in signatures).most_common(1)[0][0]
        for (sample, thrown), signature in zip(said, signatures, strict=True):
            place = self._work.place(sample.queue_id)
            if signature.digest == digest and place is not None:
                told = Found(b"", sample.at_ms, sample.at_ms, thrown, signature)
                self._work.name_heir(old, place, told)
                return

    def _by_jobs(self) -> None:
        """Read jobs that are there again, and move those that belong elsewhere than the rest of their signature."""
        columns = ("pk", "queue_id", "job", "score_ms", "at_ms", "present", "strand_id", "in_set")
        page = list(Failure.objects.filter(pk__gt=self._after).order_by("pk").values_list(*columns)[:ROWS])
        if not page:
            self._after, self._phase = 0, self._rest
            return
        by_queue: dict[int, list[_Row]] = {}
        for *values, in_set in page:
            if in_set and values[-1] in self._strands:
                by_queue.setdefault(values[1], []).append(_Row(*values))
        for queue, rows in by_queue.items():
            self._done += len(rows)
            if not self._one_queue(queue, rows):
                self._done -= len(rows)
                return
        self._after = page[-1][0]
        self._tell()

    def _one_queue(self, queue: int, rows: Sequence[_Row]) -> bool:
        """Whether it could be asked. A queue that cannot be read alone is left to what the samples say."""
        place = self._work.place(queue)
        if place is None:
            return True
        try:
            moved = list(_read(self._term.reader, place.ref, rows, self._strands))
        except Unreachable:
            self._again_at = time.monotonic() + AGAIN_S
            return False
        except QueueError:
            return True
        at_once = self._term.pace.rows
        for part in (moved[at : at + at_once] for at in range(0, len(moved), at_once)):
            with self._term.writing(len(part)):
                slugs = self._work.move(place, part)
            self._note(slugs)
        return True

    def _rest(self) -> None:
        """What is left of old signatures follows. Parts of a signature that was split come before the whole."""
        olds = self._work.old(most=SIGNATURES * 20)
        if not olds:
            self._stand(version=VERSION, regrouping=0, regrouped=0)
            if self._moved:
                classes.reclassify(self._term.source)
            self.over = True
            return
        first = sorted(olds, key=lambda old: (old.parent_id is None, old.pk))[:SIGNATURES]
        slugs: set[str] = set()
        with self._term.writing(len(first)):
            until = time.monotonic() + TURN_S / 4
            for old in first:
                done, changed = self._work.settle(old.pk)
                slugs |= changed
                if not done or time.monotonic() >= until:
                    break
        self._note(slugs)

    def _note(self, slugs: Iterable[str]) -> None:
        changed = frozenset(slugs)
        self._moved = self._moved or bool(changed)
        self._term.note_changed(Written(groups=changed))
        self._term.tell()

    def _tell(self) -> None:
        if time.monotonic() - self._told_at >= TELL_S:
            self._stand(regrouped=self._done)
            self._told_at = time.monotonic()

    def _stand(self, **fields: object) -> None:
        with self._term.writing():
            self._term.store.stand(**fields)


def _thrown(sample: FailureSample, old: FailureSignature) -> Thrown:
    """What a sample says. It is masked, as what counts of a message is."""
    none = not sample.reason and old.parts.get("shape") == "none"
    size = sample.sizes.get("reason", 0) if isinstance(sample.sizes, dict) else 0
    return Thrown(None if none else sample.reason, sample.stack, sample.name, size)


def _read(reader: Reader, queue: QueueRef, rows: Sequence[_Row], strands: Mapping[int, int]) -> Iterable[Old]:
    """The failures of these rows as the server tells them; without those whose job has gone or failed anew."""
    by_job = {ids.id_of(row.job): row for row in rows if ids.linked(row.job)}
    if not by_job:
        return
    for each in found(reader.failed_jobs(queue, list(by_job)).values(), now_ms()):
        row = by_job.get(each.job)
        if row is not None and row.score_ms == each.score_ms:
            yield Old(row.id, row.strand, strands[row.strand], row.at_ms, row.present, each)
