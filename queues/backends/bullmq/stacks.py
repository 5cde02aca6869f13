"""The errors of a job's attempts, as its `stacktrace` field keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from queues.backends.bullmq.fields import Field
from queues.types import Body

READ = 1024 * 1024  # bytes of the field that are read
MOST = 50
EACH = 64 * 1024  # bytes shown of each

_decoder = json.JSONDecoder()


def split(found: Field | None) -> tuple[Sequence[Body], int, Body | None]:
    """The stacks newest first, how many there are, and the field as it stands where it does not tell.

    BullMQ appends the newest (4 to 6, classes/job, saveStacktrace). A field that is cut, or that is no
    JSON array of strings, is given back raw.
    """
    if found is None or not found.size:
        return (), 0, None
    raw = Body(found.raw, found.size)
    if found.whole is None:
        return (), 0, raw
    try:
        value = _decoder.decode(found.whole.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return (), 0, raw
    if value is None or value == []:
        return (), 0, None  # npm writes "null" for a job that never failed
    if not isinstance(value, list) or not all(isinstance(stack, str) for stack in value):
        return (), 0, raw
    newest = [stack.encode("utf-8", errors="surrogatepass") for stack in reversed(value[-MOST:])]
    return tuple(Body(stack[:EACH], len(stack)) for stack in newest), len(value), None
