"""What writes to a source: with outages kept, as `queues.outages` keeps those of reading."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from queues import cost, outages, readonly
from queues.backend import Actions
from queues.errors import QueueError, ReadOnly, Unreachable, Unsure
from queues.registry import actions


@contextmanager
def writer(source: str) -> Iterator[Actions]:
    """What can be done to the queues of a source. `Unreachable` and `Unsure` leave it with `since` filled in.

    Raises at once while the source is being held (`outages.refusal`). NotFound for a source that is not configured.
    """
    made = actions(source)
    if held := outages.refusal(source):
        raise held
    began = time.monotonic()
    try:
        yield made
    except Unsure as error:
        if _lost(error):
            error.since = outages.note_failure(source, str(error))
        raise
    except Unreachable as error:
        raise outages.failed(source, error, time.monotonic() - began) from error
    except ReadOnly:
        readonly.forget()
        raise
    else:
        outages.note_success(source)
        cost.report()


def _lost(error: Unsure) -> bool:
    """Whether the server was lost, and did not merely refuse a later part."""
    return not isinstance(error.__cause__, QueueError) or isinstance(error.__cause__, Unreachable)
