"""The ledger of a plan as a page: what a query string asks of it, and its rows with how they stand now."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from dashboard.failures.query import typed
from dashboard.replays import words
from dashboard.replays.reasons import reason
from dashboard.words import shown
from queues import masking
from queues.errors import QueueError
from queues.models import Replay
from queues.names import show_controls
from queues.registry import actions, backend
from queues.replay.ledger import Filters, Row, page
from queues.replay.terms import Terms
from queues.replay.types import ENDS, Place
from queues.sendings import Conflict, Fate, Replays, Standing
from queues.types import Capability, JobRef, QueueRef

PLACES = (Place.SENT, Place.READY, Place.HELD, Place.LEFT_OUT, Place.REFUSED, Place.BACK)
FATES = (Fate.COMPLETED, Fate.FAILED, Fate.GONE, Fate.UNKNOWN, Fate.NONE)
_DIGEST = re.compile(rb"~\.[0-9a-f]{64}")  # stands for an id that is too long to be kept
UNHINDERED = "none"  # `conflict` of what nothing was in the way of: the same
UNDER_WAY = "under-way"  # `fate` of what has not ended: in the query string nothing means all
GOING = frozenset({UNDER_WAY, *(fate.value for fate in Fate if fate not in ENDS)})  # ordered by when they were sent
TONES: Mapping[Fate, tuple[str, str]] = {
    Fate.NONE: ("waiting", "waiting"),
    Fate.WAITING: ("waiting", "waiting"),
    Fate.RUNNING: ("active", "active"),
    Fate.RETRYING: ("delayed", "delayed"),
    Fate.COMPLETED: ("completed", "completed"),
    Fate.FAILED: ("failed", "failed"),
    Fate.GONE: ("paused", "gone"),
    Fate.UNKNOWN: ("unknown", "unknown"),
}
PLACE_TONES: Mapping[Place, tuple[str, str]] = {
    Place.READY: ("unknown", "waiting"),
    Place.HELD: ("unknown", "waiting"),
    Place.LEFT_OUT: ("paused", "gone"),
    Place.REFUSED: ("warn", "warn"),
    Place.BACK: ("paused", "back"),
}


class LedgerQuery:
    """Which rows, and from where on. What is none of the choices means all."""

    def __init__(self, params: QueryDict) -> None:
        self.place = _one_of(params.get("place", ""), list(Place))
        self.fate = _one_of(params.get("fate", ""), [UNDER_WAY, *(fate for fate in Fate if fate)])
        self.conflict = _one_of(params.get("conflict", ""), [UNHINDERED, *(found for found in Conflict if found)])
        self.queue = typed(params, "queue", 2_000).strip()
        self.group = typed(params, "group", 40).strip()
        self.text = typed(params, "text", 200).strip()
        self.canary = params.get("canary", "") == "1"
        self.like = _key(params.get("like", ""))
        self.later, self.earlier = params.get("later", ""), params.get("earlier", "")

    @property
    def filters(self) -> Filters:
        return Filters(
            place=Place(self.place) if self.place else None,
            fate=(Fate.NONE if self.fate == UNDER_WAY else Fate(self.fate)) if self.fate else None,
            conflict=Conflict(self.conflict.replace(UNHINDERED, "")) if self.conflict else None,
            queue=self.queue,
            group=self.group,
            text=self.text,
            canary=self.canary,
            like=self.like,
        )

    @property
    def as_parameters(self) -> dict[str, str]:
        """The filters that are set."""
        told: dict[str, object] = {
            name: getattr(self, name) for name in ("place", "fate", "conflict", "queue", "group", "text")
        }
        told |= {"canary": "1" if self.canary else "", "like": self.like}
        return {name: str(value) for name, value in told.items() if value}

    @property
    def filtered(self) -> bool:
        return bool(self.as_parameters)

    @property
    def order_words(self) -> str:
        """In which order the rows stand, as part of a sentence."""
        if not self.fate:
            return _("in the order of the plan")
        return (
            _("those that were sent first come first") if self.fate in GOING else _("the last that ended comes first")
        )

    @property
    def beside(self) -> tuple[str, str]:
        """What the pages before and behind one hold."""
        if self.fate and self.fate not in GOING:
            return _("Ended later"), _("Ended earlier")
        return _("Sent earlier"), _("Sent later")

    @property
    def only_failed_again(self) -> bool:
        """Whether it asks for what failed again, and for all of that."""
        return self.as_parameters == {"fate": Fate.FAILED.value}

    @property
    def query_string(self) -> str:
        """The same, for the exports."""
        return f"?{urlencode(self.as_parameters)}" if self.filtered else ""

    @property
    def places(self) -> Sequence[tuple[str, str]]:
        return [(place.value, words.place(place)) for place in PLACES]

    @property
    def fates(self) -> Sequence[tuple[str, Promise | str]]:
        return [(fate.value or UNDER_WAY, words.fate(fate) if fate else _("has not ended")) for fate in FATES]

    @property
    def conflicts(self) -> Sequence[tuple[str, str]]:
        return [(found.value or UNHINDERED, words.conflict(found)) for found in Conflict]


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the page. `now` is how the job stands as the server has just said, None where it was not asked."""

    row: Row
    terms: Terms
    now: Standing | None = None

    @property
    def fate(self) -> Fate:
        """What became of it: of one that has not ended as it stands now, else as it is kept."""
        if self.row.ended_ms is not None or self.now is None:
            return self.row.fate if self.row.ended_ms is not None or self.row.fate not in ENDS else Fate.NONE
        return Fate.NONE if self.now.fate is Fate.GONE else self.now.fate

    @property
    def standing(self) -> tuple[str, str, str]:
        """The colour, the glyph and the word of it."""
        if self.row.place is Place.SENT:
            return *TONES[self.fate], words.fate(self.fate)
        return *PLACE_TONES[self.row.place], words.place(self.row.place)

    @property
    def why(self) -> str:
        """Why it was not sent, or what was in its way."""
        said = reason(self.row, self.terms)
        note = shown(self.row.note, 160) if self.row.conflict is not Conflict.NONE else ""
        return show_controls(f"{said}: {note}" if note else said, keep="")

    @property
    def before(self) -> str:
        """What the error is that stands there where it is that of before the replay."""
        if self.row.place is Place.SENT and self.fate is Fate.FAILED:
            return _("had failed with it before; the error now is not known")
        return _("had failed with it before")

    @property
    def name(self) -> str:
        with masking.within(self.row.job.queue):
            return shown(self.row.name, 80)

    @property
    def url(self) -> str:
        """Where its job is, "" where its id is not known in full."""
        return _url(self.row.job) if is_exact(self.row.job) else ""

    @property
    def made_url(self) -> str:
        return _url(self.row.made) if self.row.made else ""

    @property
    def copied(self) -> bool:
        """Whether it was sent as another job than itself."""
        return self.row.made is not None and self.row.made != self.row.job


