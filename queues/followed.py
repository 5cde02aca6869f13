"""What the follower has written down, as pages read it: how each source stands, and how far each queue was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from django.db.models import QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from queues.history import MINUTE_MS, MINUTES, History, load
from queues.live import Pulse, Standing
from queues.models import Following, Stream
from queues.quantities import now_ms
from queues.types import QueueRef

SILENT = timedelta(seconds=8)  # the follower gives a sign of life every two seconds
COVERS = timedelta(seconds=20)  # and stores everything every ten


class Stored(Mapping[str, History]):
    """Histories by slug, read from their text when they are asked for: most pages look at a few of a thousand."""

    def __init__(self, texts: Mapping[str, str], lost: range) -> None:
        self._texts = texts
        self._lost = lost

    def __getitem__(self, slug: str) -> History:
        found = _load(self._texts[slug])
        if found is None:
            raise KeyError(slug)
        return History(found.known_from, found.counts, found.lost | set(self._lost))

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


@dataclass(frozen=True, slots=True)
class Histories:
    """What is known of the queues of a source. `upto` is the last whole minute that a page should draw."""

    upto: int
    by_slug: Mapping[str, History]


def standings(names: Sequence[str]) -> Mapping[str, Standing]:
    """How the view of each source stands, by its name. One query.

    A source that nobody follows, or whose follower gave no sign for eight seconds, is blind.
    """
    rows = _following(names)
    return {name: _standing(rows.get(name)) for name in names}


@dataclass(frozen=True, slots=True)
class Followed:
    """How following a source goes, for the system page. `lost` counts events of all its queues, ever."""

    standing: Standing
    holder: str = ""
    streams: int = 0
    strange: int = 0
    read: int = 0
    lost: int = 0


def details(names: Sequence[str]) -> Mapping[str, Followed]:
    """The same as `standings`, and what was read and lost. Two queries."""
    rows = _following(names)
    sums = Stream.objects.filter(queue__source__name__in=names).values_list("queue__source__name")
    totals = {name: (read, lost) for name, read, lost in sums.annotate(Sum("read"), Sum("lost"))}
    found = {}
    for name in names:
        row, (read, lost) = rows.get(name), totals.get(name, (0, 0))
        about = (row.holder, row.streams, row.strange) if row else ("", 0, 0)
        found[name] = Followed(_standing(row), *about, read, lost)
    return found


def histories(source: str) -> Histories:
    """The last hour of all queues of a source. Two queries.

    Where the follower is behind or away, the minutes that it did not see are marked as lost.
    """
    upto, unseen = _covered(source)
    found = Stream.objects.filter(queue__source__name=source).values_list("queue__slug", "history")
    return Histories(upto, Stored(dict(found), unseen))


def history(ref: QueueRef) -> tuple[History | None, int]:
    """The last hour of one queue, None while nobody has followed it, and the last whole minute. Two queries."""
    upto, unseen = _covered(ref.source)
    found = _stream(ref).values_list("queue__slug", "history")
    return Stored(dict(found), unseen).get(ref.slug), upto


def last_id(ref: QueueRef) -> str:
    """The id of the last event of a queue that was read; "" while nobody follows it. One query."""
    return _stream(ref).values_list("last_id", flat=True).first() or ""


def _following(names: Sequence[str]) -> Mapping[str, Following]:
    """Rows by the names of their sources."""
    rows = Following.objects.filter(source__name__in=names).select_related("source")
    return {row.source.name: row for row in rows}


def _stream(ref: QueueRef) -> QuerySet[Stream]:
    return Stream.objects.filter(queue__source__name=ref.source, queue__slug=ref.slug)


def _covered(source: str) -> tuple[int, range]:
    """The last whole minute that a page should draw, and the minutes of the hour up to it that nobody has seen."""
    covered_ms = Following.objects.filter(source__name=source).values_list("covered_ms", flat=True).first() or 0
    now = now_ms()
    covered = covered_ms // MINUTE_MS - 1
    # Up to date, the clock of the follower's server rules: else the newest minute would flicker at its turn.
    upto = covered if now - covered_ms < COVERS.total_seconds() * 1000 else int(now) // MINUTE_MS - 1
    return upto, range(max(covered, upto - MINUTES) + 1, upto + 1)


@lru_cache(maxsize=1_200)
def _load(text: str) -> History | None:
    """Shared between readers: nobody may change what it gives."""
    return load(text)


def _standing(row: Following | None) -> Standing:
    if row is None or row.beat_at is None:
        return Standing(Pulse.BLIND, int(now_ms()), why=_("Nobody follows its events yet."))
    at_ms = int(row.beat_at.timestamp() * 1000)
    if row.beat_at < timezone.now() - SILENT:
        return Standing(Pulse.BLIND, at_ms, at_ms, _("The follower gives no sign of life."))
    since_ms = int(row.since.timestamp() * 1000) if row.since else None
    # A follower that has just taken the lease has said nothing yet.
    return Standing(Pulse(row.pulse or Pulse.CATCHING_UP), at_ms, since_ms, row.why, row.events_per_s, row.behind_ms)
