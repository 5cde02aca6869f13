"""How many replays run and how many wait for somebody: what stands beside their link on every page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.live.parts import part
from queues.models import Replay
from queues.quantities import number
from queues.replay.types import ACTIVE, HALTED, Phase

RUNNING = frozenset({*ACTIVE, Phase.CANCELLING})
WAITS = frozenset({*HALTED, Phase.WAITING})  # for a person


@dataclass(frozen=True, slots=True)
class Counts:
    running: int
    waiting: int


def counts(sources: Sequence[str]) -> Counts:
    """One query, by the plans that have not ended."""
    found = Replay.objects.filter(source__name__in=sources, phase__in=RUNNING | WAITS).values_list("phase")
    by_phase = dict(found.annotate(Count("pk")).order_by())
    sums = (sum(count for phase, count in by_phase.items() if phase in among) for among in (RUNNING, WAITS))
    return Counts(*sums)


def badge(found: Counts, place: str) -> SafeString:
    """Beside a link in the navigation at `place`. Empty: none."""
    told = (_("%(n)s running"), found.running), (_("%(n)s waiting"), found.waiting)
    text = " · ".join(said % {"n": number(count)} for said, count in told if count)
    return part(f"replays-running-{place}", text, "eye" if found.waiting else "")
