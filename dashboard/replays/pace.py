"""How fast a plan sends now, and when it will have sent all: by what it tells in its feed and what was sent lately."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.replays.seen import LATELY_MS, SPAN_MS, Seen
from queues.models import ReplayLine
from queues.replay.types import SENDS, Told

STILL_CLIMBING = frozenset({Told.CLIMBED, Told.PACE, Told.WENT_ON, Told.CANARY_PASSED, Told.STARTED})


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Jobs a second that are sent at most, since when; None means as fast as the server takes them."""

    pace: float | None
    since_ms: int


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


def ceiling(seen: Seen) -> Ceiling:
    """What the plan allows itself now."""
    terms = seen.terms
    line = next((line for line in seen.lines if line.kind in STILL_CLIMBING), None)
    since_ms = int(line.at.timestamp() * 1000) if line else seen.now_ms
    if terms.pace_to is None:
        return Ceiling(None, since_ms)
    begins = terms.pace_to if terms.pace_from is None else min(terms.pace_from, terms.pace_to)
    return Ceiling(min(_told(line) or begins, terms.pace_to), since_ms)


def _told(line: ReplayLine | None) -> float | None:
    """The pace that a line tells."""
    told = line.facts.get("pace") if line and line.kind == Told.CLIMBED else None
    return float(told) if isinstance(told, int | float) and told > 0 else None


def left_s(seen: Seen) -> float | None:
    """Seconds until all is sent; None where it sends nothing now, or nobody can tell."""
    replay = seen.replay
    if seen.phase not in SENDS or seen.canary or replay.holding or replay.down_since or not replay.to_send:
        return None
    allowed = ceiling(seen)
    if allowed.pace is None:
        lately = measured(seen)
        return replay.to_send / lately if lately else None
    return _climbing_s(seen, allowed.pace, (seen.now_ms - allowed.since_ms) / 1000)


def _climbing_s(seen: Seen, pace: float, climbs_for_s: float) -> float:
    """The same at a pace that doubles until it is at its top."""
    terms, left, took = seen.terms, float(seen.replay.to_send), 0.0
    top, until_next = terms.pace_to or pace, max(0.0, terms.double_s - climbs_for_s)
    while pace < top and left > pace * until_next:
        left -= pace * until_next
        took += until_next
        pace, until_next = min(top, pace * 2), max(1.0, terms.double_s)
    return took + left / pace
