"""What tests of replays share: plans in any phase, and the hands that a runner would hold them with."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import redis
from django.db import transaction
from django.utils import timezone

from queues.models import Queue, Replay, ReplayJob, Source
from queues.paths import MISSING
from queues.quantities import now_ms
from queues.registry import actions, backend
from queues.replay.freezing import Freezing
from queues.replay.hands import Reader, Sender
from queues.replay.naming import job_text, seen_text
from queues.replay.terms import Terms
from queues.replay.types import Acts, From, Phase, Place
from queues.types import QueueRef, State
from tests.queues.acting import OLGA, SHOP

__all__ = ["DEAD", "OLGA", "SHOP", "FakeHands", "Killed", "a_plan", "a_queue", "freeze", "hands", "letter", "rows"]

DEAD = QueueRef("main", b"bull", b"shop-dlq")

QUIET = Terms(canary=0, pace_from=None, pace_to=None, age_max_s=None, stop_percent=None, stop_idle=False)


def a_queue(ref: QueueRef = SHOP) -> Queue:
    """The row of a queue, made where it is missing."""
    source, _made = Source.objects.get_or_create(name=ref.source)
    return Queue.objects.get_or_create(source=source, slug=ref.slug)[0]


def a_plan(
    phase: Phase = Phase.DRAFT,
    jobs: Sequence[bytes] = (),
    *,
    ref: QueueRef = SHOP,
    target: QueueRef | None = None,
    terms: Terms = QUIET,
    acts: Acts = Acts.RETRY,
    state: State = State.FAILED,
    seen: bytes = b"1000",
    place: Place = Place.READY,
    **values: Any,
) -> Replay:
    """A plan of these jobs in a phase, as it stands in the database. No server, no runner."""
    queue = a_queue(ref)
    to = a_queue(target) if target else queue
    counts = {"total": len(jobs), "to_send": len(jobs)}
    looked = {} if phase is Phase.FREEZING else {"looked_at": timezone.now()}
    plan = Replay.objects.create(
        **{
            "token": secrets.token_hex(16),
            "source": queue.source,
            "title": ref.label,
            "made_from": {"kind": From.STATE, "queue": ref.slug, "state": state, "name": ""},
            "words": f"all {state} jobs of {ref.label}",
            "made_by": "olga",
            "terms": terms.kept(),
            "phase": phase,
            "frozen_ms": now_ms(),
            **looked,
            **counts,
            **values,
        }
    )
    ReplayJob.objects.bulk_create(
        ReplayJob(
            replay=plan,
            queue=queue,
            job=job_text(job),
            seen=seen_text(seen),
            state=state,
            acts=acts,
            target=to,
            name="mail",
            created_ms=1_000 + number,
            failed_ms=2_000 + number,
            place=place,
        )
        for number, job in enumerate(jobs)
    )
    return plan


def rows(plan: Replay) -> list[ReplayJob]:
    """The jobs of a plan in the order in which they are sent."""
    return list(plan.jobs.select_related("queue", "target", "letter_queue").order_by("rank", "pk"))


@dataclass
class FakeHands:
    """A run without a lease. `killed_at` raises `Killed` instead of that saving, counted from 0."""

    replay: Replay
    reader: Reader
    actions: Sender
    killed_at: int | None = None
    saved: list[dict[str, object]] = field(default_factory=list)

    @property
    def terms(self) -> Terms:
        return Terms.of(self.replay.terms)

    def alive(self) -> None:
        """Nobody waits for a sign of life."""

    @contextmanager
    def saving(self, **values: object) -> Iterator[None]:
        if self.killed_at == len(self.saved):
            raise Killed
        with transaction.atomic():
            Replay.objects.filter(pk=self.replay.pk).update(changed_at=timezone.now(), **values)
            yield
        self.saved.append(values)
        for name, value in values.items():
            setattr(self.replay, name, value)


class Killed(BaseException):
    """The process died before a transaction was committed."""


def hands(plan: Replay, **values: Any) -> FakeHands:
    """A run of a plan over its source as it is configured."""
    name = plan.source.name
    made = FakeHands(Replay.objects.get(pk=plan.pk), cast(Reader, backend(name)), cast(Sender, actions(name)))
    return replace(made, **values)


def freeze(plan: Replay, *, steps: int = 1_000, **values: Any) -> Replay:
    """Step after step until the plan is a draft; gives it as it is then."""
    run = hands(plan, **values)
    work = Freezing(run)
    while run.replay.phase == Phase.FREEZING:
        work.step()
        steps -= 1
        assert steps > 0, "it does not come to its end"
    return Replay.objects.select_related("source").get(pk=plan.pk)


def letter(
    client: redis.Redis,
    job: str | bytes,
    *,
    of: str | int | None = None,
    queue: str | None = "shop",
    at: int | None = None,
    data: bytes | None = None,
    into: QueueRef = DEAD,
    payload: object = MISSING,
    **options: object,
) -> None:
    """A letter that waits in a queue of dead letters, for a job of another queue."""
    failed, base = now_ms() - 60 if at is None else at, b":".join((into.prefix, into.name))
    told = {"payload": {"order": 1}, "error": "card declined", "failedAt": failed, "attempts": 3, "name": "charge"}
    told |= {} if payload is MISSING else {"payload": payload}
    told |= {"queue": queue} if queue is not None else {}
    told |= {"jobId": str(of)} if of is not None else {}
    raw = json.dumps(told).encode() if data is None else data
    id_ = job.encode() if isinstance(job, str) else job
    fields = {"name": "dead", "data": raw, "opts": json.dumps(options), "timestamp": failed + 5}
    client.hset(base + b":" + id_, mapping=fields)  # type: ignore[arg-type]  # dict is invariant in its keys
    client.lpush(base + b":wait", id_)
