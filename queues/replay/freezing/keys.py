"""What stands at a path of a job's data, as a number: jobs for which it is equal are of one key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from queues import paths
from queues.jsonload import Unreadable, load
from queues.paths import Step


def key_of(data: bytes, steps: Sequence[Step]) -> int | None:
    """63 bits of a digest of the value; None where nothing stands there, null does, or the data are no JSON.

    Values are compared as JSON says them, whatever their layout and the order of their keys; 1 and 1.0 are equal, 1
    and "1" are not.
    """
    try:
        value = paths.get(load(data), steps)
    except Unreadable:
        return None
    if value is paths.MISSING or value is None:
        return None
    text = json.dumps(_canonical(value), sort_keys=True, separators=(",", ":"))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def _canonical(value: object) -> object:
    """Whole numbers as such. At most as deep as what `load` reads."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_canonical(inner) for inner in value]
    if isinstance(value, dict):
        return {key: _canonical(inner) for key, inner in value.items()}
    return value
