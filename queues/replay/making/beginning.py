"""The rows with which a plan begins, written together with its entry in the log of actions."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from queues import audit
from queues.audit.clean import line
from queues.audit.types import Asked
from queues.errors import LimitExceeded, NotFound, QueueError, Unsupported
from queues.models import AuditEntry, FailureGroup, Replay, Source
from queues.operations.guard import ensure_writable
from queues.quantities import number as figure
from queues.registry import backend
from queues.replay.limits import limits
from queues.replay.making.behind import Behind
from queues.replay.making.wish import Wish
from queues.replay.terms import Terms
from queues.replay.types import Phase
from queues.types import Capability, QueueRef

PLAN = "plan-replay"  # as the log of actions calls it
TRIES = 3


@dataclass(frozen=True, slots=True)
class Beginning:
    """A plan that is about to be written. `queue` None: it is about a group of failures, which may be of several."""

    asked: Asked
    source: str
    wish: Wish
    title: str
    words: str
    terms: Terms
    frozen_ms: int
    expected: int | None = None  # how many jobs there are, as far as is known
    queue: QueueRef | None = None
    jobs: Sequence[str] = ()  # slugs, for the log
    groups: Sequence[FailureGroup] = ()
    data: bytes | None = None
    before: bytes | None = None  # the data of before, beside `data`
    behind: Behind | None = None  # what the index had not read; None: nothing

    @property
    def group(self) -> FailureGroup | None:
        """The only one."""
        return self.groups[0] if len(self.groups) == 1 else None


def made_before(asked: Asked, wish: Wish) -> Replay | None:
    """The plan that this very form made when it was sent before. NotFound where that was discarded since."""
    entry = audit.earlier(asked, PLAN, wish.about)
    if entry is None:
        return None
    plan = Replay.objects.select_related("source").filter(pk=entry.parameters.get("replay", 0)).first()
    if plan is None:
        raise NotFound(_("The plan that this form made was discarded."))
    return plan


@contextmanager
def refusing(asked: Asked, *, source: str, queue: QueueRef | None, words: str) -> Iterator[None]:
    """Where making a plan is refused, the log says so; the error goes on."""
    try:
        yield
    except QueueError as error:
        if queue is None:
            words = f"{source}: {words}"
        audit.refused(asked.by, PLAN, queue=queue, selection=words, reason=asked.reason, note=str(error))
        raise


def ensure_possible(queue: QueueRef) -> None:
    """Unsupported or ReadOnly where jobs of a queue cannot be sent again."""
    if Capability.REPLAYS not in backend(queue.source).capabilities:
        raise Unsupported(_("Jobs of the source “%(source)s” cannot be sent again.") % {"source": queue.source})
    ensure_writable(queue)


def ensure_few(number: int | None) -> None:
    """LimitExceeded where a plan is about more jobs than admins allow. One query."""
    most = limits().largest
    if most is not None and number is not None and number > most:
        text = _("%(number)s jobs are more than one plan may be about: %(most)s. Admins can change that.")
        raise LimitExceeded(text % {"number": figure(number), "most": figure(most)})


def begin(plan: Beginning) -> Replay:
    """Write it, and have a worker take it up. The same form sent again gives the first one."""
    for _again in range(TRIES):
        try:
            with transaction.atomic():
                return _written(plan)
        except IntegrityError:
            # Somebody sends the same form at once: what they write is there now.
            if before := made_before(plan.asked, plan.wish):
                return before
    raise IntegrityError("the key of a plan is taken and free at once")


def wake(plan: Replay) -> None:
    """Have a worker take a plan up, once this is committed. Where the broker is away, the clock finds it."""
    from queues import tasks

    transaction.on_commit(lambda: tasks.wake_replay(plan.pk, plan.epoch))


def _written(plan: Beginning) -> Replay:
    source, _new = Source.objects.get_or_create(name=plan.source)
    row = Replay.objects.create(
        token=secrets.token_hex(16),
        source=source,
        title=plan.title[:200],
        made_from=plan.wish.kept(),
        words=plan.words,
        group=plan.group,
        made_by=plan.asked.by.name[:150],
        terms=plan.terms.kept(),
        data=plan.data,
        before=plan.before,
        phase=Phase.FREEZING,
        frozen_ms=plan.frozen_ms,
        frozen=_frozen(plan),
    )
    row.groups.set(plan.groups)
    _record(plan, row)
    wake(row)
    return row


def _frozen(plan: Beginning) -> dict[str, object]:
    """What is known before anything is counted, as `queues.replay.freezing.counting` names it."""
    known: dict[str, object] = {"expected": plan.expected} if plan.expected is not None else {}
    return known | ({"index": plan.behind.kept()} if plan.behind else {})


def _record(plan: Beginning, row: Replay) -> None:
    asked = plan.asked
    told: dict[str, object] = {"replay": row.pk}
    if plan.data is not None:
        told["data"] = plan.data
    entry = audit.record(
        asked.by,
        PLAN,
        queue=plan.queue,
        source=plan.source,
        jobs=plan.jobs,
        parameters=told,
        reason=asked.reason,
        group=plan.group,
        key=audit.token(asked, PLAN, plan.wish.about),
    )
    AuditEntry.objects.filter(pk=entry.pk).update(selection=line(plan.words, 1_000), asked=plan.expected)
