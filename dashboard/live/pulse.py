"""How the view of the sources of a page stands, as the page and its frames say it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from queues.live import Pulse, Standing

SILENT_S = 6.0  # the follower says something about each source once a second
_WORST = tuple(Pulse)


@dataclass(slots=True)
class Heard:
    """What was last heard of a source, and when: `at` by the loop's clock, `at_ms` by the wall's."""

    at: float
    at_ms: int
    standing: Standing | None = None

    def now(self, now: float) -> Standing | None:
        """How it stands; None while nobody has said it and there is still time to."""
        if now - self.at < SILENT_S:
            return self.standing
        seen = self.standing
        if seen and seen.pulse is Pulse.BLIND:
            return seen
        return Standing(Pulse.BLIND, seen.at_ms if seen else 0, self.at_ms, _("Nothing is heard of the follower."))


def worst(standings: Sequence[Standing]) -> Standing:
    """Several as one: as bad as the worst, as old as the oldest, with the sum of their events."""
    bad = max(standings, key=lambda each: (_WORST.index(each.pulse), -(each.since_ms or each.at_ms)))
    known = [each.at_ms for each in standings if each.at_ms]
    rates = [each.events_per_s for each in standings if each.events_per_s is not None]
    return Standing(bad.pulse, min(known, default=0), bad.since_ms, bad.why, sum(rates) if rates else None)


def members(standing: Standing) -> str:
    """The members of a frame's JSON object. `at` is null when nothing was ever read."""
    told: Mapping[str, object] = {
        "at": standing.at_ms or None,
        "pulse": standing.pulse.value,
        "since": standing.since_ms,
        "why": standing.why or None,
        "rate": None if standing.events_per_s is None else round(standing.events_per_s, 1),
    }
    always = {"at", "pulse", "rate"}
    return json.dumps({name: value for name, value in told.items() if name in always or value is not None})[1:-1]
