"""The start of a plan: by one person or, where it is large, by two; how it is taken back before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from queues import audit
from queues.audit import log
from queues.audit.clean import line
from queues.audit.types import Asked, Status
from queues.errors import Unsupported, WrongState
from queues.models import AuditEntry, Replay
from queues.operations.guard import ensure_writable
from queues.registry import backend
from queues.replay.fields import BadFields
from queues.replay.freezing import Step, counting
from queues.replay.freezing.ranking import is_sent
from queues.replay.limits import limits
from queues.replay.preview import Target
from queues.replay.preview.targets import targets
from queues.replay.steering.acts import Change, act, end, origin, origins, refusals
from queues.replay.steering.drafts import chosen, keep
from queues.replay.steering.said import ChangedMeanwhile
from queues.replay.steering.wanted import Wanted, ensure_allowed, wanted
from queues.replay.terms import Terms
from queues.replay.types import Phase, Told
from queues.types import Capability, QueueRef

START, APPROVE, REFUSE, TAKE_BACK = "replay", "replay-approve", "replay-refuse", "replay-take-back"
ASKED_ORIGINS = 20  # queues of which is asked beforehand whether they can be written to; of others when it comes to it

DRAFT: dict[str, Any] = {"phase": Phase.DRAFT, "step": "", "cursor": "", "starts_at": None, "entry": None}


def start(asked: Asked, replay: Replay, terms: Terms, *, typed: str = "", was: str | None = None) -> AuditEntry:
    """Keep the terms of a draft and start it by them, `ReplayLimits.undo_s` from now; above the limit for approval it
    waits for a second person instead. `typed` is what was typed for `wanted(...).typed`, `was` as in `save`.

    Gives the entry of the whole replay, which runs until that has ended. Raises BadFields for terms that cannot be
    kept and, as `sure`, for a wrong name; WrongState for what is no draft, for one that has nothing to send, and where
    its jobs are looked at or read first because of these terms (they are kept, and the same can be asked for again
    after it); LimitExceeded, ReadOnly, Unsupported, Unreachable. A few calls to the server.
    """
    if before := audit.earlier(asked, START, replay.pk):
        return before
    with refusals(asked, replay, START):
        try:
            step = keep(asked, replay, terms, was)
        except WrongState:
            if before := audit.earlier(asked, START, replay.pk):  # the same form, sent at once
                return before
            raise
        if step is not None:
            raise WrongState(_look_first(step))
        sums = [each for each in counting.sums(replay.frozen) if is_sent(each.conflict, each.permanent, terms)]
        number = sum(each.jobs for each in sums)
        needs = wanted(replay, number)
        _ensure_startable(replay, number, targets(replay, sums, terms)[0])
        _ensure_typed(needs, typed)

    def armed(now: Replay) -> Change:
        if Terms.of(now.terms) != terms or now.frozen != replay.frozen:
            raise ChangedMeanwhile(_("Somebody has changed the plan meanwhile: look at it before you start it."))
        return _started(asked, now, number, needs)

    return act(asked, replay, START, {Phase.DRAFT}, armed)


def approve(asked: Asked, replay: Replay, *, seen: int | None = None) -> AuditEntry:
    """Start what somebody else has asked for. `seen` is the key of the start's entry, as the page showed it.

    WrongState for who asked for it, and where it was taken back and asked for anew meanwhile. LimitExceeded where it
    is beyond the limits by now.
    """

    def armed(now: Replay) -> Change:
        if now.started_by == asked.by.name[:150]:
            raise WrongState(_("You started %(plan)s: somebody else has to approve it.") % {"plan": now})
        if seen is not None and seen != now.entry_id:
            raise WrongState(_("%(plan)s was changed since the page was read: look at it again.") % {"plan": now})
        ensure_allowed(now)
        at = _start_at(limits().undo_s)
        values = {"phase": Phase.ARMED, "approved_by": asked.by.name[:150], "starts_at": at, "step": "", "cursor": ""}
        return Change(values, Told.APPROVED, _facts(now.to_send, at))

    with refusals(asked, replay, APPROVE):
        _ensure_writable(replay, ())
    return act(asked, replay, APPROVE, {Phase.WAITING}, armed)


def refuse(asked: Asked, replay: Replay) -> AuditEntry:
    """Refuse to approve: it is a draft again."""

    def back(now: Replay) -> Change:
        note = _("%(who)s refused to approve it. Nothing was sent.") % {"who": asked.by.name}
        end(now, Status.REFUSED, note)
        facts = {"reason": line(asked.reason, 500)} if asked.reason else {}
        return Change(DRAFT | {"started_by": ""}, Told.REFUSED, facts, note=_("It is a draft again."))

    return act(asked, replay, REFUSE, {Phase.WAITING}, back)


def take_back(asked: Asked, replay: Replay) -> AuditEntry:
    """Take a start back, or the wish for approval: nothing was sent, and it is a draft again."""

    def back(now: Replay) -> Change:
        end(now, Status.STOPPED, _("%(who)s took the start back. Nothing was sent.") % {"who": asked.by.name})
        values = DRAFT | {"started_by": "", "approved_by": ""}
        return Change(values, Told.TAKEN_BACK, note=_("It is a draft again."), fenced=True)

    return act(asked, replay, TAKE_BACK, {Phase.WAITING, Phase.ARMED}, back)


def _started(asked: Asked, now: Replay, number: int, needs: Wanted) -> Change:
    """A draft as it is when it was started: about to be sent, or waiting for approval."""
    entry = _entry(asked, now, number)
    values: dict[str, Any] = {
        "started_by": asked.by.name[:150],
        "approved_by": "",
        "entry": entry,
        "to_send": number,
        **dict.fromkeys(("step", "cursor", "why", "holding", "note"), ""),
        **dict.fromkeys(("started_at", "rest_at", "sent_at", "starts_at")),
    }
    if needs.approval:
        return Change(values | {"phase": Phase.WAITING}, Told.ASKED, {"number": number}, entry=entry)
    at = _start_at(needs.undo_s)
    return Change(values | {"phase": Phase.ARMED, "starts_at": at}, Told.ARMED, _facts(number, at), entry=entry)


def _entry(asked: Asked, now: Replay, number: int) -> AuditEntry:
    """The entry of the whole replay: it runs until the runner, or who takes it back, completes it.

    Of a plan of one job it names that.
    """
    told = {"replay": now.pk, **chosen(Terms.of(now.terms))}
    ref, source = origin(now), now.source.name
    only = list(now.jobs.values_list("job", flat=True)[:1]) if ref and now.total == 1 else ()
    entry = log.draft(
        *(asked.by, START), queue=ref, source=source, jobs=only, parameters=told, reason=asked.reason, group=now.group
    )
    entry.asked, entry.selection = number, line(now.words, 1_000)
    entry.key, entry.status = audit.token(asked, START, now.pk), Status.RUNNING
    entry.save(force_insert=True)
    return entry


def _start_at(undo_s: int) -> datetime:
    return timezone.now() + timedelta(seconds=undo_s)


def _facts(number: int, at: datetime) -> dict[str, object]:
    return {"number": number, "starts_ms": round(at.timestamp() * 1000)}


def _look_first(step: Step) -> str:
    if step is Step.READING:
        return _("The plan is kept, and the data of its jobs is read first: look at what it does to them, then start.")
    return _("The plan is kept. Its jobs are looked at anew: look at what it does first, then start.")


def _ensure_startable(replay: Replay, number: int, to: Sequence[Target]) -> None:
    if not number:
        raise WrongState(_("%(plan)s has nothing to send: all its jobs are left out.") % {"plan": replay})
    ensure_allowed(replay)
    if Capability.REPLAYS not in backend(replay.source.name).capabilities:
        raise Unsupported(_("Jobs of the source “%(source)s” cannot be replayed.") % {"source": replay.source.name})
    if to and all(each.too_old for each in to):
        said = _("The queue %(queue)s is of BullMQ 4: no copies can be sent there.")
        raise Unsupported(said % {"queue": to[0].queue.label})
    _ensure_writable(replay, [each.queue for each in to])


def _ensure_writable(replay: Replay, targets: Sequence[QueueRef]) -> None:
    """ReadOnly where nothing may be written to a queue that jobs come from or go to."""
    for ref in dict.fromkeys((*origins(replay, ASKED_ORIGINS), *targets)):
        ensure_writable(ref)


def _ensure_typed(needs: Wanted, typed: str) -> None:
    if needs.typed and typed.strip() != needs.typed.strip():
        said = _("This is not the name: nothing was started.") if typed else _("Type %(name)s to start.")
        raise BadFields({"sure": said % {"name": needs.typed}})
