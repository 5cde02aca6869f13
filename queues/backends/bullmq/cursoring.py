"""Where a walk over a queue goes on: numbers and exact bytes as opaque text."""

from __future__ import annotations

import json
from collections.abc import Sequence

from django.utils.translation import gettext as _

from queues.errors import BadInput


def pack(phase: int, number: int, *marks: bytes) -> str:
    """A place: which part of the walk, a number in it, and some ids or scores."""
    return json.dumps([phase, number, *(mark.decode("latin-1") for mark in marks)], separators=(",", ":"))


def unpack(cursor: str) -> tuple[int, int, Sequence[bytes]]:
    """The inverse of `pack`. BadInput for anything else."""
    try:
        phase, number, *marks = json.loads(cursor)
        if type(phase) is int and type(number) is int and min(phase, number) >= 0:
            return phase, number, [mark.encode("latin-1") for mark in marks]
    except (ValueError, TypeError, AttributeError, RecursionError):
        pass
    raise BadInput(_("This is not where one of our walks has stopped."))
