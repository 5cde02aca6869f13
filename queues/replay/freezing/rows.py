"""A row of the database out of what freezing knows of it: for what is shared with sending."""

from __future__ import annotations

from queues.models import ReplayJob
from queues.replay.freezing.items import Item


def as_row(item: Item) -> ReplayJob:
    """The row, not to be saved."""
    return ReplayJob(
        pk=item.pk,
        queue_id=item.queue,
        job=item.job,
        seen=item.seen,
        state=item.state,
        acts=item.acts,
        target_id=item.target,
        letter_queue_id=item.letter_queue,
        letter=item.letter,
    )
