"""What a plan came to, summed up for the page and exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, Max, Q, QuerySet
from django.db.models.functions import Coalesce

from queues.models import FailureGroup, Replay, ReplayJob, ReplayLine, ReplayQueue
from queues.replay.forgetting import FORGOTTEN
from queues.replay.originals import REMOVED
from queues.replay.types import Acts, Phase, Place, Stop, Told
from queues.replay.watching.explaining import Explaining
from queues.sendings import Conflict, Fate

LINES = 200  # of the feed that are told
NOTES = 20  # reasons of a server that are told apart
# Jobs that are left out for these have been seen to by somebody else.
SETTLED = frozenset({Conflict.LEFT, Conflict.GONE, Conflict.SENT_BEFORE})


@dataclass(frozen=True, slots=True)
class FailedAgain:
    """Jobs that failed again into one group. `slug` is "" while the index has not read them.

    `same` failed with the error that they had before; `last_ms` is when the last of them failed.
    """

    slug: str
    title: str
    number: int
    same: int
    last_ms: int | None

    @property
    def new(self) -> int:
        """How many failed with another error than before."""
        return self.number - self.same


@dataclass(frozen=True, slots=True)
class Refusal:
    """Jobs that were not sent for one reason; `note` is what the server said, for `Conflict.REFUSED`.

    NONE: nothing but the class of their failure, which was left out by choice.
    """

    conflict: Conflict
    number: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the plan's feed."""

    at: datetime
    kind: Told | str
    who: str
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Report:
    """Numbers are of jobs. `sent` are those that stay sent: what was taken back is in `back`.

    `gone` were removed before they ended, what became of `unknown` nobody can tell; `under_way` have not ended. So many
    originals of copies, and letters of jobs that were sent, were `removed` or `kept`. Durations are seconds: from the
    first job about to be sent to the last one sent, and to the end; None while that is not known. `pace` is jobs a
    second while there was something to send. `events_lost` events at least were trimmed before they were read. Of one
    that is `forgotten` the rows are deleted by now: only sums are known. `clean`: all that there was to bring back has
    completed.
    """

    total: int
    left_out: int
    refused: int
    back: int
    to_send: int
    sent: int
    completed: int
    failed: int
    gone: int
    unknown: int
    under_way: int
    running: int
    retrying: int
    not_sent: int
    taken_back: int
    removed: int
    kept: int
    left_out_by: Sequence[Refusal]
    refused_by: Sequence[Refusal]
    failed_again: Sequence[FailedAgain]
    sending_s: float | None
    lasted_s: float | None
    pace: float | None
    events_lost: int
    why: Stop
    lines: Sequence[Line]
    forgotten: bool
    clean: bool


def report(replay: Replay) -> Report:
    """The report. About a dozen queries over the rows of the plan: some 100 ms at 100,000 of them.

    First what the index of failures has learnt since is written down, of at most 2,000 rows.
    """
    explain(replay)
    gone = _placed(replay, Place.SENT).filter(fate=Fate.GONE, ended_ms__isnull=False).count()
    taken_back = _placed(replay, Place.BACK).filter(sent_ms__isnull=False).count()
    originals = _originals(replay)
    lines, events_lost = _lines(replay), _events_lost(replay)
    sending_s = _between(replay.started_at, replay.sent_at or replay.ended_at)
    left_out_by, refused_by = _by_conflict(replay, Place.LEFT_OUT), _by_conflict(replay, Place.REFUSED)
    return Report(
        total=replay.total,
        left_out=replay.left_out,
        refused=replay.refused,
        back=replay.back,
        to_send=replay.to_send,
        sent=replay.sent,
        completed=replay.completed,
        failed=replay.failed,
        gone=gone,
        unknown=max(0, replay.other - gone),
        under_way=max(0, replay.sent - replay.completed - replay.failed - replay.other),
        running=replay.running,
        retrying=replay.retrying,
        not_sent=max(0, replay.back - taken_back),
        taken_back=taken_back,
        removed=originals.get(REMOVED, 0),
        kept=sum(originals.values()) - originals.get(REMOVED, 0),
        left_out_by=left_out_by,
        refused_by=refused_by,
        failed_again=failed_again(replay),
        sending_s=sending_s,
        lasted_s=_between(replay.started_at, replay.ended_at),
        pace=replay.sent / sending_s if sending_s and replay.sent else None,
        events_lost=events_lost,
        why=Stop(replay.why) if replay.why in set(Stop) else Stop.NONE,
        lines=lines,
        forgotten=replay.step == FORGOTTEN,
        clean=_is_clean(replay, left_out_by),
    )


