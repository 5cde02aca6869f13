"""Other plans: those that are to send the same job, and those that have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from django.db.models import QuerySet

from queues.models import Replay, ReplayJob
from queues.replay.freezing.items import Item, by_queue
from queues.replay.freezing.letters import LetterTold
from queues.replay.naming import job_text
from queues.replay.terms import Terms
from queues.replay.types import ENDED, Choice, Phase, Place
from queues.sendings import Conflict

_UNSENT = (Place.READY.value, Place.HELD.value)
# Nothing says yet that their jobs will be sent: somebody has to start them.
_IDLE = (Phase.FREEZING.value, Phase.DRAFT.value)
_NOT_ORDERED = (Phase.WAITING.value, Phase.ARMED.value)  # rows that conflicts leave out are called ready still
_ROW = ("replay_id", "job", "seen", "place", "conflict", "sent_ms", "ended_ms", "acts")


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of another plan."""

    replay: int
    job: str
    seen: str
    place: str
    conflict: str
    sent_ms: int | None
    ended_ms: int | None
    acts: str

    @property
    def sent(self) -> bool:
        return self.place == Place.SENT.value


@dataclass
class Others:
    """The plans beside one, as they stand while a batch is looked at."""

    replay: Replay
    _live: Mapping[int, tuple[str, Terms]] = field(init=False)

    def __post_init__(self) -> None:
        plans = Replay.objects.filter(source=self.replay.source_id).exclude(pk=self.replay.pk)
        plans = plans.exclude(phase__in=[*ENDED, *_IDLE])
        self._live = {pk: (phase, Terms.of(terms)) for pk, phase, terms in plans.values_list("pk", "phase", "terms")}

    def blame(self, items: Sequence[Item], letters: Mapping[int, LetterTold]) -> None:
        """Keep what other plans are to do, or have done, with these jobs. A few queries for each queue."""
        if not self._any:
            return
        for queue, part in by_queue(items).items():
            rows = self._rows(ReplayJob.objects.filter(queue=queue, job__in=[item.job for item in part]))
            for item in part:
                self._judge(item, [row for row in rows.get(item.job, ()) if row.seen == item.seen], since_ms=None)
        told = [item for item in items if item.pk in letters]
        self._of_letters(told, letters)

    @cached_property
    def _any(self) -> bool:
        """Whether there is another plan with anything in it: mostly there is none."""
        return bool(self._live) or Replay.objects.filter(source=self.replay.source_id, sent__gt=0).exists()

    def _of_letters(self, items: Sequence[Item], letters: Mapping[int, LetterTold]) -> None:
        """Other letters of the same jobs, and the jobs themselves, as far as they were sent after these were posted."""
        if not items:
            return
        alike: dict[int, list[_Row]] = {}
        found = ReplayJob.objects.filter(same__in=list({item.same for item in items}))
        for same, *values in self._among(found).values_list("same", *_ROW):
            alike.setdefault(same, []).append(_Row(*values))
        by_origin: dict[int, list[Item]] = {}
        for item in items:
            by_origin.setdefault(letters[item.pk].queue, []).append(item)
        for origin, part in by_origin.items():
            jobs = {item.pk: job_text(letters[item.pk].job) for item in part}
            rows = self._rows(ReplayJob.objects.filter(queue=origin, job__in=list(jobs.values())))
            for item in part:
                known = [*rows.get(jobs[item.pk], ()), *alike.get(item.same or 0, ())]
                self._judge(item, known, since_ms=letters[item.pk].posted_ms or 0)

    def _judge(self, item: Item, rows: Iterable[_Row], *, since_ms: int | None) -> None:
        """What these rows are about is the same job; with `since_ms`, as far as it was sent after that.

        Without, it is the same stay: a copy of it was sent, and it was kept.
        """
        for row in rows:
            name = f"R-{row.replay}"
            if row.replay in self._live and self._to_come(row):
                item.blame(Conflict.OTHER_PLAN, name)
            elif row.sent and (since_ms is None or (row.sent_ms or 0) >= since_ms):
                item.blame(Conflict.SENT_BEFORE, name)

    def _to_come(self, row: _Row) -> bool:
        """Whether a plan that goes on is to send it, or has and does not know what became of it."""
        if row.sent:
            return row.ended_ms is None
        phase, terms = self._live[row.replay]
        if row.place not in _UNSENT:
            return False
        return phase not in _NOT_ORDERED or terms.choice(Conflict(row.conflict)) is Choice.SEND

    def _rows(self, found: QuerySet[ReplayJob]) -> Mapping[str, Sequence[_Row]]:
        """Those of other plans, by their jobs."""
        by_job: dict[str, list[_Row]] = {}
        for values in self._among(found).values_list(*_ROW):
            by_job.setdefault(values[1], []).append(_Row(*values))
        return by_job

    def _among(self, found: QuerySet[ReplayJob]) -> QuerySet[ReplayJob]:
        """Those that matter: of plans that go on, or sent. The newest plans speak first."""
        others = found.exclude(replay=self.replay.pk)
        matter = others.filter(place=Place.SENT.value) | others.filter(replay__in=list(self._live))
        return matter.order_by("-replay_id", "pk")
