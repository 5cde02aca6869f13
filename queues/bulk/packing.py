"""Jobs to act on, as the rows of `BulkBatch` keep them: some 10 bytes a job where ids are numbers."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence

from queues.actions import BATCH, Target

LARGEST = 1024 * 1024  # bytes of ids in one batch: ids may be of any size
_SIZES = struct.Struct(">II")


def pack(targets: Sequence[Target]) -> bytes:
    """Targets as bytes, to be read by `unpack`."""
    parts = [_SIZES.pack(len(target.id), len(target.seen)) + target.id + target.seen for target in targets]
    return zlib.compress(b"".join(parts), level=1)


def unpack(packed: bytes) -> list[Target]:
    """What was packed, in its order."""
    raw, at, targets = zlib.decompress(packed), 0, []
    while at < len(raw):
        size, seen = _SIZES.unpack_from(raw, at)
        at += _SIZES.size
        targets.append(Target(raw[at : at + size], raw[at + size : at + size + seen]))
        at += size + seen
    return targets


def batches(targets: Sequence[Target]) -> Iterator[Sequence[Target]]:
    """Targets in parts of at most 1,000, and of no more bytes than one row should hold."""
    part: list[Target] = []
    held = 0
    for target in targets:
        if part and (len(part) == BATCH or held + len(target.id) > LARGEST):
            yield part
            part, held = [], 0
        part.append(target)
        held += len(target.id)
    if part:
        yield part
