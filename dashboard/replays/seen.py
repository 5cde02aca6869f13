"""Plans as they were read at one moment, with all that their pages tell: for a first render and for pushes alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from queues.models import Replay, ReplayLine, ReplayQueue, ReplaySpan
from queues.replay.report import FailedAgain, failed_again
from queues.replay.spans import SPAN_MS
from queues.replay.terms import Terms
from queues.replay.types import ENDED, Phase
from queues.replay.watching.asking import Canary, canary_standing

LINES = 40  # of the feed that a page shows
LATELY_MS = 10_000  # over which the pace is measured

OfPlan = TypeVar("OfPlan", ReplayQueue, ReplayLine)


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

    Without `recount` what failed again stays as it was. Three queries, however many plans there are; and for each one
    for its feed where it is new here, one while its canary is awaited, and two where some failed again.
    """
    known = before or {}
    keys = [replay.pk for replay in replays]
    targets, lately = _targets(keys), _lately(keys, now_ms)
    lines = _lines(keys, known)
    return {
        replay.pk: Seen(
            replay,
            now_ms,
            targets.get(replay.pk, ()),
            lines.get(replay.pk, ()),
            lately.get(replay.pk, {}),
            _again(replay, known.get(replay.pk), recount=recount),
            canary_standing(replay) if _awaits_canary(replay) else None,
        )
        for replay in replays
    }


def _again(replay: Replay, before: Seen | None, *, recount: bool) -> Sequence[FailedAgain]:
    if before is not None and (not recount or not _counts_anew(replay, before)):
        return before.again
    return failed_again(replay) if replay.failed else ()


def _counts_anew(replay: Replay, before: Seen) -> bool:
    """Whether other jobs failed again than were counted, or the index had not read all of them by then."""
    return sum(each.number for each in before.again if each.slug) != replay.failed


def _awaits_canary(replay: Replay) -> bool:
    """Whether its canary was sent, or is being sent, and the climb has not begun, or never did."""
    begun = replay.started_at is not None and replay.rest_at is None
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


def _by_plan(found: Iterable[OfPlan]) -> Mapping[int, Sequence[OfPlan]]:
    made: defaultdict[int, list[OfPlan]] = defaultdict(list)
    for each in found:
        made[each.replay_id].append(each)
    return made