@dataclass(frozen=True, slots=True)
class Ledger:
    """A page of the ledger. `unread` says why rows that have not ended stand as they were last seen."""

    lines: Sequence[Line]
    later: str
    earlier: str
    unread: str = ""


def ledger(replay: Replay, query: LedgerQuery) -> Ledger:
    """One read a target queue for the rows that have not ended; where that fails they stand as they are kept."""
    found = page(replay, query.filters, later=query.later, earlier=query.earlier)
    unread = ""
    now: Mapping[JobRef, Standing] = {}
    try:
        now = standings(replay.source.name, found.rows)
    except QueueError as error:
        unread = str(error)
    terms = Terms.of(replay.terms)
    lines = [Line(row, terms, now.get(row.made) if row.made else None) for row in found.rows]
    return Ledger(lines, found.later, found.earlier, unread)


def standings(source: str, rows: Sequence[Row]) -> Mapping[JobRef, Standing]:
    """How those of some rows stand now that were sent and have not ended."""
    by_queue: defaultdict[QueueRef, list[JobRef]] = defaultdict(list)
    for row in rows:
        if row.place is Place.SENT and row.ended_ms is None and row.made and is_exact(row.made):
            by_queue[row.made.queue].append(row.made)
    if not by_queue:
        return {}
    if Capability.REPLAYS not in backend(source).capabilities:
        return {}
    reader = cast(Replays, actions(source))
    told: dict[JobRef, Standing] = {}
    for queue, jobs in by_queue.items():
        found = reader.standings(queue, [job.id for job in jobs])
        told |= dict(zip(jobs, found, strict=True))
    return told


def is_exact(job: JobRef) -> bool:
    """Whether its id is known in full; else it is a digest, by which no server knows it."""
    return not _DIGEST.fullmatch(job.id)


def _url(job: JobRef) -> str:
    return reverse("job", args=[job.queue.source, job.queue.slug, job.slug])


def _one_of(value: str, allowed: Sequence[str]) -> str:
    return value if value in allowed else ""


def _key(value: str) -> int | None:
    """A row that a link names; None where it names none."""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None
