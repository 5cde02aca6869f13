"""Which part of a signature that was split by hand a failure belongs to: what the store asks and what a person says."""

from __future__ import annotations

import hashlib

from queues.failures.types import SplitBy
from queues.names import show_controls

VALUE = 500  # characters of a value that tell parts from each other


def value_of(by: SplitBy | str, *, name: str = "", queue_slug: str = "", message: str = "") -> str:
    """What tells a failure from others of its signature. `message` is its reason, masked; one line of it counts."""
    by = SplitBy(by)
    if by is SplitBy.NAME:
        return name[:VALUE]
    if by is SplitBy.QUEUE:
        return queue_slug[:VALUE]
    return show_controls(message[: 4 * VALUE].strip().partition("\n")[0][:VALUE], keep="")


def digest_of(parent: str, by: SplitBy | str, value: str) -> str:
    """The digest of the part with this value of the signature with the digest `parent`. 40 hex digits."""
    told = f"{parent}\x1f{SplitBy(by).value}\x1f{value}".encode("utf-8", "surrogatepass")
    return hashlib.sha1(told, usedforsecurity=False).hexdigest()
