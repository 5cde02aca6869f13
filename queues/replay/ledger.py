"""The rows of a plan, for its page and exports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from queues.models import Replay
from queues.replay.types import Acts, Place
from queues.sendings import Conflict, Fate
from queues.types import JobRef, QueueRef

PAGE = 50


@dataclass(frozen=True, slots=True)
class Filters:
    """Which rows; what is empty or None means all.

    `queue` is the slug of the queue it came from, `group` that of the group it failed in before or again, `text` a part
    of an id, its own or that of its copy.
    """

    place: Place | None = None
    fate: Fate | None = None
    conflict: Conflict | None = None
    queue: str = ""
    group: str = ""
    text: str = ""
    canary: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    slug: str
    title: str


@dataclass(frozen=True, slots=True)
class Row:
    """A job of a plan. `made` is where it waits, runs or ended: the copy, or itself; None while it was not sent."""

    pk: int
    job: JobRef
    name: str
    acts: Acts
    target: QueueRef | None
    letter: JobRef | None
    place: Place
    conflict: Conflict
    note: str
    canary: bool
    created_ms: int | None
    failed_ms: int | None
    group: Group | None
    made: JobRef | None
    sent_ms: int | None
    fate: Fate
    tries: int
    ended_ms: int | None
    again: Group | None
    original: str


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows in the order of sending. `later` and `earlier` are what `page` is given as a cursor; "" = no more."""

    rows: Sequence[Row]
    later: str = ""
    earlier: str = ""


def page(replay: Replay, filters: Filters | None = None, *, later: str = "", earlier: str = "") -> Page:
    """A page of at most 50 rows, without an offset. BadInput for an odd cursor."""
    raise NotImplementedError


def each(replay: Replay, filters: Filters | None = None) -> Iterator[Row]:
    """All rows that match, in order, some hundred at a time: for exports of any length."""
    raise NotImplementedError
