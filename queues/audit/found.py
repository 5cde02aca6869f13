"""What stands in the log of actions: one entry taken apart, and the entries that a page or an export asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from queues.actions import Outcome
from queues.models import AuditEntry
from queues.names import decode_part, visible
from queues.types import State

PAGE_SIZE = 50
EXPORT_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Exceptional:
    """A job that came to something else than what was asked for.

    `by` and `at` say who had done the same before, where the outcome is `ALREADY` and the log knows it.
    """

    slug: str
    outcome: Outcome
    state: State | None = None
    lock_ms: int | None = None
    why: str = ""
    by: str = ""
    at: datetime | None = None

    @property
    def label(self) -> str:
        """The job's id for eyes."""
        return label(self.slug)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which entries are meant. Empty: all. `since` is included, `until` is not (both aware)."""

    who: str = ""
    action: str = ""
    source: str = ""
    queue: str = ""  # slug; of `source`
    status: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Some entries, newest first. `older` and `newer` are what `find` is given for the next ones; "" = no more."""

    entries: Sequence[AuditEntry]
    older: str = ""
    newer: str = ""


def label(slug: str) -> str:
    """A job's id for eyes, from its slug."""
    try:
        return visible(decode_part(slug, colon=True))
    except ValueError:
        return slug


def counts(entry: AuditEntry) -> Mapping[Outcome, int]:
    """How many jobs came to which outcome, in the order of `Outcome`; those with none are left out."""
    return {outcome: entry.outcomes[outcome] for outcome in Outcome if entry.outcomes.get(outcome)}


def took_along(entry: AuditEntry) -> int:
    """How many jobs went along with those that were meant (children)."""
    return int(entry.outcomes.get("removed", 0))


def made(entry: AuditEntry) -> str:
    """The slug of the job that came of it (add, duplicate, restore); "" for none."""
    return str(entry.parameters.get("made", ""))


def exceptions(entry: AuditEntry) -> Sequence[Exceptional]:
    """The jobs that came to something else, the first 1,000."""
    raise NotImplementedError


def find(filters: Filters, *, older: str = "", newer: str = "", size: int = PAGE_SIZE) -> Page:
    """A page of entries, newest first, without an offset: its cost does not grow with the log. BadInput: odd cursor."""
    raise NotImplementedError


def each(filters: Filters) -> Iterator[AuditEntry]:
    """All entries, newest first, in queries of 500 each: for exports of any length."""
    raise NotImplementedError
