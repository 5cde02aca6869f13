"""What a batch of news changes on pages, drawn: the contract between those who draw and the hub that sends."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from queues.live import News


@dataclass(frozen=True, slots=True)
class Update:
    """Drawn once for all sockets of a topic.

    `parts` are whole elements by their id, each byte-equal to the page's first render; those that did not change
    may be among them, the hub leaves them out. A part that belongs to a row has an id of the form `<row>-<name>`
    (see `board.row_of`) and goes only to sockets that show this row. `changed_ms` says by part or by such a row when
    it last changed: a page that was read later has it already.
    """

    parts: Mapping[str, str] = field(default_factory=dict)
    changed_ms: Mapping[str, int] = field(default_factory=dict)
    feed: str = ""  # entries for the top of the feed, newest first
    entries: int = 0  # how many that are
    log: str = ""  # lines to append to the log
    entered: Mapping[str, int] = field(default_factory=dict)  # by state, since the follower began to count
    upto: str = ""  # the event up to which `entered` counts
    say: str = ""  # what a screen reader is told, when it changed


class Drawer(Protocol):
    """Draws one topic in one language. Called from one thread at a time; may read, and keeps what it needs."""

    def update(self, news: News) -> Update:
        """What this batch changes. Raises QueueError when it had to read and could not."""


@runtime_checkable
class Choosy(Drawer, Protocol):
    """A drawer that draws only rows which somebody shows."""

    def show(self, rows: Collection[str]) -> None:
        """These rows are shown by anybody now: told before each `update`."""
