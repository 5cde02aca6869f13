"""A row of the database out of what freezing knows of it: for what is shared with sending."""

from __future__ import annotations

from queues.models import Queue, ReplayJob
from queues.replay.freezing.book import Book
from queues.replay.freezing.items import Item


def as_row(item: Item, book: Book) -> ReplayJob:
    """The row, not to be saved. Its queues are filled in."""
    row = ReplayJob(
        pk=item.pk,
        replay_id=0,
        job=item.job,
        seen=item.seen,
        state=item.state,
        acts=item.acts,
        letter_queue_id=item.letter_queue,
        letter=item.letter,
    )
    row.queue = _queue(item.queue, book)
    row.target = _queue(item.target, book) if item.target is not None else None
    return row


def _queue(pk: int, book: Book) -> Queue:
    return Queue(pk=pk, source=book.source, slug=book.by_pk(pk).ref.slug)
