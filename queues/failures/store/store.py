"""What the index of a source may ask to be written, and what it must know to compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from queues.failures.store.types import Written
from queues.failures.types import Found, FoundLetter
from queues.quantities import now_ms
from queues.types import QueueRef


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

    def begin(self) -> bool:
        """Take the term: from now on no earlier one may write. False where a later one has begun already.

        Also counts all windows anew (some 0.3 s for a million of hours).
        """
        raise NotImplementedError

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction for all that is written inside. Keep it under 100 ms: SQLite has one writer."""
        raise NotImplementedError
        yield

    def add(self, queue: QueueRef, found: Sequence[Found]) -> Written:
        """Keep failures of a queue, at most 1,000, as they stand in its failed set (or were told by events).

        Known ones change nothing, but that they are in the set again if they were gone. The other failures of a job
        that is in the set now are not there any more. One that takes over what only a letter told is not new.
        """
        raise NotImplementedError

    def sample(self, queue: QueueRef, job: bytes, found: Found, data: bytes | None, size: int | None = None) -> None:
        """Keep one failure in full, masked and cut, of those that were `wanted`. `data` None: it is gone.

        `size`: the true size of the data in bytes, where `data` is its beginning.
        """
        raise NotImplementedError

    def gone(self, queue: QueueRef, jobs: Sequence[bytes]) -> Written:
        """These jobs, at most 1,000, are in the failed set no longer. Counts stay."""
        raise NotImplementedError

    def gone_before(self, queue: QueueRef, score_ms: int) -> Written:
        """No job with a lower score is in the failed set any more. In transactions of 5,000 rows."""
        raise NotImplementedError

    def gone_all(self, queue: QueueRef) -> Written:
        """The failed set is empty. In transactions of 5,000 rows."""
        raise NotImplementedError

    def letters(self, queue: QueueRef, letters: Sequence[FoundLetter]) -> Written:
        """Keep letters of a dead-letter queue, at most 1,000, each with the failure it tells of.

        That is the failure of `origin` and `found.job` that fits in time (60 s; one without a time: the newest before
        the letter), else a failure is made of the letter. One that is known changes nothing.
        """
        raise NotImplementedError

    def letters_gone(self, queue: QueueRef, jobs: Sequence[bytes]) -> Written:
        """These letters, at most 1,000, are in their queue no longer."""
        raise NotImplementedError

    def known(self, queue: QueueRef, low: int | None = None, high: int | None = None) -> Mapping[bytes, int]:
        """Jobs that are in the failed set as far as is known, with their scores from `low` to `high`, both included.

        An id that is too long to be kept stands here as `ids.known_as` gives it: compare by that.
        """
        raise NotImplementedError

    def count(self, queue: QueueRef) -> int:
        """How many jobs are in the failed set as far as is known."""
        raise NotImplementedError

    def letters_known(self, queue: QueueRef) -> Mapping[bytes, int]:
        """Letters of a queue with the time they were posted, ids as in `known`."""
        raise NotImplementedError

    def progress(self, queue: QueueRef, **fields: object) -> None:
        """Write fields of the queue's `IndexedQueue`; its row is made where there is none."""
        raise NotImplementedError

    def stand(self, **fields: object) -> None:
        """Write fields of `Indexing`. Every writing is a sign of life besides."""
        raise NotImplementedError

    def count_windows(self) -> Written:
        """Once a minute: let what has become too old leave the windows; groups that were ignored until now open.

        Nothing before the next whole minute. Costs in proportion to the strands that failed in the hours that end.
        """
        raise NotImplementedError

    def opened(self) -> int:
        """How many groups of this source are open or regressed."""
        raise NotImplementedError
