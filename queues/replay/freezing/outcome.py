"""What the terms make of a frozen set: which jobs are sent, and which are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from queues.replay.freezing.counting import Sum
from queues.replay.terms import Terms
from queues.replay.types import Choice
from queues.sendings import Conflict


@dataclass(frozen=True, slots=True)
class Counts:
    """Jobs. `permanent` are those that could be sent and whose failures are of the permanent class."""

    to_send: int = 0
    left_out: int = 0
    permanent: int = 0


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


def estimated(sums: Sequence[Sum], terms: Terms) -> Counts:
    """How many are sent and left out, by what freezing counted."""
    to_send = sum(each.jobs for each in sums if is_sent(each.conflict, each.permanent, terms))
    permanent = sum(each.jobs for each in sums if each.permanent and could_be(each.conflict, terms))
    return Counts(to_send, sum(each.jobs for each in sums) - to_send, permanent)
