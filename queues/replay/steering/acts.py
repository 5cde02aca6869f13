"""What all acts have in common: one transaction that begins with the plan's row, and an entry for each refusal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from queues import audit
from queues.audit.clean import line
from queues.audit.types import Asked, Status
from queues.errors import BadInput, NotFound, QueueError
from queues.models import AuditEntry, Replay, ReplayLine
from queues.replay.steering.said import otherwise
from queues.replay.types import TENDED, Phase, Told
from queues.types import QueueRef


@dataclass(frozen=True, slots=True)
class Change:
    """What an act does to a plan: its new values, a line of the feed, and what the log keeps of it.

    `entry` is given where it is another than one that is done at once. `fenced`: whoever holds the plan loses it.
    """

    values: Mapping[str, Any]
    told: Told
    facts: Mapping[str, object] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)
    note: str = ""
    entry: AuditEntry | None = None
    fenced: bool = False


def act(
    asked: Asked, replay: Replay, verb: str, phases: Collection[Phase], decide: Callable[[Replay], Change]
) -> AuditEntry:
    """Change a plan that is in one of these phases, as `decide` says of it as it is now, within the transaction.

    `replay` is read anew afterwards. WrongState and what `decide` raises are written to the log of actions.
    """
    with refusals(asked, replay, verb), transaction.atomic():
        now, before = claimed(asked, replay, verb)
        entry = before or _changed(asked, now, verb, phases, decide)
    reread(replay)
    return entry


def claimed(asked: Asked, replay: Replay, verb: str) -> tuple[Replay, AuditEntry | None]:
    """The plan as it is now, for this transaction alone, and the entry of the same form if it was sent before.

    NotFound when it is gone.
    """
    now = locked(replay)
    return now, audit.earlier(asked, verb, now.pk)


def _changed(
    asked: Asked, now: Replay, verb: str, phases: Collection[Phase], decide: Callable[[Replay], Change]
) -> AuditEntry:
    if now.phase not in phases:
        raise otherwise(now)
    change = decide(now)
    write(now, change.values, fenced=change.fenced)
    tell(now, change.told, asked.by.name, change.facts)
    if change.values.get("phase", now.phase) in TENDED:
        wake(now)
    return change.entry or recorded(asked, now, verb, change.parameters, change.note)


def locked(replay: Replay) -> Replay:
    """The plan as it is now, for this transaction alone. NotFound when it is gone."""
    rows = Replay.objects.select_for_update(of=("self",)).select_related("source", "group", "entry")
    found = rows.filter(pk=replay.pk).first()
    if found is None:
        raise _gone(replay)
    return found


def reread(replay: Replay) -> None:
    """Have a plan be as it is now. NotFound when it is gone."""
    try:
        replay.refresh_from_db()
    except Replay.DoesNotExist:
        raise _gone(replay) from None


def _gone(replay: Replay) -> NotFound:
    return NotFound(_("R-%(pk)s is gone: it was discarded.") % {"pk": replay.pk})


def write(now: Replay, values: Mapping[str, Any], *, fenced: bool = False) -> None:
    """Write values of a plan, provided that it is still in the phase in which it was read."""
    fence = {"epoch": F("epoch") + 1, "holder": ""} if fenced else {}
    ours = Replay.objects.filter(pk=now.pk, phase=now.phase)
    if not ours.update(**values, **fence, changed_at=timezone.now()):
        now.refresh_from_db()
        raise otherwise(now)


def tell(now: Replay, kind: Told, who: str, facts: Mapping[str, object]) -> None:
    """A line of the feed."""
    ReplayLine.objects.create(replay=now, kind=kind, who=who[:150], facts=dict(facts))


def recorded(asked: Asked, now: Replay, verb: str, parameters: Mapping[str, object], note: str = "") -> AuditEntry:
    """An entry in the log of actions of what is done by it."""
    ref = origin(now)
    return audit.record(
        *(asked.by, verb),
        queue=ref,
        source=now.source.name,
        parameters={"replay": now.pk, **parameters},
        reason=asked.reason,
        note=note,
        group=now.group,
        key=audit.token(asked, verb, now.pk),
    )


def end(now: Replay, status: Status, note: str) -> None:
    """Complete the entry of a start that came to nothing."""
    if now.entry is None:
        return
    at = timezone.now()
    spent = max(0, round((at - now.entry.at).total_seconds() * 1000))
    running = AuditEntry.objects.filter(pk=now.entry.pk, status=Status.RUNNING)
    running.update(status=status, note=line(note, 2_000), ended_at=at, duration_ms=spent)


def wake(now: Replay) -> None:
    """Have a worker take it up, once this is committed. Where the broker is away, the clock finds it."""
    from queues import tasks

    def call() -> None:
        epoch = Replay.objects.filter(pk=now.pk).values_list("epoch", flat=True).first()
        if epoch is not None:
            tasks.wake_replay(now.pk, epoch)

    transaction.on_commit(call)


@contextmanager
def refusals(asked: Asked, replay: Replay, verb: str) -> Iterator[None]:
    """Write down that somebody was refused, and why; not what was merely typed wrongly."""
    try:
        yield
    except BadInput:
        raise
    except QueueError as error:
        audit.refused(
            *(asked.by, verb),
            queue=origin(replay),
            source=replay.source.name,
            parameters={"replay": replay.pk},
            reason=asked.reason,
            note=str(error),
        )
        raise


def origins(replay: Replay, most: int) -> list[QueueRef]:
    """The queues that its jobs are in, at most so many. A query by the index for each, whatever the number of jobs."""
    found: list[QueueRef] = []
    rows = replay.jobs.select_related("queue__source").order_by("queue_id")
    row = rows.first()
    while row is not None and len(found) < most:
        found.append(QueueRef.from_slug(row.queue.source.name, row.queue.slug))
        row = rows.filter(queue_id__gt=row.queue_id).first()
    return found


def origin(replay: Replay) -> QueueRef | None:
    """The queue that all its jobs are in; None where there are several, or none."""
    found = origins(replay, 2)
    return found[0] if len(found) == 1 else None
