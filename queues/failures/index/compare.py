"""Comparing what we hold with the server's set, page by page and by scores: whatever happened, they end up equal."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from queues import failed
from queues.failures.index.finding import found
from queues.failures.index.term import Part, Term
from queues.failures.index.tracks import Track
from queues.failures.store.ids import known_as
from queues.quantities import now_ms

EVERY_S = 600.0  # each queue is compared so often, whatever its counts say
IDS_PER_S = 20_000
PAGE = 5_000  # ids of one call
FUTILE_S = 5.0  # until it is compared again where that changed nothing and counts still differ: doubles
LEAST = 500  # ids that any call counts as


@dataclass(slots=True)
class Walk:
    """One queue on its way. `rest` are ids at the last score of the page before: the next page may have more of it."""

    track: Track
    cursor: str = ""
    low: int | None = None
    rest: dict[bytes, int] = field(default_factory=dict)
    seen: int = 0
    differed: bool = False  # it was begun because counts differed
    changed: bool = False


class Allowance:
    """How many ids may be read now: so many a second, none saved up for more than a second."""

    def __init__(self, per_s: float = IDS_PER_S) -> None:
        self._per_s = per_s
        self._left, self._at = per_s, time.monotonic()

    def any(self) -> bool:
        now = time.monotonic()
        self._left = min(self._per_s, self._left + (now - self._at) * self._per_s)
        self._at = now
        return self._left > 0

    def take(self, number: int) -> None:
        self._left -= max(number, LEAST)


def choose(tracks: Iterable[Track]) -> Track | None:
    """What is to be compared next: who differs, then whose time has come."""
    now = time.monotonic()
    ready = [track for track in tracks if track.begun and not track.scanning and not track.newer and track.usable()]
    for track in ready:
        if track.compare:
            return track
    # Of a set that is empty, nothing is left in the index either.
    due = [track for track in ready if track.due_at <= now and track.mark and track.mark.count]
    return min(due, key=lambda track: track.due_at, default=None)


def step(term: Term, walk: Walk) -> int | None:
    """Compare one page. Gives how many ids it had; None at the end of the queue, which then equals the server's."""
    if not walk.cursor and not walk.seen:
        walk.track.compare = False  # what is handed over from now on asks for another walk
        walk.differed, walk.track.differs = walk.track.differs > 0, 0
    page = term.reader.failed_ids(walk.track.ref, cursor=walk.cursor, most=PAGE)
    ids = {**walk.rest, **page.ids}
    top = max(page.ids.values(), default=None) if page.cursor is not None else None
    here = ids if top is None else {job: score for job, score in ids.items() if score < top}
    ours = term.store.known(walk.track.ref, walk.low, None if top is None else top - 1)
    walk.changed = _settle(term, walk.track, here, ours) or walk.changed
    if top is not None:
        walk.low, walk.rest = top, {job: score for job, score in ids.items() if score >= top}
    walk.seen += len(page.ids)
    if page.cursor is None:
        _end(term, walk)
        return None
    walk.cursor = page.cursor
    return len(page.ids)


def _settle(term: Term, track: Track, here: Mapping[bytes, int], ours: Mapping[bytes, int]) -> bool:
    """Read what we lack, and let go what the server has no longer: both as it is now, not as the page was.

    Whether there was any.
    """
    theirs = {known_as(job): score for job, score in here.items()}
    lacking = [job for job, score in here.items() if ours.get(known_as(job)) != score]
    beyond = [job for job in ours if job not in theirs]
    for jobs in _pages(lacking):
        put = term.reader.failed_jobs(track.ref, jobs)
        term.put(Part(track, found(put.values(), now_ms())))
    term.flush()
    for jobs in _pages(beyond):
        back = term.reader.failed_jobs(track.ref, jobs)
        gone = [job for job in jobs if job not in back]
        term.put(Part(track, found(back.values(), now_ms()), gone))
    term.flush()
    return bool(lacking or beyond)


def _end(term: Term, walk: Walk) -> None:
    track, compared_ms, now = walk.track, now_ms(), time.monotonic()

    def done() -> None:
        track.compared_ms = compared_ms

    track.due_at = now + EVERY_S
    track.futile = track.futile + 1 if walk.differed and not walk.changed else 0
    track.wait_until = now + min(EVERY_S, FUTILE_S * 2**track.futile) if track.futile else 0.0
    term.put(Part(track, progress={"compared_ms": compared_ms}, then=done))


def _pages(jobs: Sequence[bytes]) -> Iterable[Sequence[bytes]]:
    return (jobs[at : at + failed.PAGE] for at in range(0, len(jobs), failed.PAGE))
