"""Who goes when: the rows of an armed plan in their order, in bounded steps. Places and ranks by the terms, chains of
jobs with one key, and the canary.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from django.db import connection
from django.db.models import Case, CharField, Count, Value, When

from queues.models import Replay, ReplayJob
from queues.replay.freezing.ranking import rank, sendable
from queues.replay.hands import Hands
from queues.replay.terms import Terms
from queues.replay.types import Place

PLACED = 10_000  # rows of one step: some 50 to 100 ms
CHAINED = 2_000  # rows of one step
MARKED = 1_000  # rows that are asked for and marked at once

_MOVED = (Place.READY, Place.HELD, Place.LEFT_OUT)
_TABLE = ReplayJob._meta.db_table
_OF_KEYS = f"""
SELECT key, rank, id FROM {_TABLE}
WHERE replay_id = %s AND key IS NOT NULL AND place = %s AND (key, rank, id) > (%s, %s, %s)
ORDER BY key, rank, id LIMIT %s
"""  # noqa: S608
_HOLD = f"UPDATE {_TABLE} SET place = %s, after = %s WHERE id = %s"  # noqa: S608
_NUMBERED = f"""
SELECT id FROM (
  SELECT id, ROW_NUMBER() OVER (ORDER BY rank, id) AS number
  FROM {_TABLE} WHERE replay_id = %s AND place = %s
) AS numbered WHERE number IN ({{}})
"""  # noqa: S608


class Part(StrEnum):
    """How far ordering is (`Replay.step`)."""

    PLACES = "places"
    CHAINS = "chains"
    CANARY = "canary"
    ORDERED = "ordered"


class Link(NamedTuple):
    """A row by its place in the order of keys."""

    key: int = -1
    rank: int = 0
    pk: int = 0


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
        last = _place(plan, at[0] if at else 0, terms)
        return (part, [last]) if last is not None else (Part.CHAINS, [])
    if part is Part.CHAINS:
        link = _chain(plan, Link(*at)) if terms.key else None
        return (part, link) if link is not None else (Part.CANARY, [])
    if terms.canary:
        _pick(plan, terms.canary)
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


def _place(replay: int, after: int, terms: Terms) -> int | None:
    """Place the next rows behind this one, by their keys; gives the last of them, None at the end."""
    rows = ReplayJob.objects.filter(replay=replay, pk__gt=after).order_by("pk")
    keys = rows.values_list("pk", flat=True)
    last = keys[PLACED - 1 : PLACED].first() or rows.order_by("-pk").values_list("pk", flat=True).first()
    if last is None:
        return None
    part = ReplayJob.objects.filter(replay=replay, pk__gt=after, pk__lte=last, place__in=_MOVED)
    part.update(place=_by_terms(terms), rank=rank(terms.order), after=None, canary=False)
    return last


def _by_terms(terms: Terms) -> Case:
    ready, out = Value(Place.READY.value), Value(Place.LEFT_OUT.value)
    return Case(When(sendable(terms), then=ready), default=out, output_field=CharField())


def _chain(replay: int, behind: Link) -> Link | None:
    """Hold the next rows of which another of their key comes first; gives the last of them, None at the end."""
    with connection.cursor() as cursor:
        cursor.execute(_OF_KEYS, [replay, Place.READY.value, *behind, CHAINED])
        links = [Link(*row) for row in cursor.fetchall()]
        turns = pairwise([behind, *links])
        held = [(Place.HELD.value, before.pk, each.pk) for before, each in turns if before.key == each.key]
        if held:
            cursor.executemany(_HOLD, held)
    return links[-1] if links else None


def _pick(replay: int, number: int) -> None:
    """Mark so many of the rows that are ready: of each key its first. One walk over an index of them."""
    ready = ReplayJob.objects.filter(replay=replay, place=Place.READY)
    there = ready.count()
    # The middle of each of so many equal parts.
    wanted = sorted({(2 * part + 1) * there // (2 * number) + 1 for part in range(number)}) if there else []
    found: list[int] = []
    for at in range(0, len(wanted), MARKED):
        part = wanted[at : at + MARKED]
        with connection.cursor() as cursor:
            cursor.execute(_NUMBERED.format(",".join(["%s"] * len(part))), [replay, Place.READY.value, *part])
            found += [pk for (pk,) in cursor.fetchall()]
    for at in range(0, len(found), MARKED):
        ready.filter(pk__in=found[at : at + MARKED]).update(canary=True)
