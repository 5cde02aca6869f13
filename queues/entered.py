"""How many jobs entered each state in a stretch of a queue's events: what a page has missed since it was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import cast

from queues.backend import Batch, Events
from queues.events import ENTERS, order
from queues.outages import watched
from queues.types import Capability, QueueRef, State

MOST = 10_000


def since(ref: QueueRef, after: str, upto: str) -> Mapping[State, int]:
    """Entries behind the event `after`, up to and with `upto`, by the state that the job entered.

    One reading of at most 10,000 entries, a fraction of a second: of more than that, the first. States that
    nothing entered are left out. Raises QueueError; nothing is counted where a backend has no events.
    """
    if order(after) >= order(upto):
        return {}
    with watched(ref.source) as reader:
        if Capability.EVENTS not in reader.capabilities:
            return {}
        batches = cast("Events", reader).entries({ref: after}, most=MOST)
    return Counter(state for batch in batches for state in _entered(batch, upto))


def _entered(batch: Batch, upto: str) -> Iterable[State]:
    end = order(upto)
    if order(batch.last_id) <= end:  # none needs to be decoded
        for kind, state in ENTERS.items():
            yield from (state for _job in batch.jobs(kind))
        return
    for event in batch.events(kinds=ENTERS, most=MOST):
        if order(event.id) <= end:
            yield ENTERS[event.kind]
