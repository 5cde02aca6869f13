"""The queues that a plan sends to, as they were last read, and what the plan means for what runs in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from queues import readings
from queues.events import EventKind
from queues.followed import Histories, histories
from queues.history import Rate
from queues.models import Queue, Replay
from queues.replay.freezing.counting import Sum
from queues.replay.preview.types import Effect, Target
from queues.replay.terms import Terms
from queues.snapshots import Stored
from queues.types import Counts, QueueRef

SHOWN = 50
LATELY = 5  # whole minutes over which the mean is taken, where so many are known
_MINUTE_MS = 60_000
_V4 = re.compile(r"(?:.*:)?4\.")


def targets(replay: Replay, sent: Sequence[Sum], terms: Terms) -> tuple[Sequence[Target], int]:
    """The queues with most jobs, and how many there are besides. Four queries."""
    jobs: dict[int, int] = {}
    copies: dict[int, int] = {}
    for each in sent:
        if each.target is not None:
            jobs[each.target] = jobs.get(each.target, 0) + each.jobs
            copies[each.target] = copies.get(each.target, 0) + each.copies
    keys = sorted(jobs, key=lambda pk: (-jobs[pk], pk))
    rows = Queue.objects.in_bulk(keys[:SHOWN])
    name = replay.source.name
    stored, at = readings.last(name)
    known = _Known(name, stored, at, histories(name), terms)
    shown = [known.target(rows[pk], jobs[pk], copies[pk]) for pk in keys[:SHOWN] if pk in rows]
    return shown, max(0, len(keys) - SHOWN)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a source's queues."""

    source: str
    stored: Stored
    at: datetime | None
    histories: Histories
    terms: Terms

    def target(self, row: Queue, jobs: int, copies: int) -> Target:
        """A queue, as far as it is known."""
        counts, workers = self.stored.get(row.slug, (None, None))
        rate = self._finished(row.slug)
        means = effect(jobs, _limit(counts), rate.per_min if rate else None, self.terms)
        over = rate.minutes if rate else 0
        found = Target(QueueRef.from_slug(self.source, row.slug), jobs, copies, workers, effect=means, over_min=over)
        if counts is None:
            return found
        return replace(
            found,
            paused=counts.paused,
            rate_max=counts.rate_max,
            rate_duration_ms=counts.rate_duration_ms,
            backlog=counts.backlog,
            oldest_ms=counts.oldest.since_ms if counts.oldest else None,
            version=counts.version,
            too_old=copies > 0 and _V4.match(counts.version) is not None,
            read_at=self.at,
        )

    def _finished(self, slug: str) -> Rate | None:
        """Completed and failed a minute, over the last whole minutes."""
        history = self.histories.by_slug.get(slug)
        if history is None:
            return None
        return history.rate((EventKind.COMPLETED, EventKind.FAILED), self.histories.upto, LATELY)


def effect(jobs: int, limit: float | None, finished: float | None, terms: Terms) -> Effect:
    """What `jobs` more mean for a queue with a rate limit, where so many finish a minute; None is not known.

    A live job waits longer for what is sent and cannot be worked on yet. How fast the workers could be nobody knows:
    only a rate limit tells what they surely are not beyond; and what they finish lately is what they surely can.
    """
    fastest = None if terms.pace_from is None or terms.pace_to is None else max(terms.pace_from, terms.pace_to) * 60
    if limit is None:
        at_once = fastest is None and finished is not None and finished > 0
        return Effect(finished, longer_s=jobs / finished * 60 if at_once and finished else None)
    if finished is None:
        return Effect(None, limit)
    left = limit - finished - (fastest if fastest is not None else limit)
    if fastest is None:
        return Effect(finished, limit, max(0.0, left), jobs / limit * 60)
    # So many a minute come on top of what can be done, for as long as jobs are sent.
    behind = max(0.0, -left) * (jobs / fastest)
    return Effect(finished, limit, max(0.0, left), behind / limit * 60)


def _limit(counts: Counts | None) -> float | None:
    """Jobs a minute by the queue's own rate limit; None where it has none, or none is known."""
    if counts is None or not counts.rate_max or not counts.rate_duration_ms:
        return None
    return counts.rate_max * _MINUTE_MS / counts.rate_duration_ms
