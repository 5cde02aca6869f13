"""Letters: what each tells, where its job is to go, and whether the job itself is in the failed set still."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from django.utils.translation import gettext as _

from queues.actions import NewJob, Stored, Target
from queues.errors import QueueError
from queues.failed import FailedJob
from queues.failures.letters import read as read_letter
from queues.failures.letters.mapping import Mapping, mapping_of
from queues.failures.letters.reading import origin_key
from queues.failures.store.adding import NEAR_MS
from queues.failures.store.rows import plain
from queues.models import ReplayJob
from queues.names import visible
from queues.replay.copies import Unmapped, copied
from queues.replay.freezing.book import Book
from queues.replay.freezing.choosing import choose
from queues.replay.freezing.items import Attempts, Item, as_row, by_queue, is_out
from queues.replay.freezing.seeing import bounded, see, target_of
from queues.replay.freezing.stock import stocked
from queues.replay.hands import Hands
from queues.replay.naming import is_exact, job_text, seen_text
from queues.replay.terms import Terms
from queues.replay.types import Acts
from queues.sendings import Conflict, Looked
from queues.types import QueueRef, State

_NOT_IN_SET = (Conflict.LEFT, Conflict.GONE)


@dataclass(frozen=True, slots=True)
class LetterTold:
    """What a letter says of where its job failed: the key of the queue, its id, when; and when it was posted."""

    queue: int
    job: bytes
    failed_ms: int | None
    posted_ms: int | None


@dataclass(frozen=True, slots=True)
class Says:
    """What a letter says of where its job failed; empty and None where it does not.

    One that is the job itself, moved over as it was, says nothing: what it holds is data.
    """

    queue: str = ""
    job: bytes | None = None
    failed_ms: int | None = None


@dataclass
class Letters:
    """Those of one batch. After `look`: what they tell by the keys of their rows, and the jobs that would be added."""

    run: Hands
    book: Book
    told: dict[int, LetterTold] = field(default_factory=dict)
    copies: dict[int, NewJob] = field(default_factory=dict)
    _row: ReplayJob = field(default_factory=ReplayJob)

    def look(self, items: Sequence[Item], told: Attempts) -> None:
        """Look at letters of whichever queues. Some four calls for each queue and for each that they came from."""
        for queue, part in by_queue(items).items():
            self._there(queue, part)
            self._read(queue, [item for item in part if not item.out])
        self._originals([item for item in items if item.pk in self.told], told)
        self._doubles([item for item in items if item.pk in self.told and not item.out])

    def _there(self, queue: int, items: Sequence[Item]) -> None:
        targets = [target_of(item) for item in items]
        looked = self.run.actions.look(self.book.by_pk(queue).ref, targets, state=State.WAITING)
        for item, each in zip(items, looked, strict=True):
            see(item, each)
            if not item.seen and item.created_ms is not None:
                item.seen = seen_text(b"%d" % item.created_ms)

    def _read(self, queue: int, items: Sequence[Item]) -> None:
        """What each tells, and the job that would be added for it."""
        place = self.book.by_pk(queue)
        terms, mapping = self.run.terms, mapping_of(place.ref)
        by_id = {target_of(item).id: item for item in items}
        to = self.book.called(terms.target).pk if terms.target else None
        for job, stored in stocked(self.run, place.ref, list(by_id)):
            item = by_id.pop(job)
            made = self._made(item, stored, terms, place.ref)
            moved = made is not None and made.data == stored.fields.get(b"data")
            says = Says() if moved and "queue" not in mapping.own else _says(_letter(job, stored, item), mapping)
            origin = origin_key(place.ref, says.queue, self.book.keys())
            item.failed_ms = bounded(says.failed_ms, item.created_ms)
            item.target, item.acts, item.same = to or origin, Acts.COPY.value, None
            if origin is not None and says.job is not None:
                item.same = same(self.book.by_pk(origin).ref.slug, says.job)
                self.told[item.pk] = LetterTold(origin, says.job, says.failed_ms, item.created_ms)
            if item.target is None:
                item.blame(Conflict.UNMAPPED, _nowhere(says.queue))
            elif made is not None:
                self.copies[item.pk] = replace(made, data=b"null")  # nothing in a queue stands in the way of data
        for item in by_id.values():
            item.blame(Conflict.UNMAPPED, _("It is too large to be read, or gone by now."))

    def _made(self, item: Item, stored: Stored, terms: Terms, queue: QueueRef) -> NewJob | None:
        """The job that would be added, wherever to; None where that cannot be."""
        row = as_row(item, self._row)
        row.target_id = item.target or item.queue
        try:
            return copied(row, stored, terms, queue=queue)
        except Unmapped as error:
            item.blame(Conflict.UNMAPPED, str(error))
        except QueueError as error:
            item.blame(Conflict.REFUSED, str(error))
        return None

    def _doubles(self, items: Sequence[Item]) -> None:
        """Of several letters of one job the first is sent. One query."""
        if not items:
            return
        wanted = list({item.same for item in items})
        before = ReplayJob.objects.filter(replay=self.run.replay, same__in=wanted, pk__lt=items[0].pk)
        rows = before.values_list("same", "letter", "job", "conflict")
        first = {key: letter or job for key, letter, job, conflict in rows if not is_out(conflict)}
        for item in items:
            if item.same in first:
                item.blame(Conflict.DOUBLE, first[item.same])
            else:
                first[item.same] = item.job

    def _originals(self, items: Sequence[Item], told: Attempts) -> None:
        """Those whose jobs are in their failed sets still: these are sent, and not what the letters say."""
        by_origin: dict[int, list[Item]] = {}
        for item in items:
            by_origin.setdefault(self.told[item.pk].queue, []).append(item)
        for origin, part in by_origin.items():
            ref = self.book.by_pk(origin).ref
            targets = [Target(self.told[item.pk].job) for item in part]
            looked = self.run.actions.look(ref, targets, state=State.FAILED)
            found = [(item, each) for item, each in zip(part, looked, strict=True) if _in_set(each)]
            taken = self._taken(origin, [job_text(self.told[item.pk].job) for item, _each in found])
            for item, each in found:
                self._original(item, origin, each, taken, told)

    def _original(self, item: Item, origin: int, looked: Looked, taken: set[tuple[str, str]], told: Attempts) -> None:
        letter, score = self.told[item.pk], looked.failed_ms or 0
        item.clear()  # what the letter lacks is in the job
        job, seen = job_text(letter.job), seen_text(b"%d" % score)
        if not _tells_of(letter, score):
            item.blame(Conflict.DOUBLE, _("The job itself failed again later, and is in the failed set of its queue."))
        elif (job, seen) in taken:
            item.blame(Conflict.DOUBLE, visible(letter.job)[:100])
        elif is_exact(job):
            taken.add((job, seen))
            item.letter_queue, item.letter = item.queue, item.job
            item.queue, item.job, item.seen, item.state = origin, job, seen, State.FAILED.value
            choose([item], self.run.terms, self.book)
            see(item, looked)
            self.copies.pop(item.pk, None)
            del self.told[item.pk]
            if item.acts == Acts.RETRY.value and not item.out:
                told.add(looked.attempts_made, looked.attempts_max)

    def _taken(self, queue: int, jobs: Sequence[str]) -> set[tuple[str, str]]:
        """Which of these jobs are in the plan by themselves. One query."""
        if not jobs:
            return set()
        rows = ReplayJob.objects.filter(replay=self.run.replay, queue=queue, job__in=list(jobs))
        return set(rows.values_list("job", "seen"))


def same(queue: str, job: bytes) -> int:
    """A digest of a queue, by its slug, and a job: what letters of one job have in common. Fits any database."""
    digest = hashlib.blake2b(queue.encode() + b"\x00" + job, digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def _says(letter: FailedJob, mapping: Mapping) -> Says:
    mapped = read_letter(letter, mapping)
    return Says(mapped.queue, mapped.job, mapped.failed_ms)


def _letter(job: bytes, stored: Stored, item: Item) -> FailedJob:
    data = stored.fields.get(b"data")
    name = stored.fields.get(b"name", b"")
    return FailedJob(job, None, name=name, timestamp_ms=item.created_ms, data=data, data_size=len(data or b""))


def _nowhere(named: str) -> str:
    if not named:
        return _("It does not tell to which queue its job belongs.")
    return _("It names the queue “%(queue)s”, which is not known here.") % {"queue": plain(named, 100)}


def _tells_of(letter: LetterTold, score_ms: int) -> bool:
    """Whether a letter is about this failure of its job; one that says no time is about the last before it."""
    if letter.failed_ms is not None:
        return abs(letter.failed_ms - score_ms) <= NEAR_MS
    return letter.posted_ms is None or score_ms <= letter.posted_ms + NEAR_MS


def _in_set(looked: Looked) -> bool:
    return looked.conflict not in _NOT_IN_SET and looked.failed_ms is not None
