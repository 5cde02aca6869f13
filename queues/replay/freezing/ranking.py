"""Which jobs are sent by some terms, and in which order: also as the database computes it."""

from __future__ import annotations

from django.db.models import BigIntegerField, Q, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from queues.replay.terms import Ordering, Terms
from queues.replay.types import Choice
from queues.sendings import Conflict


def is_sent(conflict: Conflict, permanent: bool, terms: Terms) -> bool:
    """Whether a job with this conflict and class is sent by these terms."""
    if permanent and terms.without_permanent:
        return False
    return could_be(conflict, terms)


def could_be(conflict: Conflict, terms: Terms) -> bool:
    """The same whatever its class. Where no order by key is kept any more, no key is needed."""
    if conflict is Conflict.NO_KEY and not terms.key:
        return True
    return terms.choice(conflict) is Choice.SEND


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