def explain(replay: Replay) -> None:
    """Write down what the index of failures has learnt of jobs that failed again, of at most 2,000 rows."""
    Explaining(replay).step()


def failed_again(replay: Replay) -> Sequence[FailedAgain]:
    """Jobs that failed again by the groups that they failed into, the most first. Two queries."""
    again = Coalesce("again__merged_into", "again")
    before = Coalesce("group__merged_into", "group")
    rows = _placed(replay, Place.SENT).filter(fate=Fate.FAILED, ended_ms__isnull=False).order_by()
    counted = rows.annotate(into=again, out_of=before).values("into")
    sums = counted.annotate(
        number=Count("pk"), same=Count("pk", filter=Q(into=F("out_of"))), last_ms=Max("ended_ms")
    ).values_list("into", "number", "same", "last_ms")
    found = list(sums)
    groups = FailureGroup.objects.in_bulk([into for into, *_sums in found if into is not None])
    told = [_failed(groups.get(into), number, same, last_ms) for into, number, same, last_ms in found]
    return sorted(told, key=lambda each: (-each.number, each.slug))


def _failed(group: FailureGroup | None, number: int, same: int, last_ms: int | None) -> FailedAgain:
    if group is None:
        return FailedAgain("", "", number, 0, last_ms)
    return FailedAgain(group.slug, group.title, number, same, last_ms)


def _placed(replay: Replay, place: Place) -> QuerySet[ReplayJob]:
    return ReplayJob.objects.filter(replay=replay.pk, place=place)


def _originals(replay: Replay) -> Mapping[str, int]:
    """What became of the originals of copies that stay sent, and of letters beside those that were sent in place."""
    rows = _placed(replay, Place.SENT).filter(Q(acts=Acts.COPY) | ~Q(letter="")).order_by()
    return dict(rows.values_list("original").annotate(number=Count("pk")))


def _by_conflict(replay: Replay, place: Place) -> Sequence[Refusal]:
    """Why jobs were not sent, the most first; what the server said is told apart for those that it refused."""
    rows = _placed(replay, place).order_by()
    noted = rows.filter(conflict=Conflict.REFUSED).values_list("conflict", "note").annotate(number=Count("pk"))
    plain = rows.exclude(conflict=Conflict.REFUSED).values_list("conflict").annotate(number=Count("pk"))
    found = [Refusal(_conflict(word), number) for word, number in plain]
    found += [Refusal(_conflict(word), number, note) for word, note, number in noted.order_by("-number")[:NOTES]]
    return sorted(found, key=lambda each: (-each.number, each.conflict, each.note))


def _conflict(word: str) -> Conflict:
    return Conflict(word) if word in set(Conflict) else Conflict.REFUSED


def _lines(replay: Replay) -> Sequence[Line]:
    """The feed, oldest first: of a long one its newest lines."""
    rows = ReplayLine.objects.filter(replay=replay.pk).order_by("-pk")[:LINES]
    return [Line(row.at, Told(row.kind) if row.kind in set(Told) else row.kind, row.who, row.facts) for row in rows][
        ::-1
    ]


def _events_lost(replay: Replay) -> int:
    """How many at least: where a server does not count them, one for each loss."""
    return sum(ReplayQueue.objects.filter(replay=replay.pk).values_list("lost", flat=True))


def _between(begin: datetime | None, end: datetime | None) -> float | None:
    return None if begin is None or end is None else max(0.0, (end - begin).total_seconds())


def _is_clean(replay: Replay, left_out_by: Sequence[Refusal]) -> bool:
    """Whether all that there was to bring back has completed."""
    stays = [each for each in left_out_by if each.conflict not in SETTLED]
    all_completed = 0 < replay.sent == replay.completed
    return replay.phase == Phase.DONE and all_completed and not stays and not replay.refused
