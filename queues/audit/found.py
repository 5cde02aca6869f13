"""What stands in the log of actions: one entry taken apart, and the entries that a page or an export asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from queues.actions import Outcome
from queues.errors import BadInput
from queues.models import AuditEntry
from queues.names import decode_part, visible
from queues.types import State

PAGE_SIZE = 50
EXPORT_CHUNK = 500
# All acts on one plan of a replay.
ABOUT_REPLAYS = (
    "plan-replay",
    "replay",
    *("replay-approve", "replay-refuse", "replay-take-back", "replay-pause", "replay-go-on", "replay-pace"),
    *("replay-change", "replay-cancel", "replay-discard", "export-replay"),
)


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
    replay: int | None = None  # the key of the plan that they are about


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
    return [_exceptional(told) for told in entry.exceptions]


def find(filters: Filters, *, older: str = "", newer: str = "", size: int = PAGE_SIZE) -> Page:
    """A page of entries, newest first, without an offset: its cost does not grow with the log. BadInput: odd cursor."""
    found = _matching(filters)
    if newer:
        entries = list(found.filter(pk__gt=_cursor(newer)).order_by("pk")[: size + 1])
        more = len(entries) > size
        entries = entries[:size][::-1]
        return Page(entries, _end(entries, -1), _end(entries, 0) if more else "")
    if older:
        found = found.filter(pk__lt=_cursor(older))
    entries = list(found.order_by("-pk")[: size + 1])
    more = len(entries) > size
    entries = entries[:size]
    return Page(entries, _end(entries, -1) if more else "", _end(entries, 0) if older else "")


def each(filters: Filters) -> Iterator[AuditEntry]:
    """All entries, newest first, in queries of 500 each: for exports of any length."""
    found = _matching(filters).order_by("-pk")
    chunk = list(found[:EXPORT_CHUNK])
    while chunk:
        yield from chunk
        chunk = list(found.filter(pk__lt=chunk[-1].pk)[:EXPORT_CHUNK])


def _matching(filters: Filters) -> QuerySet[AuditEntry]:
    exact = {name: getattr(filters, name) for name in ("who", "action", "source", "queue", "status")}
    found = AuditEntry.objects.select_related("group").filter(**{name: value for name, value in exact.items() if value})
    if filters.since:
        found = found.filter(at__gte=filters.since)
    if filters.until:
        found = found.filter(at__lt=filters.until)
    if filters.replay is not None:
        found = found.filter(action__in=ABOUT_REPLAYS, parameters__replay=filters.replay)  # by the index of actions
    return found


def _cursor(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise BadInput(_("This link into the log cannot be read."))
    return int(text)


def _end(entries: Sequence[AuditEntry], at: int) -> str:
    return str(entries[at].pk) if entries else ""


def _exceptional(told: Mapping[str, Any]) -> Exceptional:
    return Exceptional(
        slug=told["job"],
        outcome=Outcome(told["outcome"]),
        state=State(told["state"]) if told.get("state") else None,
        lock_ms=told.get("lock_ms"),
        why=told.get("why", ""),
        by=told.get("by", ""),
        at=datetime.fromisoformat(told["at"]) if told.get("at") else None,
    )
