"""Letters of dead-letter queues: new ones as they come, all of them where their number differs from ours."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from django.db.models import QuerySet

from queues.failed import IdPage, LettersMark
from queues.failures import letters
from queues.failures.index.compare import EVERY_S
from queues.failures.index.term import Part, Term
from queues.failures.index.tracks import Box, Track
from queues.failures.store import ids
from queues.models import IndexedQueue, Letter
from queues.types import QueueRef

PAGE = 2_000  # ids of one call
GONE = 1_000  # of ours that are let go at once
UNTOLD = 300  # of ours that are let go with what they told
READ = 200  # letters that are read in one call: each may hold 32 KB
ROWS = 2_000  # of ours that are compared at once


@dataclass(slots=True)
class Round:
    """One reading of the letters of a queue. Not `whole`: from the last page of the round before on, as new ones come
    at the end.

    `seen` holds a number for every id that was met, sorted at the end: 8 bytes each, whatever there are.
    """

    track: Track
    mark: LettersMark | None
    whole: bool
    cursor: str = ""
    tail: str = ""  # the cursor of the last page that held any
    seen: array[int] = field(default_factory=lambda: array("q"))
    after: int | None = None  # the key of our row up to which ours are compared


def look(term: Term, tracks: Iterable[Track]) -> None:
    """Where letters stand; one call for every 250 queues."""
    boxes = {track.ref: track for track in tracks if track.box is not None and not track.box.closing}
    if not boxes:
        return
    for ref, mark in term.reader.letters_marks(list(boxes)).items():
        box = boxes[ref].box
        if box is not None:
            box.mark = mark


def choose(tracks: Iterable[Track]) -> Round | None:
    """Whose letters are to be read next: where some came or went, then whose time to be compared has come."""
    due: Round | None = None
    for track in tracks:
        box, now = track.box, time.monotonic()
        if box is not None and box.closing:
            return Round(track, None, whole=False)
        if box is None or box.mark is None or not box.mark.readable or now < track.again_at:
            continue
        if box.stale:
            return Round(track, box.mark, whole=True)
        if box.mark.token != box.token:
            return Round(track, box.mark, whole=not box.token, cursor=box.tail if box.token else "", tail=box.tail)
        if due is None and now >= box.due_at:
            if not box.mark.count and not _ours(track).exists():
                box.due_at = now + EVERY_S
                continue
            due = Round(track, box.mark, whole=True)
    return due


def step(term: Term, going: Round, keys: Mapping[QueueRef, int]) -> int | None:
    """A slice of a round. Gives how many ids it had; None at its end."""
    track = going.track
    if track.box is None:
        return None
    if track.box.closing:
        return _close(term, track, track.box)
    if going.after is not None:
        return _let_go(term, going)
    page = term.reader.letter_ids(track.ref, cursor=going.cursor, most=PAGE)
    unknown, stale = _unknown(track, page)
    for at in range(0, len(unknown), READ):
        _read(term, track, unknown[at : at + READ], stale, keys)
    if going.whole:
        going.seen.extend(hash(ids.kept(job)) for job in page.ids)
    if page.ids:
        going.tail = going.cursor
    if page.cursor is not None:
        going.cursor = page.cursor
        return len(page.ids)
    if not going.whole:
        _end(term, going)
        return None
    going.seen, going.after = array("q", sorted(going.seen)), 0
    if not _steady(term, going):
        _settle(term, going)
        return None
    return len(page.ids)


def _read(term: Term, track: Track, jobs: Sequence[bytes], stale: Set[bytes], keys: Mapping[QueueRef, int]) -> None:
    """Read letters and write them; those that are `stale` as if they were new, or gone where they say nothing now."""
    read = term.reader.letters(track.ref, jobs)
    made = [letters.found(track.ref, letter, keys) for letter in read.values()]
    again = stale & {each.job for each in made}
    silent = [job for job in jobs if job in stale - again]
    if made or silent:
        with term.writing(len(made) + len(silent)):
            lost = term.store.letters_gone(track.ref, silent)
            written = term.store.letters(track.ref, made, again)
        term.note(track.ref, lost)
        term.note(track.ref, written, [each.found for each in made])
        term.tell()


def _let_go(term: Term, going: Round) -> int | None:
    """Ours that were not met are gone."""
    track = going.track
    rows = list(_ours(track).filter(pk__gt=going.after).order_by("pk").values_list("pk", "job")[:ROWS])
    if not rows:
        _end(term, going)
        return None
    gone = [ids.id_of(job) for _pk, job in rows if not _holds(going.seen, hash(job))]
    for at in range(0, len(gone), GONE):
        jobs = gone[at : at + GONE]
        with term.writing(len(jobs)):
            written = term.store.letters_gone(track.ref, jobs)
        term.note(track.ref, written)
    term.tell()
    going.after = rows[-1][0]
    return len(rows)


def _steady(term: Term, going: Round) -> bool:
    """Whether who was not met is gone. While letters leave, a walk may miss some: then only the second one counts.

    What it lets go by mistake is read again by the next.
    """
    box, mark = going.track.box, term.reader.letters_marks([going.track.ref])[going.track.ref]
    if box is None:
        return False
    box.moved = 0 if mark.token == _token(going) else box.moved + 1
    box.mark = mark
    return box.moved != 1


def _end(term: Term, going: Round) -> None:
    """All is known; or more came meanwhile; or only a whole round can tell what went."""
    track, box = going.track, going.track.box
    if box is None:
        return
    box.mark = mark = term.reader.letters_marks([track.ref])[track.ref]
    box.tail = going.tail
    ours = _ours(track).count()
    same = mark.token == _token(going)
    if going.whole:
        if box.stale:
            with term.writing():
                term.store.read_anew(track.ref, box.stale)
            box.stale = 0
        box.due_at = time.monotonic() + EVERY_S
        box.lacking = max(0, mark.count - ours) if same else box.lacking
        _settle(term, going)
    elif ours + box.lacking == mark.count:
        going.mark = mark
        _settle(term, going)
    elif same or ours + box.lacking > mark.count:
        box.token = ""  # the next round is a whole one


def _settle(term: Term, going: Round) -> None:
    """Keep up to where letters are read."""
    track, token = going.track, _token(going)

    def done() -> None:
        if track.box is not None:
            track.box.token = token

    term.put(Part(track, progress={"letters": token}, then=done))
    term.flush()


def wishes(term: Term, tracks: Iterable[Track]) -> Mapping[int, int]:
    """Whose letters are to be read anew, by the key of the queue: the key of the last letter that is.

    What people said of these queues is read anew, too: what they said before they wished it holds.
    """
    rows = IndexedQueue.objects.filter(queue__source__name=term.source).exclude(reread=0)
    wished = dict(rows.values_list("queue_id", "reread"))
    if not wished:
        return {}
    new = [track for track in tracks if wished.get(track.pk) == IndexedQueue.REREAD_ALL]
    with term.writing(len(new)):
        for track in new:
            wished[track.pk] = term.store.wished_anew(track.ref)
    letters.forget()
    return {pk: last for pk, last in wished.items() if last > 0}


def bury(term: Term, track: Track) -> None:
    """The queue went away, and its letters with it."""
    jobs = [ids.id_of(job) for job in _ours(track).values_list("job", flat=True)]
    for at in range(0, len(jobs), GONE):
        gone = jobs[at : at + GONE]
        with term.writing(len(gone)):
            written = term.store.letters_gone(track.ref, gone)
        term.note(track.ref, written)


def _close(term: Term, track: Track, box: Box) -> int | None:
    """The queue holds no letters any more: what it holds are jobs like others. What they told never was one's failure
    where somebody said so; where only its name means no letters now, since its origin went away, it stays counted.
    """
    most = UNTOLD if box.stale else GONE
    jobs = [ids.id_of(job) for job in _ours(track).order_by("pk").values_list("job", flat=True)[:most]]
    if not jobs:
        with term.writing():
            term.store.read_anew(track.ref, box.stale)
            term.store.progress(track.ref, letters="")
        track.box = None
        return None
    with term.writing(len(jobs)):
        lose = term.store.letters_untold if box.stale else term.store.letters_gone
        written = lose(track.ref, jobs)
    term.note(track.ref, written)
    term.tell()
    return len(jobs)


def _ours(track: Track) -> QuerySet[Letter]:
    return Letter.objects.filter(queue_id=track.pk)


def _unknown(track: Track, page: IdPage) -> tuple[list[bytes], set[bytes]]:
    """Ids of a page that are to be read, and those of them that were read before, in another way."""
    kept = {ids.kept(job): job for job in page.ids}
    known: dict[str, int] = {}
    slugs = list(kept)
    for at in range(0, len(slugs), 500):
        known.update(_ours(track).filter(job__in=slugs[at : at + 500]).values_list("job", "pk"))
    last = track.box.stale if track.box else 0
    unknown = [job for slug, job in kept.items() if known.get(slug, 0) <= last]
    return unknown, {job for job in unknown if ids.kept(job) in known}


def _token(going: Round) -> str:
    return going.mark.token if going.mark else ""


def _holds(seen: array[int], number: int) -> bool:
    at = bisect_left(seen, number)
    return at < len(seen) and seen[at] == number
