"""How fast a plan sends: the climb of its pace, and how many may be sent when, so that the pace is never exceeded.

A plan that sends as fast as the server takes it has no pace: None.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from queues.replay.terms import Terms

FASTEST = 1_000_000.0  # jobs a second: what climbs beyond has no limit
# In which no more are sent than the pace lets in a second: what workers and those that they call see of a sending comes
# sooner or later by as much as this is longer than a second, and they still count no more.
WINDOW_MS = 1025.0
TICK_MS = 50.0  # jobs that are sent together are those of so much time
# The plan is so much slower than the pace, which leaves room for that window over jittered sendings.
SLOWER = 1.035
LATEST_MS = 1000.0  # who is later than this begins a new grid
CATCH_UP_S = 0.15  # of what was due and not sent, at most so much is sent at once

_NEVER = 1e18


def pace_at(terms: Terms, s: float) -> float | None:
    """Jobs a second at `s` seconds after the climb began; None: as fast as the server takes them."""
    if terms.pace_from is None:
        return terms.pace_to
    if terms.double_s <= 0:
        return terms.pace_to
    doublings = min(64, int(max(0.0, s) // terms.double_s))
    pace = terms.pace_from * 2.0**doublings
    if terms.pace_to is not None and pace >= min(terms.pace_to, terms.pace_from * 2.0**64):
        return terms.pace_to
    return pace if pace < FASTEST else None


def duration_s(terms: Terms, number: int) -> float | None:
    """Seconds in which so many jobs are sent, without a canary and without any wait; None where nobody knows."""
    for begins, lasts, pace in _steps(terms):
        if pace is None:
            break
        took = number / pace * SLOWER
        if took <= lasts:
            return begins + took
        number -= math.floor(lasts * pace / SLOWER)
    return None


def curve(terms: Terms, number: int) -> Sequence[tuple[float, float]]:
    """The climb as a line of points (seconds, jobs a second), until so many jobs are sent.

    Where it ends in no pace, it ends; empty for a plan that never has one.
    """
    points: list[tuple[float, float]] = []
    for begins, lasts, pace in _steps(terms):
        if pace is None:
            break
        took = min(lasts, number / pace * SLOWER)
        points += [(begins, pace), (begins + took, pace)]
        if took < lasts:
            break
        number -= math.floor(lasts * pace / SLOWER)
    return points


def _steps(terms: Terms) -> Iterator[tuple[float, float, float | None]]:
    """From when on, for how long, and how fast: until the pace climbs no more."""
    at = 0.0
    while True:
        pace = pace_at(terms, at)
        climbs = pace is not None and terms.pace_from is not None and pace != terms.pace_to and terms.double_s > 0
        yield at, float(terms.double_s) if climbs else _NEVER, pace
        if not climbs:
            return
        at += terms.double_s


@dataclass
class Pacer:
    """How many jobs may be sent now. All times are milliseconds of one clock that never goes back, for one plan.

    Two rules: jobs fall due on a grid, some 50 ms apart or more, each point late by a random part of `jitter`; and in
    any window of a little more than a second no more are sent than the pace, whatever else is due. A pace that is no
    whole number lets the next one in.
    """

    chance: random.Random = field(default_factory=random.SystemRandom)
    _next: float | None = None  # the point of the grid that is due next
    _late: float = 0.0  # by how much, by chance
    _owed: float = 0.0  # jobs that were due and not sent
    _pace: float | None = None
    _sent: list[tuple[float, int]] = field(default_factory=list)  # in the last second, oldest first

    @classmethod
    def of(cls, kept: Mapping[str, Any], now: float, chance: random.Random | None = None) -> Pacer:
        """What `kept` made, in another process perhaps, whose clock may have been ahead of this one."""
        made = cls(chance or random.SystemRandom())
        made._sent = [(min(float(at), now), int(number)) for at, number in kept.get("sent", ())]
        made._owed, made._next = float(kept.get("owed", 0.0)), kept.get("next")
        return made

    def kept(self) -> dict[str, Any]:
        """What another process has to know, as JSON keeps it."""
        sent = [[math.ceil(at), number] for at, number in self._sent]
        return {"sent": sent, "owed": round(self._owed, 3), "next": self._next}

    def due(self, pace: float | None, jitter: int, now: float) -> int | None:
        """How many may be sent now; None: any number."""
        if pace is None:
            self._next, self._owed, self._pace = None, 0.0, None
            return None
        self._come(pace, jitter, now)
        return max(0, min(int(self._owed + 1e-6), self._limit(pace) - self._within(now)))

    def sent(self, number: int, at: float) -> None:
        """So many were sent, by then."""
        self._sent = [(when, some) for when, some in self._sent if when > at - WINDOW_MS]
        if number:
            self._sent.append((at, number))
            self._owed = max(0.0, self._owed - number)

    def wait_ms(self, pace: float | None, now: float) -> float:
        """For how long nothing may be sent, as asked after `due`; 0 where something may."""
        if pace is None or self._next is None:
            return 0.0
        if self._owed + 1e-6 < 1:
            return max(0.0, self._next + self._late - now)
        room = self._limit(pace) - self._within(now)
        for when, number in self._sent if room < 1 else ():
            if when > now - WINDOW_MS:
                room += number
                if room >= 1:
                    return when + WINDOW_MS - now
        return 0.0

    def _come(self, pace: float, jitter: int, now: float) -> None:
        """The points of the grid that have passed."""
        step = max(1000.0 / pace, TICK_MS) * SLOWER
        if self._next is None or now - self._next > max(LATEST_MS, step):
            self._next, self._late = now, 0.0
        if pace != self._pace:
            self._next, self._late, self._pace = min(self._next, now + step), 0.0, pace
        while self._next + self._late <= now:
            self._owed += pace * step / 1000.0 / SLOWER
            self._next += step
            self._late = self.chance.random() * jitter / 100.0 * step
        self._owed = min(self._owed, max(pace * step / 1000.0 / SLOWER, pace * CATCH_UP_S))

    def _limit(self, pace: float) -> int:
        return max(1, math.ceil(pace - 1e-9))

    def _within(self, now: float) -> int:
        return sum(number for when, number in self._sent if when > now - WINDOW_MS)
