"""The one writer of the index of failures: `Store`, one for each source and term of its follower."""

from __future__ import annotations

from queues.failures.store.store import Store
from queues.failures.store.types import Lost, Written

__all__ = ["Lost", "Store", "Written"]
