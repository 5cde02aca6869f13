"""Looking at where failed sets stand, and what follows from it alone: what is gone, what is to be read or compared."""

from __future__ import annotations

import time
from collections.abc import Iterable

from django.utils.translation import gettext as _

from queues.failed import FailedMark
from queues.failures.index import letterbox
from queues.failures.index.term import Part, Term
from queues.failures.index.tracks import GAPS, Track
from queues.failures.store import ids
from queues.models import Failure
from queues.quantities import now_ms

ROUND = 2  # looks in a row at which counts differ, until a queue is compared


def look(term: Term, tracks: Iterable[Track], *, count: bool) -> None:
    """One call for every 250 queues. `count`: also compare our numbers with the server's, a query for each that moved.

    What has not been written when this fails is found by the next look.
    """
    by_ref = {track.ref: track for track in tracks}
    if not by_ref:
        return
    for ref, mark in term.reader.failed_marks(list(by_ref)).items():
        track = by_ref[ref]
        if not mark.readable:
            track.mark = mark
            refuse(term, track, _("The key of its failed jobs is of another type."), again_at=0.0)
            continue
        _gap(term, track, mark)
        track.mark = mark
        _read_on(track, mark)
        if not track.begun:
            _begin(term, track, mark)
        _forget(term, track, mark)
        if count:
            _count(term, track, mark)
    term.flush()


def refuse(term: Term, track: Track, why: str, *, again_at: float) -> None:
    """A queue cannot be read: say so once, and go on with the others."""
    track.again_at = again_at

    def done() -> None:
        track.error = why

    if track.error != why:
        term.put(Part(track, progress={"error": why}, then=done))


def readable(term: Term, track: Track) -> None:
    """A queue that could not be read was read just now."""

    def done() -> None:
        track.error = ""

    term.put(Part(track, progress={"error": ""}, then=done))


def _read_on(track: Track, mark: FailedMark) -> None:
    newest = (mark.newest_ms, mark.newest_id)
    if track.error or (mark.count and newest != track.still and not track.newer):
        track.newer = True
        track.unread_ms = None if mark.newest_ms is None else min(mark.newest_ms, now_ms())


def _gap(term: Term, track: Track, mark: FailedMark) -> None:
    """The whole set was exchanged while nobody looked: what came and went in between was never seen."""
    away = track.mark is None or track.lost
    track.lost = False
    if not away or mark.oldest_ms is None or track.last_ms is None or mark.oldest_ms <= track.last_ms:
        return
    gap(term, track, track.last_ms, mark.oldest_ms)


def gap(term: Term, track: Track, begin_ms: int, end_ms: int) -> None:
    """Failures of this time may be missing. A gap takes the place of one that began at the same moment."""
    before = [each for each in track.gaps if each[0] != begin_ms]
    gaps = [*before, [begin_ms, max(begin_ms, min(end_ms, now_ms()))]][-GAPS:]

    def done() -> None:
        track.gaps = gaps

    term.put(Part(track, progress={"gaps": gaps}, then=done))


def _begin(term: Term, track: Track, mark: FailedMark) -> None:
    """The scan goes down from what is the newest now; what comes later is read upwards from there."""
    high = "" if mark.newest_ms is None else term.reader.failed_at(mark.newest_ms, mark.newest_id)
    more = mark.count > 0

    def done() -> None:
        track.begun, track.scanning, track.expected, track.scanned = True, more, mark.count, 0
        track.low, track.high, track.newer = "", high, False
        track.still = (mark.newest_ms, mark.newest_id)

    fields = {"scanning": more, "expected": mark.count, "scanned": 0, "low": "", "high": high, "since_ms": now_ms()}
    term.put(Part(track, progress=fields, then=done))


def _forget(term: Term, track: Track, mark: FailedMark) -> None:
    """What is older than the oldest is gone: trimming emits no event."""
    if not mark.count:
        if _ours(term, track):
            term.apart(track, lambda rest: term.store.gone_all(track.ref, rest))
        track.oldest_ms, track.compared_ms = None, now_ms()
    elif mark.oldest_ms is not None and (track.oldest_ms is None or mark.oldest_ms > track.oldest_ms):
        oldest_ms = mark.oldest_ms
        if Failure.objects.filter(queue_id=track.pk, in_set=True, score_ms__lt=oldest_ms).exists():
            term.apart(track, lambda rest: term.store.gone_before(track.ref, oldest_ms, rest))
        track.oldest_ms = oldest_ms


def bury(term: Term, track: Track) -> None:
    """The queue went away: nothing is in its set, and no letter lies in it."""
    if Failure.objects.filter(queue_id=track.pk, in_set=True).exists():
        term.apart(track, lambda rest: term.store.gone_all(track.ref, rest))
    letterbox.bury(term, track)


def _count(term: Term, track: Track, mark: FailedMark) -> None:
    """Two looks in a row at which we counted other than the server have the queue compared."""
    if track.scanning or track.newer or not track.begun:
        return
    ours = _ours(term, track)
    if ours == mark.count:
        track.differs = 0
    else:
        track.differs += 1
        late = time.monotonic() >= track.wait_until
        track.compare = track.compare or (late and track.differs >= ROUND)


def _ours(term: Term, track: Track) -> int:
    """How many of the queue are in its set as far as we know: counted when anything was written since."""
    if track.ours is None:
        track.ours = term.store.count(track.ref)
    return track.ours


def rows_near(track: Track, jobs: Iterable[bytes]) -> dict[bytes, list[int]]:
    """When these jobs of a queue are known to have failed. One query for every 500."""
    kept = {ids.kept(job): job for job in jobs}
    slugs = list(kept)
    near: dict[bytes, list[int]] = {}
    for at in range(0, len(slugs), 500):
        rows = Failure.objects.filter(queue_id=track.pk, job__in=slugs[at : at + 500])
        for job, score_ms in rows.values_list("job", "score_ms"):
            near.setdefault(kept[job], []).append(score_ms)
    return near
