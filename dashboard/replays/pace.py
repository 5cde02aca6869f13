"""How fast a plan sends now, and when it will have sent all: by what it tells in its feed and what was sent lately."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dashboard.replays.seen import LATELY_MS, SPAN_MS, Seen
from queues.replay.pacing import SLOWER
from queues.replay.types import SENDS, Told

CLIMBS = frozenset({Told.CLIMBED, Told.PACE, Told.WENT_ON, Told.CANARY_PASSED, Told.STARTED})  # or begins to


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
    line = next((line for line in seen.lines if line.kind in CLIMBS), None)
    since_ms = int(line.at.timestamp() * 1000) if line else seen.now_ms
    if line is not None and line.kind == Told.CLIMBED:
        told = line.facts.get("pace")
        return Ceiling(_most(float(told), terms.pace_to) if isinstance(told, int | float) else None, since_ms)
    begins = terms.pace_to if terms.pace_from is None else terms.pace_from
    return Ceiling(None if begins is None else _most(begins, terms.pace_to), since_ms)


def _most(pace: float, top: float | None) -> float:
    return pace if top is None else min(pace, top)


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
    top, until_next = terms.pace_to or math.inf, max(0.0, terms.double_s - climbs_for_s)
    while terms.pace_from is not None and pace < top and left > pace * until_next / SLOWER:
        left -= pace * until_next / SLOWER
        took += until_next
        pace, until_next = min(top, pace * 2), max(1.0, terms.double_s)
    return took + left / pace * SLOWER
