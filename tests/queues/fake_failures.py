"""Failed jobs and letters in memory, as `queues.backend.Failures` tells of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace

from queues.failed import DATA_CAP, PAGE, FailedJob, FailedMark, FailedPage, IdPage, LettersMark
from queues.types import QueueRef

_Place = tuple[int, bytes]


class FakeFailures:
    """A test puts failed jobs (with scores) and letters (without) where it wants them; their data is theirs."""

    def __init__(self) -> None:
        self.failed: dict[QueueRef, dict[bytes, FailedJob]] = {}
        self.lying: dict[QueueRef, dict[bytes, FailedJob]] = {}

    def fail(self, queue: QueueRef, job: FailedJob) -> None:
        """Put a job into the failed set."""
        self.failed.setdefault(queue, {})[job.id] = job

    def post(self, queue: QueueRef, letter: FailedJob) -> None:
        """Put a letter into a queue."""
        self.lying.setdefault(queue, {})[letter.id] = replace(letter, score_ms=None)

    def _call(self) -> None: ...

    def _places(self, queue: QueueRef) -> list[_Place]:
        return sorted((job.score_ms or 0, job.id) for job in self.failed.get(queue, {}).values())

    def failed_marks(self, queues: Sequence[QueueRef]) -> Mapping[QueueRef, FailedMark]:
        self._call()
        places = {queue: self._places(queue) for queue in queues}
        return {
            queue: FailedMark(len(found), found[0][0], found[-1][0], found[-1][1]) if found else FailedMark(0)
            for queue, found in places.items()
        }

    def failed_page(self, queue: QueueRef, *, cursor: str = "", newest_first: bool = False, most: int) -> FailedPage:
        self._call()
        places, further = self._walk(queue, cursor, min(most, PAGE), newest_first=newest_first)
        jobs = self.failed.get(queue, {})
        return FailedPage([replace(jobs[job], data=None, data_size=0) for _score, job in places], further)

    def failed_at(self, score_ms: int, job: bytes = b"") -> str:
        return f"{score_ms}:{job.hex()}"

    def failed_jobs(self, queue: QueueRef, ids: Sequence[bytes], *, data: bool = False) -> Mapping[bytes, FailedJob]:
        self._call()
        jobs = self.failed.get(queue, {})
        found = {job: jobs[job] for job in ids if job in jobs}
        return found if data else {job: replace(each, data=None, data_size=0) for job, each in found.items()}

    def failed_ids(self, queue: QueueRef, *, cursor: str = "", most: int) -> IdPage:
        self._call()
        places, further = self._walk(queue, cursor, most, newest_first=False)
        return IdPage({job: score for score, job in places}, further)

    def letters_marks(self, queues: Sequence[QueueRef]) -> Mapping[QueueRef, LettersMark]:
        self._call()
        lying = {queue: self.lying.get(queue, {}) for queue in queues}
        return {queue: LettersMark(len(found), repr(list(found))) for queue, found in lying.items()}

    def letter_ids(self, queue: QueueRef, *, cursor: str = "", most: int) -> IdPage:
        self._call()
        first = int(cursor or 0)
        found = list(self.lying.get(queue, {}))
        further = str(first + most) if first + most < len(found) else None
        return IdPage(dict.fromkeys(found[first : first + most], 0), further)

    def letters(self, queue: QueueRef, ids: Sequence[bytes]) -> Mapping[bytes, FailedJob]:
        self._call()
        lying = self.lying.get(queue, {})
        return {job: lying[job] for job in ids if job in lying}

    def payloads(self, queue: QueueRef, ids: Sequence[bytes], *, most: int) -> Mapping[bytes, bytes]:
        self._call()
        known = {**self.lying.get(queue, {}), **self.failed.get(queue, {})}
        found: dict[bytes, bytes] = {}
        for job in ids:
            data = known[job].data if job in known else None
            if data is not None:
                if (most := most - len(data[:DATA_CAP])) < 0:
                    break
                found[job] = data[:DATA_CAP]
        return found

    def _walk(self, queue: QueueRef, cursor: str, most: int, *, newest_first: bool) -> tuple[list[_Place], str | None]:
        places = self._places(queue)
        if cursor:
            score, _colon, job = cursor.partition(":")
            place = (int(score), bytes.fromhex(job))
            places = places[: bisect_left(places, place)] if newest_first else places[bisect_right(places, place) :]
        if newest_first:
            places.reverse()
        found = places[:most]
        return found, self.failed_at(*found[-1]) if len(places) > len(found) else None
