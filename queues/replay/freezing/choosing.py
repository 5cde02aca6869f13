"""What sending a failed or completed job means by the terms, and where it goes."""

from __future__ import annotations

from collections.abc import Sequence

from queues.replay.freezing.book import Book
from queues.replay.freezing.items import Item
from queues.replay.terms import Terms
from queues.replay.types import Acts
from queues.types import State

FINISHED = (State.FAILED.value, State.COMPLETED.value)


def choose(items: Sequence[Item], terms: Terms, book: Book) -> None:
    """Failed jobs go back to where they wait, unless they are edited, go elsewhere, or somebody wants copies."""
    to = book.called(terms.target).pk if terms.target else None
    for item in items:
        elsewhere = to is not None and to != item.queue
        copied = terms.acts_copy or terms.patch is not None or elsewhere
        in_place = item.state == State.FAILED.value and not copied
        item.acts = (Acts.RETRY if in_place else Acts.COPY).value
        item.target = item.queue if in_place or to is None else to
