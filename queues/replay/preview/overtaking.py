"""Where an order by key holds for what is sent alone: an earlier job of a value is left out, and a later one is not."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter

from django.db.models import BooleanField, Case, Value, When

from queues.models import Replay, ReplayJob
from queues.replay.freezing.ranking import rank, sendable
from queues.replay.terms import Terms

MOST = 20_000  # jobs of such values that are looked at: some 50 ms


def overtaken(replay: Replay, terms: Terms) -> int | None:
    """How many values of the key these are, by the order of these terms; None where too many jobs would be looked at.

    One query.
    """
    rows = ReplayJob.objects.filter(replay=replay, key__isnull=False)
    of_both = rows.exclude(sendable(terms)).values("key")
    sent = Case(When(sendable(terms), then=Value(True)), default=Value(False), output_field=BooleanField())
    turns = rows.filter(key__in=of_both).annotate(turn=rank(terms.order), is_sent=sent).order_by("key", "turn", "pk")
    found = list(turns.values_list("key", "is_sent")[: MOST + 1])
    if len(found) > MOST:
        return None
    return sum(_is_overtaken([each for _key, each in jobs]) for _key, jobs in groupby(found, itemgetter(0)))


def _is_overtaken(sent: list[bool]) -> bool:
    """Whether any is sent behind one that is not."""
    return True in sent[sent.index(False) :]
