"""Where each row stands by the terms: sent or left out, and its rank among those that are sent."""

from __future__ import annotations

from django.db.models import BigIntegerField, Case, CharField, Q, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from queues.models import ReplayJob
from queues.replay.freezing.outcome import could_be
from queues.replay.terms import Ordering, Terms
from queues.replay.types import Place
from queues.sendings import Conflict

ROWS = 20_000  # of one step: some 50 to 200 ms
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


def rank(order: Ordering) -> Combinable:
    """By what jobs are sent in turn; those that are equal go by their keys. A time that is not known is the other."""
    created, failed = Coalesce("created_ms", "failed_ms", Value(0)), Coalesce("failed_ms", "created_ms", Value(0))
    if order is Ordering.ORIGINAL:
        return created
    if order is Ordering.FAILURE:
        return failed
    return failed * -1 if order is Ordering.NEWEST else Value(0, BigIntegerField())


def sendable(terms: Terms) -> Q:
    """Rows that are sent by these terms."""
    found = Q(conflict__in=[each.value for each in Conflict if could_be(each, terms)])
    return found & Q(permanent=False) if terms.without_permanent else found


def _place(terms: Terms) -> Case:
    ready, out = Value(Place.READY.value), Value(Place.LEFT_OUT.value)
    return Case(When(sendable(terms), then=ready), default=out, output_field=CharField())
