"""What the terms make of a frozen set: which jobs are sent, and which are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from queues.replay.freezing.counting import Sum
from queues.replay.freezing.ranking import could_be, is_sent
from queues.replay.terms import Terms


@dataclass(frozen=True, slots=True)
class Counts:
    """Jobs. `permanent` are those that could be sent and whose failures are of the permanent class."""

    to_send: int = 0
    left_out: int = 0
    permanent: int = 0


def estimated(sums: Sequence[Sum], terms: Terms) -> Counts:
    """How many are sent and left out, by what freezing counted."""
    to_send = sum(each.jobs for each in sums if is_sent(each.conflict, each.permanent, terms))
    permanent = sum(each.jobs for each in sums if each.permanent and could_be(each.conflict, terms))
    return Counts(to_send, sum(each.jobs for each in sums) - to_send, permanent)
