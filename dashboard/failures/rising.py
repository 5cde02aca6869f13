"""Since when the worst group of a list comes as it comes now, and what went live shortly before."""

from __future__ import annotations

from dataclasses import dataclass

from queues import deploys
from queues.failures.about import Wave, wave_of
from queues.failures.find import Listing, Row
from queues.models import Deploy, FailureStrand
from queues.quantities import MINUTE

BEFORE = 30 * MINUTE  # that a deploy may have been before a wave to be told with it
STRANDS = 200  # of a group that is looked at: one in more queues and job names says nothing here


@dataclass(frozen=True, slots=True)
class Rising:
    """A group that grows fast, the wave in which it does, and the last deploy before that, if one was told."""

    row: Row
    wave: Wave
    deploy: Deploy | None = None


def rising(found: Listing) -> Rising | None:
    """The first of the list, where it grows fast and its wave has a beginning. Three queries."""
    row = found.rows[0] if found.rows else None
    if row is None or not row.live or not row.growth.fast:
        return None
    strands = list(FailureStrand.objects.filter(group__slug=row.slug).values_list("pk", flat=True)[: STRANDS + 1])
    wave = wave_of(strands) if len(strands) <= STRANDS else None
    if wave is None or wave.open_end:
        return None
    told = deploys.between(wave.since_ms - BEFORE, wave.since_ms + MINUTE, row.source)
    return Rising(row, wave, told[-1] if told else None)
