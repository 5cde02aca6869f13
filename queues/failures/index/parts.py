"""What indexing needs of a backend."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from queues.backend import Backend, Failures


@runtime_checkable
class Reader(Backend, Failures, Protocol):
    """A backend that can read failed jobs, on a connection of its own."""

    def close(self) -> None:
        """Close the connection; the next call opens another."""
