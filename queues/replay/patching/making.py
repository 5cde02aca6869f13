"""A function out of an edit, which is read once and then applied to the data of any number of jobs."""

from __future__ import annotations

from collections.abc import Callable

from queues.replay.terms import Patch

Patcher = Callable[[bytes], bytes]


def checked(patch: Patch) -> Patch:
    """The same patch, once it was read. BadInput with the line and column where it cannot be."""
    raise NotImplementedError


def patcher(patch: Patch, data: bytes | None = None) -> Patcher:
    """What makes the edited data out of the stored. `data` is the new data of an edit of kind WHOLE.

    BadInput where the edit itself cannot be read. The function raises Unfit where it does not fit the data, and gives
    the same bytes where nothing changes. Linear in the data, whatever that holds.
    """
    raise NotImplementedError
