"""How fast a plan sends now, and when it will have sent all: by its climb and by what was sent lately."""

from __future__ import annotations

import math

from dashboard.replays.seen import LATELY_MS, Seen
from queues.replay.pacing import SLOWER, pace_at
from queues.replay.run import facts
from queues.replay.spans import SPAN_MS
from queues.replay.terms import Terms
from queues.replay.types import SENDS, Phase


def measured(seen: Seen) -> float | None:
    """Jobs a second over the last ten seconds, or since it started; None in its first two seconds."""
    started = seen.replay.started_at
    if started is None or seen.lately is None:
        return None
    begin_ms = max(seen.now_ms - LATELY_MS, int(started.timestamp() * 1000))
    lasted_ms = seen.now_ms - begin_ms
    if lasted_ms < 2_000:
        return None
    sent = sum(count * _part(span, begin_ms) for span, count in seen.lately.items())
    return sent * 1000 / lasted_ms


def _part(span: int, begin_ms: int) -> float:
    """How much of a span lies behind a moment."""
    return min(1.0, max(0.0, ((span + 1) * SPAN_MS - begin_ms) / SPAN_MS))


def ceiling(seen: Seen) -> float | None:
    """Jobs a second that are sent at most now; None means as fast as the server takes them."""
    return pace_at(seen.terms, _climbed_s(seen))


def _climbed_s(seen: Seen) -> float:
    """For how many seconds it has climbed: the time in which it could not send does not count."""
    rest_at = seen.replay.rest_at
    if rest_at is None:
        return 0.0
    if seen.phase is Phase.RUNNING and not seen.replay.holding and not seen.replay.down_since:
        return max(0.0, seen.now_ms / 1000 - rest_at.timestamp())
    told = seen.replay.facts.get(facts.CLIMB)
    return float(told) if isinstance(told, int | float) else 0.0


def left_s(seen: Seen) -> float | None:
    """Seconds until all is sent; None where it sends nothing now, or nobody can tell."""
    replay = seen.replay
    if seen.phase not in SENDS or seen.canary or replay.holding or replay.down_since or not replay.to_send:
        return None
    allowed = ceiling(seen)
    if allowed is None:
        lately = measured(seen)
        return replay.to_send / lately if lately else None
    return _climbing_s(seen.terms, _climbed_s(seen), replay.to_send)


def _climbing_s(terms: Terms, s: float, number: int) -> float | None:
    """Seconds in which so many are sent at a pace that doubles until it is at its top, after so long a climb."""
    left, took = float(number), 0.0
    while (pace := pace_at(terms, s + took)) is not None:
        climbs = terms.pace_from is not None and terms.double_s > 0 and pace != terms.pace_to
        lasts = terms.double_s - (s + took) % terms.double_s if climbs else math.inf
        if left <= pace * lasts / SLOWER:
            return took + left / pace * SLOWER
        left -= pace * lasts / SLOWER
        took += lasts
    return took
