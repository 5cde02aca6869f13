"""What the index of a source may ask to be written, and what it must know to compare."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from queues.failures import windows
from queues.failures.store import adding, aging, leaving, lives, minutes, posting, untelling
from queues.failures.store.ids import kept
from queues.failures.store.places import Place, Places
from queues.failures.store.regrouping import Regrouper
from queues.failures.store.samples import Samples, Taken
from queues.failures.store.strands import Strands
from queues.failures.store.tally import Tally, groups_of, write
from queues.failures.store.term import Term
from queues.failures.store.types import Written, together
from queues.failures.types import UNSOLVED, Found, FoundLetter
from queues.models import FailureGroup, IndexedQueue, Indexing, Letter
from queues.quantities import now_ms
from queues.types import QueueRef


def _at_once() -> None:
    """Nobody waits for the database."""


class Store:
    """Writes the index of one source in one term (`epoch`) of its follower. For one thread.

    Every method that writes is a transaction of its own, at most some 100 ms for 1,000 rows, unless it is called
    within `writing`. Any of them raises `Lost` when a later term has begun (nothing is written then), NotFound for a
    queue that has no row, and OperationalError while the database is busy for longer than half a second: then the
    same call may simply be made again, since a repeated call changes nothing.
    """

    def __init__(self, source: str, epoch: int, clock: Callable[[], int] = now_ms) -> None:
        self.source = source
        self.epoch = epoch
        self._clock = clock
        self._places = Places(source)
        self._strands = Strands(source)
        self._samples = Samples()
        self._term = Term(source, epoch, self._strands.begin, self._forget)

    def begin(self) -> bool:
        """Take the term: from now on no earlier one may write. False where a later one has begun already.

        Also counts all windows anew (some 0.3 s for a million of hours).
        """
        if not self._term.begin():
            return False
        with self.writing():
            self._move(anew=True)
        return True

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction for all that is written inside. Keep it under 100 ms: SQLite has one writer."""
        with self._term.writing():
            yield

    def add(self, queue: QueueRef, found: Sequence[Found]) -> Written:
        """Keep failures of a queue, at most 1,000, as they stand in its failed set (or were told by events).

        Known ones change nothing, but that they are in the set again if they were gone. The other failures of a job
        that is in the set now are not there any more. One that takes over what only a letter told is not new. Many new
        signatures (a group costs some 0.3 ms to make) are written in several transactions.
        """
        place = self._places.of(queue)
        return together([self._add(place, some) for some in self._strands.portions(place, found)])

    def samples(self, queue: QueueRef, taken: Sequence[Taken]) -> None:
        """Keep failures in full, masked and cut, of those that were `wanted`: some 50 in one transaction."""
        with self.writing():
            self._samples.keep(self._places.of(queue), taken)

    def gone(self, queue: QueueRef, jobs: Sequence[bytes]) -> Written:
        """These jobs, at most 1,000, are in the failed set no longer. Counts stay."""
        tally = Tally()
        with self.writing():
            leaving.jobs(self._places.of(queue).pk, [kept(job) for job in jobs], tally)
            return self._counted(tally)

    def gone_before(self, queue: QueueRef, score_ms: int, rest: Callable[[], None] = _at_once) -> Written:
        """No job with a lower score is in the failed set any more. In transactions of 2,000 rows, `rest` in between."""
        return self._below(queue, score_ms, rest)

    def gone_all(self, queue: QueueRef, rest: Callable[[], None] = _at_once) -> Written:
        """The failed set is empty. In transactions of 2,000 rows, `rest` in between."""
        return self._below(queue, None, rest)

    def letters(self, queue: QueueRef, letters: Sequence[FoundLetter], anew: Collection[bytes] = ()) -> Written:
        """Keep letters of a dead-letter queue, at most 1,000, each with the failure it tells of.

        That is the failure of `origin` and `found.job` that fits in time (60 s; one without a time: the newest before
        the letter), else a failure is made of the letter. One that is known changes nothing, unless it is one of those
        that are read `anew`: what they said before is unsaid, in the same transaction.
        """
        tally = Tally()
        with self.writing():
            place = self._places.of(queue)
            untelling.untell(place, [kept(job) for job in anew], tally)
            made = posting.post(place, letters, self._places, self._term.source_pk, self._strands, tally=tally)
            written = self._counted(tally, max(0, _number(tally.came) - _number(tally.went)))
            self._samples.of_letters(made)
            return written

    def letters_gone(self, queue: QueueRef, jobs: Sequence[bytes]) -> Written:
        """These letters, at most 1,000, are in their queue no longer. Failures that they told of stay counted."""
        return self._less(queue, jobs, posting.withdraw)

    def letters_untold(self, queue: QueueRef, jobs: Sequence[bytes]) -> Written:
        """These, at most 1,000, were no letters, or not of that. Failures that nothing else told of never were."""
        return self._less(queue, jobs, untelling.untell)

    def wished_anew(self, queue: QueueRef) -> int:
        """Take the wish that the letters of a queue are read anew: the key of the last that is known, 0 for none.

        It is kept until `read_anew` says that this is done, or somebody wishes it again.
        """
        with self.writing():
            pk = self._places.of(queue).pk
            last = Letter.objects.filter(queue_id=pk).order_by("-pk").values_list("pk", flat=True).first() or 0
            IndexedQueue.objects.filter(queue_id=pk, reread=IndexedQueue.REREAD_ALL).update(reread=last)
            return last

    def read_anew(self, queue: QueueRef, last: int) -> None:
        """No letter up to this key is left to be read anew."""
        with self.writing():
            IndexedQueue.objects.filter(queue_id=self._places.of(queue).pk, reread=last).update(reread=0)

    def known(self, queue: QueueRef, low: int | None = None, high: int | None = None) -> Mapping[bytes, int]:
        """Jobs that are in the failed set as far as is known, with their scores from `low` to `high`, both included.

        An id that is too long to be kept stands here as `ids.known_as` gives it: compare by that.
        """
        return leaving.known(self._places.of(queue).pk, low, high)

    def count(self, queue: QueueRef) -> int:
        """How many jobs are in the failed set as far as is known."""
        return leaving.count(self._places.of(queue).pk)

    def progress(self, queue: QueueRef, **fields: object) -> None:
        """Write fields of the queue's `IndexedQueue`; its row is made where there is none."""
        with self.writing():
            IndexedQueue.objects.update_or_create(queue_id=self._places.of(queue).pk, defaults=fields)

    def stand(self, **fields: object) -> None:
        """Write fields of `Indexing`. Every writing is a sign of life besides."""
        with self.writing():
            if fields:
                Indexing.objects.filter(source_id=self._term.source_pk).update(**fields)

    def count_windows(self) -> Written:
        """Once a minute: let what has become too old leave the windows; groups that were ignored until now open.

        Nothing before the next whole minute. Costs in proportion to the strands that failed in the hours that end.
        """
        with self.writing():
            return self._move()

    def regrouper(self) -> Regrouper:
        """What moves all that is kept to signatures of a newer version; to be used within `writing`."""
        return Regrouper(self._term, self._places, self._strands, self._samples)

    def opened(self) -> int:
        """How many groups of this source are open or regressed."""
        return FailureGroup.objects.filter(source__name=self.source, life__in=UNSOLVED, merged_into=None).count()

    def _add(self, place: Place, found: Sequence[Found]) -> Written:
        tally, plans = Tally(), []
        with self.writing():
            for some in adding.rounds(found):
                plans.append(adding.plan(place.pk, some))
                adding.carry_out(plans[-1], self._term.source_pk, place, self._strands, tally)
            new = [each for plan in plans for each, _job in plan.new]
            return self._counted(tally, len(new), self._wanted(place, new))

    def _less(
        self, queue: QueueRef, jobs: Sequence[bytes], lose: Callable[[Place, Sequence[str], Tally], None]
    ) -> Written:
        tally = Tally()
        with self.writing():
            lose(self._places.of(queue), [kept(job) for job in jobs], tally)
            return self._counted(tally)

    def _below(self, queue: QueueRef, score_ms: int | None, rest: Callable[[], None]) -> Written:
        groups: frozenset[str] = frozenset()
        more = True
        while more:
            tally = Tally()
            with self.writing():
                more = leaving.below(self._places.of(queue).pk, score_ms, tally)
                groups |= self._counted(tally).groups
            if more:
                rest()
        return Written(groups=groups)

    def _counted(self, tally: Tally, new: int = 0, wanted: Sequence[tuple[bytes, int]] = ()) -> Written:
        """Write the tally, and how groups go on after it."""
        moved = write(tally, self._term.windows_ms)
        slugs, fresh = lives.seen(moved, self._now())
        if tally.went:
            self._strands.doubt(aging.tidy(tally.went))
            untelling.mend_ends(tally.went, moved)
        made, self._strands.fresh = self._strands.fresh, set()
        return Written(new, frozenset(slugs), frozenset(fresh | made), wanted)

    def _wanted(self, place: Place, new: Sequence[Found]) -> Sequence[tuple[bytes, int]]:
        by_strand: dict[int, list[Found]] = {}
        for each, strand in zip(new, self._strands.of(self._term.source_pk, place, new), strict=True):
            by_strand.setdefault(strand, []).append(each)
        return self._samples.wanted(by_strand)

    def _move(self, *, anew: bool = False) -> Written:
        before, now = self._term.windows_ms, windows.until_now(self._clock())
        if now <= before and not anew:
            return Written()
        source = self._term.source_pk
        changed = minutes.move(source, 0 if anew else before, now)
        Indexing.objects.filter(source_id=source).update(windows_ms=now)
        self._term.windows_ms = now
        opened = lives.open_again(source, self._now())
        slugs = lives.slugs(set(groups_of(changed).values()))
        return Written(groups=frozenset(slugs | opened), fresh=frozenset())

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock() / 1000, UTC)

    def _forget(self) -> None:
        """A transaction came to nothing, and with it what was remembered of it."""
        self._places.forget()
        self._strands.forget()
        self._samples.forget()


def _number(times: Mapping[int, Sequence[int]]) -> int:
    return sum(map(len, times.values()))
