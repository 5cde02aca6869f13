"""What tests of event streams share: one stream, read and written without any library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import redis

from queues.backend import Batch
from queues.backends.bullmq.reader import BullMQ
from queues.events import Event, EventKind
from queues.types import QueueRef

SHOP = QueueRef("main", b"bull", b"shop")
STREAM = b"bull:shop:events"
NOON = 1_700_000_040_000  # begins a minute


def read(bullmq: BullMQ, queue: QueueRef = SHOP, after: str = "0-0", most: int = 1000) -> Batch:
    [found] = bullmq.entries({queue: after}, most=most)
    return found


def events(bullmq: BullMQ, *kinds: EventKind) -> Sequence[Event]:
    return read(bullmq).events(kinds=kinds or None, most=1000)


def has(bullmq: BullMQ, *kinds: EventKind) -> bool:
    found = bullmq.entries({SHOP: "0-0"}, most=1000)
    return bool(found) and set(kinds) <= {event.kind for event in found[0].events(most=1000)}


def tallied(found: Batch) -> Mapping[EventKind, int]:
    """Over all minutes: a run may go through the change of one."""
    total: dict[EventKind, int] = {}
    for tally in found.tallies.values():
        for kind, number in tally.items():
            total[kind] = total.get(kind, 0) + number
    return total


def write(store: redis.Redis, *fields: bytes | str, entry: str = "*", key: bytes = STREAM) -> str:
    """One entry with exactly these fields, also such as no client library would write."""
    added = store.execute_command("XADD", key, entry, *fields)  # type: ignore[no-untyped-call]
    return cast(bytes, added).decode()
