"""Plans as they were read at one moment, with all that their pages tell: for a first render and for pushes alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Count, F, Max, Q

from queues.models import Replay, ReplayJob, ReplayLine, ReplayQueue, ReplaySpan
from queues.replay.report import FailedAgain
from queues.replay.terms import Terms
from queues.replay.types import ENDED, ENDS, Phase, Place
from queues.sendings import Fate

LINES = 40  # of the feed that a page shows
SPAN_MS = 5_000
LATELY_MS = 10_000  # over which the pace is measured

OfPlan = TypeVar("OfPlan", ReplayQueue, ReplayLine)


@dataclass(frozen=True, slots=True)
class Canary:
    """How the canary does while it is awaited. `early` had an attempt fail and have not ended."""

    sent: int = 0
    ended: int = 0
    failed: int = 0
    early: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """A plan at `now_ms`, by our clock. `lines` are the newest first; `lately` is what was sent, by span."""

    replay: Replay
    now_ms: int
    targets: Sequence[ReplayQueue] = ()
    lines: Sequence[ReplayLine] = ()
    lately: Mapping[int, int] | None = None
    again: Sequence[FailedAgain] = ()
    canary: Canary | None = None  # None: it is not awaited now

    @property
    def phase(self) -> Phase:
        return Phase(self.replay.phase)

    @property
    def terms(self) -> Terms:
        return Terms.of(self.replay.terms)

    @property
    def ended(self) -> bool:
        return self.phase in ENDED

    @property
    def settled(self) -> int:
        """Jobs that completed or failed again."""
        return self.replay.completed + self.replay.failed

    @property
    def under_way(self) -> int:
        """Jobs that were sent and have not ended as far as is known."""
        replay = self.replay
        return max(0, replay.sent - replay.completed - replay.failed - replay.other)

    @property
    def of(self) -> int:
        """Jobs that the plan is to send, has sent, or could not send."""
        replay = self.replay
        return replay.sent + replay.to_send + replay.refused + replay.back


def see(replay: Replay, now_ms: int) -> Seen:
    """A plan for its page. Six queries at most, by rows only where some failed again."""
    return look([replay], now_ms)[replay.pk]


def look(
    replays: Sequence[Replay],
    now_ms: int,
    before: Mapping[int, Seen] | None = None,
    *,
    recount: bool = True,
) -> Mapping[int, Seen]:
    """Plans by their keys. With `before` what had been read of their feeds is not read again.

    Without `recount` what failed again stays as it was. At most five queries, however many plans there are, and one
    for the feed of each that is new here.
    """
    known = before or {}
    keys = [replay.pk for replay in replays]
    targets, lately = _targets(keys), _lately(keys, now_ms)
    lines = _lines(keys, known)
    again = _again([replay.pk for replay in replays if replay.failed] if recount else ())
    canaries = _canaries([replay.pk for replay in replays if awaits_canary(replay)])
    return {
        replay.pk: Seen(
            replay,
            now_ms,
            targets.get(replay.pk, ()),
            lines.get(replay.pk, ()),
            lately.get(replay.pk, {}),
            again.get(replay.pk, ()) if recount or replay.pk not in known else known[replay.pk].again,
            canaries.get(replay.pk, Canary()) if awaits_canary(replay) else None,
        )
        for replay in replays
    }


def awaits_canary(replay: Replay) -> bool:
    """Whether its canary was sent, or is being sent, and the climb has not begun."""
    begun = replay.started_at is not None and replay.rest_at is None and replay.phase not in ENDED
    return begun and Terms.of(replay.terms).canary > 0


def _targets(keys: Collection[int]) -> Mapping[int, Sequence[ReplayQueue]]:
    return _by_plan(ReplayQueue.objects.filter(replay__in=keys).select_related("queue__source").order_by("pk"))


def _lately(keys: Collection[int], now_ms: int) -> Mapping[int, Mapping[int, int]]:
    first = (now_ms - LATELY_MS) // SPAN_MS
    found = ReplaySpan.objects.filter(replay__in=keys, span__gte=first).values_list("replay", "span", "sent")
    made: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for pk, span, sent in found:
        made[pk][span] = sent
    return made


def _lines(keys: Collection[int], known: Mapping[int, Seen]) -> Mapping[int, Sequence[ReplayLine]]:
    """The newest lines of each, newest first."""
    had = {pk: known[pk].lines for pk in keys if pk in known and known[pk].lines}
    made = {pk: list(_newest(pk)) for pk in keys if pk not in had}
    if had:
        since = min(lines[0].pk for lines in had.values())
        fresh = _by_plan(ReplayLine.objects.filter(replay__in=had.keys(), pk__gt=since).order_by("-pk")[: 50 * LINES])
        for pk, lines in had.items():
            new = [line for line in fresh.get(pk, ()) if line.pk > lines[0].pk]
            made[pk] = [*new, *lines][:LINES]
    return made


def _newest(pk: int) -> Iterable[ReplayLine]:
    return ReplayLine.objects.filter(replay=pk).order_by("-pk")[:LINES]


def _again(keys: Collection[int]) -> Mapping[int, Sequence[FailedAgain]]:
    """What failed again by the group it failed into, most first. By the rows that did: 100 ms at 100,000."""
    if not keys:
        return {}
    failed = ReplayJob.objects.filter(replay__in=keys, place=Place.SENT, fate=Fate.FAILED)
    found = failed.values_list("replay", "again__slug", "again__title").annotate(
        n=Count("pk"), same=Count("pk", filter=Q(again=F("group"))), last=Max("ended_ms")
    )
    made: defaultdict[int, list[FailedAgain]] = defaultdict(list)
    for pk, slug, title, count, same, last in found.order_by("-n", "again__slug"):
        made[pk].append(FailedAgain(slug or "", title or "", count, same, last))
    return made


def _canaries(keys: Collection[int]) -> Mapping[int, Canary]:
    """By the rows that were sent: those of a canary that is awaited are few."""
    if not keys:
        return {}
    found = ReplayJob.objects.filter(replay__in=keys, place=Place.SENT, canary=True).values_list("replay")
    rows = found.annotate(
        n=Count("pk"),
        ended=Count("pk", filter=Q(fate__in=ENDS)),
        failed=Count("pk", filter=Q(fate=Fate.FAILED)),
        early=Count("pk", filter=Q(tries__gt=0) & ~Q(fate__in=ENDS)),
    )
    return {pk: Canary(sent, ended, failed, early) for pk, sent, ended, failed, early in rows.order_by()}


def _by_plan(found: Iterable[OfPlan]) -> Mapping[int, Sequence[OfPlan]]:
    made: defaultdict[int, list[OfPlan]] = defaultdict(list)
    for each in found:
        made[each.replay_id].append(each)
    return made
