"""How what was sent stands, by the rows: for whoever decides whether a plan goes on."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nlargest

from django.db.models import Count, Q

from queues.models import Replay, ReplayJob
from queues.replay.types import ENDS, Place
from queues.replay.watching.explaining import unexplained as _unexplained
from queues.replay.watching.ways import under_way
from queues.sendings import Fate


@dataclass(frozen=True, slots=True)
class Lately:
    """Of the last jobs that ended, how many there are and how many of them failed again."""

    number: int
    failed: int


@dataclass(frozen=True, slots=True)
class Canary:
    """Jobs of the canary: sent, of these ended, of these failed again; `retrying` had an attempt that failed."""

    sent: int
    ended: int
    failed: int
    retrying: int


def unended(replay: Replay) -> int:
    """How many jobs were sent and have not ended as far as is known. One query by an index of just these."""
    return under_way(replay).count()


def last_ended(replay: Replay, most: int = 100, *, after_ms: int = 0) -> Lately:
    """Of the jobs that ended last, after a moment. A short query for each way to end."""
    sent = ReplayJob.objects.filter(replay=replay.pk, place=Place.SENT, ended_ms__gt=after_ms)
    ended: list[tuple[int, bool]] = []
    for fate in sorted(ENDS):
        newest = sent.filter(fate=fate).order_by("-ended_ms").values_list("ended_ms", flat=True)[:most]
        ended += [(ms, fate is Fate.FAILED) for ms in newest if ms is not None]
    last = nlargest(most, ended)
    return Lately(len(last), sum(failed for _ms, failed in last))


def canary_standing(replay: Replay) -> Canary:
    """How the canary stands. One query by an index of just the canary."""
    rows = ReplayJob.objects.filter(replay=replay.pk, place=Place.SENT, canary=True)
    over = Q(ended_ms__isnull=False)
    counted = rows.aggregate(
        sent=Count("pk"),
        ended=Count("pk", filter=over),
        failed=Count("pk", filter=over & Q(fate=Fate.FAILED)),
        retrying=Count("pk", filter=~over & (Q(fate=Fate.RETRYING) | Q(tries__gt=0))),
    )
    return Canary(**counted)


def unexplained(replay: Replay) -> int:
    """How many failed again into a group that the index of failures has not told yet. One query over those that failed.

    At the end of a plan it is worth to wait for these, some seconds: nobody asks for them later but the report.
    """
    return _unexplained(replay).count()
