"""What the server told of a job, taken into its row."""

from __future__ import annotations

from queues.actions import Target
from queues.failures.store.rows import plain
from queues.names import decode_part, visible
from queues.quantities import LARGEST
from queues.replay.freezing.items import Item
from queues.replay.naming import NAME, job_id, score_ms
from queues.replay.types import Acts
from queues.sendings import Conflict, Looked
from queues.types import State

# What stands in the way of a job that goes back to where it was, and not of a new one that is made after it.
_IN_PLACE = (Conflict.TWIN, Conflict.PARENT_FAILED, Conflict.PARENT_GONE)


def target_of(item: Item) -> Target:
    """What is acted on; of a row whose id is exact."""
    return Target(job_id(item.job), decode_part(item.seen, colon=True) if item.seen else b"")


def see(item: Item, looked: Looked) -> None:
    """Take over what was found about a job. What it does not tell any more stays as it was known."""
    if looked.name:
        item.name = plain(visible(looked.name), NAME)
    item.created_ms = bounded(looked.created_ms, item.created_ms)
    item.failed_ms = _score(item) or bounded(looked.failed_ms, item.failed_ms)
    if item.acts == Acts.RETRY.value or looked.conflict not in _IN_PLACE:
        item.blame(looked.conflict, looked.note)


def _score(item: Item) -> int | None:
    """When a failed job failed, by the score that names this stay: it may have failed again since."""
    if item.state != State.FAILED.value:
        return None
    return bounded(score_ms(item.seen))


def bounded(ms: int | None, known: int | None = None) -> int | None:
    """A moment that any database keeps; what was known where there is none."""
    return ms if ms is not None and -LARGEST <= ms <= LARGEST else known
