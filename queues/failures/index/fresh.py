"""What came since: newer failures upwards from the last one read, jobs that left, failures that only events tell of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from queues import failed
from queues.events import Event
from queues.failed import FailedJob, FailedPage
from queues.failures.index.finding import found, told
from queues.failures.index.looking import rows_near
from queues.failures.index.term import Part, Term
from queues.failures.index.tracks import RECENT, Track
from queues.failures.store.adding import NEAR_MS
from queues.failures.types import Found
from queues.quantities import now_ms


def upward(term: Term, track: Track) -> None:
    """The next page of what is newer than `high`."""
    mark = track.mark
    page = term.reader.failed_page(track.ref, cursor=track.high, most=failed.PAGE)
    still = (mark.newest_ms, mark.newest_id) if mark else None
    high = track.high
    if page.cursor is not None:
        high = page.cursor
    elif page.jobs:
        last = page.jobs[-1]
        high = term.reader.failed_at(last.score_ms or 0, last.id)
    progress: dict[str, object] = {} if high == track.high else {"high": high}
    done = _read(track, page, high, still)
    if progress or page.jobs:
        term.put(Part(track, found(page.jobs, now_ms()), progress=progress, then=done))
    else:
        done()


def leave(term: Term, track: Track) -> None:
    """Check jobs that may have left the set, up to a page of them."""
    jobs = list(track.left)[: failed.PAGE]
    here = term.reader.failed_jobs(track.ref, jobs)
    gone = [job for job in jobs if job not in here]
    term.put(Part(track, found(here.values(), now_ms()), gone, then=lambda: track.left.difference_update(jobs)))


def hear(term: Term, track: Track) -> None:
    """Failures that events told of, when all that is newer in the set is read: those that were not in it are written.

    The newest event of a job that is in the set tells of that failure. An earlier one, and one of a job that is not
    there, is a failure of its own, unless one of the job is known from near that time.
    """
    events = track.events[: failed.PAGE]
    unseen, told_of = _unseen(track, events)
    here = term.reader.failed_jobs(track.ref, list({event.job for event in unseen if event.job})) if unseen else {}
    alone = _alone(unseen, here, told_of)
    near = rows_near(track, {event.job for event in alone if event.job})
    now = now_ms()
    heard = [told(event, now) for event in alone if not _known(event, near)]

    def done() -> None:
        del track.events[: len(events)]
        for event in events:
            if event.job is not None:
                track.recent.pop(event.job, None)

    put = [*found(here.values(), now), *heard]
    if put:
        term.put(Part(track, _once(put), then=done))
    else:
        done()


def _read(track: Track, page: FailedPage, high: str, still: tuple[int | None, bytes] | None) -> Callable[[], None]:
    def done() -> None:
        track.high = high
        if page.jobs:
            last_ms = page.jobs[-1].score_ms or 0
            track.last_ms = max(last_ms, track.last_ms or last_ms)
            track.unread_ms = min(last_ms, now_ms())
            if len(track.recent) > RECENT:
                track.recent.clear()  # no events come, or they are far behind: then rows tell
            track.recent.update({job.id: job.score_ms or 0 for job in page.jobs})
        if page.cursor is None:
            track.newer, track.still, track.unread_ms = False, still, None

    return done


def _unseen(track: Track, events: Sequence[Event]) -> tuple[list[Event], set[bytes]]:
    """Events without those that tell of a failure which we have just read from the set: the newest of each job does.

    Gives these jobs, too.
    """
    told_of: set[bytes] = set()
    unseen = []
    for event in reversed(events):
        if event.job is None:
            continue
        if event.job in track.recent and event.job not in told_of:
            told_of.add(event.job)
        else:
            unseen.append(event)
    return unseen[::-1], told_of


def _alone(unseen: Sequence[Event], here: Mapping[bytes, FailedJob], told_of: set[bytes]) -> list[Event]:
    """Without the newest event of each job that is in the set; of those in `told_of` that one is left out already."""
    told_of = set(told_of)
    alone = []
    for event in reversed(unseen):
        assert event.job is not None
        if event.job in here and event.job not in told_of:
            told_of.add(event.job)
        else:
            alone.append(event)
    return alone[::-1]


def _known(event: Event, near: Mapping[bytes, Sequence[int]]) -> bool:
    return any(abs(score - event.at_ms) <= NEAR_MS for score in near.get(event.job or b"", ()))


def _once(put: Sequence[Found]) -> list[Found]:
    return list({(each.job, each.score_ms): each for each in put}.values())
