"""Where each row stands by the terms: sent or left out, and its rank among those that are sent."""

from __future__ import annotations

from django.db.models import Case, CharField, Value, When

from queues.models import ReplayJob
from queues.replay.freezing.ranking import rank, sendable
from queues.replay.terms import Terms
from queues.replay.types import Place

ROWS = 10_000  # of one step: some 50 to 100 ms
_MOVED = (Place.READY, Place.HELD, Place.LEFT_OUT)


def place(replay: int, after: int, terms: Terms) -> int | None:
    """Place the next rows behind this one, by their keys; gives the last of them, None at the end."""
    rows = ReplayJob.objects.filter(replay=replay, pk__gt=after).order_by("pk")
    keys = rows.values_list("pk", flat=True)
    last = keys[ROWS - 1 : ROWS].first() or rows.order_by("-pk").values_list("pk", flat=True).first()
    if last is None:
        return None
    part = ReplayJob.objects.filter(replay=replay, pk__gt=after, pk__lte=last, place__in=_MOVED)
    part.update(place=_place(terms), rank=rank(terms.order), after=None, canary=False)
    return last


def _place(terms: Terms) -> Case:
    ready, out = Value(Place.READY.value), Value(Place.LEFT_OUT.value)
    return Case(When(sendable(terms), then=ready), default=out, output_field=CharField())
