"""Plans that were started, as a runner leaves them in the database: for pages, which need no worker."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from queues.models import FailureGroup, Replay, ReplayJob, ReplayLine, ReplayQueue, ReplaySpan
from queues.quantities import now_ms
from queues.replay.naming import job_text
from queues.replay.spans import SPAN_MS
from queues.replay.terms import Terms
from queues.replay.types import Acts, Phase, Place, Told
from queues.sendings import Fate
from queues.types import QueueRef
from tests.queues.replaying import a_plan, a_queue

PAYMENTS = QueueRef("main", b"bull", b"payments")
TERMS = Terms(pace_from=5, pace_to=20, double_s=30, canary=25, canary_failed=2, age_max_s=300, stop_percent=10)


def started(phase: Phase = Phase.RUNNING, *, ago_s: int = 131, terms: Terms = TERMS, **values: Any) -> Replay:
    """A plan of 2,118 jobs that was started two minutes ago, with its canary passed; `values` say otherwise."""
    at = timezone.now() - timedelta(seconds=ago_s)
    told = {
        "total": 2_118,
        "left_out": 23,
        "sent": 1_205,
        "completed": 1_176,
        "failed": 9,
        "running": 12,
        "to_send": 890,
        "started_by": "olga",
        "started_at": at,
        "rest_at": at + timedelta(seconds=32),
        **({"ended_at": timezone.now()} if phase in (Phase.DONE, Phase.CANCELLED) else {}),
    }
    return a_plan(phase, (), ref=PAYMENTS, terms=terms, **{**told, **values})


def tell(replay: Replay, kind: Told, ago_s: float = 0, who: str = "", **facts: object) -> ReplayLine:
    """A line of its feed, written so long ago."""
    line = ReplayLine.objects.create(replay=replay, kind=kind, who=who, facts=facts)
    ReplayLine.objects.filter(pk=line.pk).update(at=timezone.now() - timedelta(seconds=ago_s))
    return line


def story(replay: Replay) -> None:
    """What its feed tells of a plan that was started two minutes ago and climbs."""
    tell(replay, Told.FROZEN, 260, number=2_118)
    tell(replay, Told.ARMED, 141, "olga", number=2_095)
    tell(replay, Told.STARTED, 131, number=2_095)
    tell(replay, Told.CANARY_SENT, 125, number=25)
    tell(replay, Told.CANARY_PASSED, 99, ended=25, failed=1, limit=2)
    tell(replay, Told.CLIMBED, 69, pace=10.0)
    tell(replay, Told.CLIMBED, 39, pace=20.0)


def spans(replay: Replay, sent: Sequence[int], failed: Sequence[int] = ()) -> None:
    """What was sent in each five seconds up to now, the last one last."""
    upto = now_ms() // SPAN_MS
    ReplaySpan.objects.bulk_create(
        ReplaySpan(
            replay=replay,
            span=upto - len(sent) + 1 + at,
            sent=count,
            completed=count,
            failed=failed[at] if at < len(failed) else 0,
        )
        for at, count in enumerate(sent)
    )


def target(replay: Replay, ref: QueueRef = PAYMENTS, **values: Any) -> ReplayQueue:
    """A queue that its jobs go to, as it was just read."""
    told = {"backlog": 204, "oldest_ms": now_ms() - 161_000, "workers": 4, "seen_at": timezone.now(), **values}
    return ReplayQueue.objects.create(replay=replay, queue=a_queue(ref), **told)


def row(
    replay: Replay,
    job: bytes,
    fate: Fate = Fate.NONE,
    *,
    group: FailureGroup | None = None,
    again: FailureGroup | None = None,
    ref: QueueRef = PAYMENTS,
    **values: Any,
) -> ReplayJob:
    """A job of the plan that was sent and came to this; `values` are those of the row."""
    ended = {"ended_ms": now_ms() - 48_000} if fate else {}
    told = {"place": Place.SENT, "acts": Acts.RETRY, "name": "charge", "sent_ms": now_ms() - 60_000, **ended, **values}
    queue = a_queue(ref)
    named = {"replay": replay, "queue": queue, "target": queue, "job": job_text(job), "seen": "1000"}
    return ReplayJob.objects.create(**{**named, "fate": fate, "group": group, "again": again, **told})
