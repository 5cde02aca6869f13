"""Bringing the rows of an armed plan into their order, in bounded steps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from enum import StrEnum

from django.db.models import Count

from queues.models import Replay, ReplayJob
from queues.replay.hands import Hands
from queues.replay.ordering.canary import pick
from queues.replay.ordering.chains import Link, chain
from queues.replay.ordering.placing import place
from queues.replay.terms import Terms
from queues.replay.types import Place


class Part(StrEnum):
    """How far ordering is (`Replay.step`)."""

    PLACES = "places"
    CHAINS = "chains"
    CANARY = "canary"
    ORDERED = "ordered"


def prepare(run: Hands) -> bool:
    """The next step, of at most half a second or so; True when all is in order. No server is asked.

    May be interrupted anywhere; terms that changed meanwhile make it begin anew.
    """
    plan, terms = run.replay, run.terms
    part, at = _where(plan.step, plan.cursor, terms)
    if part is Part.ORDERED:
        return True
    with run.saving():
        part, at = _done(plan.pk, part, at, terms)
        values: dict[str, object] = {"step": part.value, "cursor": json.dumps([_mark(terms), *at])}
        if part is Part.ORDERED:
            values |= _counts(plan.pk)
        Replay.objects.filter(pk=plan.pk).update(**values)
    for name, value in values.items():
        setattr(plan, name, value)
    return part is Part.ORDERED


def _done(plan: int, part: Part, at: Sequence[int], terms: Terms) -> tuple[Part, Sequence[int]]:
    """Do some of a part; gives where the next step goes on."""
    if part is Part.PLACES:
        last = place(plan, at[0] if at else 0, terms)
        return (part, [last]) if last is not None else (Part.CHAINS, [])
    if part is Part.CHAINS:
        link = chain(plan, Link(*at)) if terms.key else None
        return (part, link) if link is not None else (Part.CANARY, [])
    if terms.canary:
        pick(plan, terms.canary)
    return Part.ORDERED, []


def _counts(plan: int) -> dict[str, object]:
    """How many are sent and left out. One walk over an index."""
    rows = ReplayJob.objects.filter(replay=plan).values_list("place").annotate(Count("pk")).order_by()
    found = {Place(name): number for name, number in rows}
    to_send = found.get(Place.READY, 0) + found.get(Place.HELD, 0)
    return {"to_send": to_send, "left_out": found.get(Place.LEFT_OUT, 0)}


def _where(step: str, cursor: str, terms: Terms) -> tuple[Part, Sequence[int]]:
    """Where it goes on: at the beginning, where what is written there is of other terms, or of freezing."""
    try:
        mark, *at = json.loads(cursor)
        part = Part(step)
    except (ValueError, TypeError):
        return Part.PLACES, []
    return (part, at) if mark == _mark(terms) else (Part.PLACES, [])


def _mark(terms: Terms) -> str:
    """Tells terms by which rows are ordered otherwise."""
    told = [terms.order, terms.key, terms.canary, terms.without_permanent, sorted(terms.choices.items())]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]
