"""What stands in the way of new jobs in the queues that they go to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from queues.actions import NewJob
from queues.errors import QueueError
from queues.jsonload import Unreadable, load
from queues.models import Replay, ReplayJob
from queues.replay.copies import Unmapped, copied
from queues.replay.freezing.book import Book
from queues.replay.freezing.items import BATCH, Attempts, Item, as_row, by_queue
from queues.replay.freezing.seeing import target_of
from queues.replay.freezing.stock import stocked
from queues.replay.hands import Hands
from queues.replay.receipts import receipt
from queues.sendings import Conflict


@dataclass(frozen=True, slots=True)
class Copying:
    """The copies that a batch would make."""

    run: Hands
    book: Book

    def look(self, items: Sequence[Item], made: Mapping[int, NewJob], told: Attempts) -> None:
        """Look for each; `made` are those that are known by the keys of their rows. Two calls for each target."""
        jobs = {**made, **dict(self._made([item for item in items if item.pk not in made]))}
        by_target: dict[int, list[Item]] = {}
        for item in items:
            if item.target is not None and item.pk in jobs and not item.out:
                by_target.setdefault(item.target, []).append(item)
        for target, part in by_target.items():
            self._in_the_way(target, part, jobs)
        for queue, part in by_queue([item for item in items if item.pk in jobs and not item.out]).items():
            self._receipts(queue, part)
        for item in items:
            if item.pk in jobs and not item.out:
                told.add(0, _attempts(jobs[item.pk]), copy=True)

    def _made(self, items: Sequence[Item]) -> Iterator[tuple[int, NewJob]]:
        """The copies of failed and completed jobs, without their data: nothing stands in the way of those."""
        for queue, part in by_queue(items).items():
            by_id, ref = {target_of(item).id: item for item in part}, self.book.by_pk(queue).ref
            row, terms = ReplayJob(), self.run.terms
            for job, stored in stocked(self.run, ref, list(by_id)):
                item = by_id[job]
                try:
                    made = copied(as_row(item, row), stored, terms, queue=ref)
                    yield item.pk, replace(made, data=b"null")
                except Unmapped as error:
                    item.blame(Conflict.UNMAPPED, str(error))
                except QueueError as error:
                    item.blame(Conflict.REFUSED, str(error))

    def _in_the_way(self, target: int, items: Sequence[Item], jobs: Mapping[int, NewJob]) -> None:
        ref = self.book.by_pk(target).ref
        for at in range(0, len(items), BATCH):
            part = items[at : at + BATCH]
            looked = self.run.actions.look_copies(ref, [jobs[item.pk] for item in part])
            for item, each in zip(part, looked, strict=True):
                item.blame(each.conflict, each.note)

    def _receipts(self, queue: int, items: Sequence[Item]) -> None:
        """What another plan has sent, by the server's own word: ours may be of an older copy of the database."""
        ref, named = self.book.by_pk(queue).ref, [target_of(item) for item in items]
        asked = [receipt(ref, job.id, job.seen) for job in named]
        for item, found in zip(items, self.run.actions.receipts(ref, asked), strict=True):
            if found and found.plan != self.run.replay.token:
                item.blame(Conflict.SENT_BEFORE, _plan(found.plan))


def _plan(token: str) -> str:
    """What people call the plan of this token; "" for one that is not known here."""
    pk = Replay.objects.filter(token=token).values_list("pk", flat=True).first()
    return f"R-{pk}" if pk else ""


def _attempts(job: NewJob) -> int | None:
    """How often a new job may be tried; None where its options cannot be read."""
    try:
        opts = load(job.opts)
    except Unreadable:
        return None
    attempts = opts.get("attempts", 0) if isinstance(opts, dict) else None
    return attempts if type(attempts) is int else None
