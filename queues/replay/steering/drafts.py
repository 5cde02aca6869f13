"""What is done to a plan before it starts: its terms kept, its jobs looked at anew, or all of it discarded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from queues import audit
from queues.audit.types import Asked
from queues.errors import NotFound
from queues.models import AuditEntry, Replay
from queues.replay import freezing
from queues.replay.checking import ensure
from queues.replay.freezing import Step
from queues.replay.steering.acts import claimed, locked, origin, recorded, refusals, reread, tell, wake, write
from queues.replay.steering.said import ChangedMeanwhile, otherwise
from queues.replay.terms import Terms
from queues.replay.types import Phase, Told

CHANGE, DISCARD = "replay-change", "replay-discard"
AT_ONCE = 2_000  # rows of a plan that are deleted within a request; more are by `queues.retention`, bit by bit
DISCARDED = "discarded"  # `Replay.step` of those that are to be deleted as soon as possible


def save(asked: Asked, replay: Replay, terms: Terms, *, was: str | None = None) -> None:
    """Keep the terms of a draft. Where its jobs have to be looked at or read for them, that begins, and it is frozen
    again for a while. BadFields for terms that cannot be kept; WrongState for what is no draft, and as ChangedMeanwhile
    where its terms are others by now than those of which `was` is the stamp (None: whatever they are).
    """
    keep(asked, replay, terms, was)


def keep(asked: Asked, replay: Replay, terms: Terms, was: str | None) -> Step | None:
    """The same; gives the step from which it is frozen anew, None where it stays a draft."""
    ensure(replay, terms)
    with transaction.atomic():
        now = locked(replay)
        if now.phase != Phase.DRAFT:
            raise otherwise(now)
        if was is not None and Terms.of(now.terms).stamp not in (was, terms.stamp):
            raise ChangedMeanwhile(_changed(now))
        step = _kept(asked, now, terms)
    reread(replay)
    return step


def look_again(replay: Replay) -> None:
    """Have all jobs of a draft looked at on the server anew. WrongState for what is no draft."""
    with transaction.atomic():
        now = locked(replay)
        write(now, {})
        if not freezing.relook(now):
            raise otherwise(now)
        wake(now)
    reread(replay)


def discard(asked: Asked, replay: Replay) -> AuditEntry:
    """Delete a draft, or a plan that could not be put together. Nothing of it was sent.

    One of many jobs is cancelled at once, and deleted soon.
    """
    with refusals(asked, replay, DISCARD):
        try:
            with transaction.atomic():
                return _discarded(asked, replay)
        except NotFound:
            if before := audit.earlier(asked, DISCARD, replay.pk):
                return before
            raise


def chosen(terms: Terms) -> Mapping[str, Any]:
    """What the log tells of the terms: never what data are changed to, which may be secret."""
    told: dict[str, Any] = {"pace_from": terms.pace_from, "pace_to": terms.pace_to, "canary": terms.canary}
    told |= {"key_path": terms.key} if terms.key else {}
    told |= {"edit": terms.patch.kind.value} if terms.patch else {}
    return told | ({"without_permanent": True} if terms.without_permanent else {})


def _kept(asked: Asked, now: Replay, terms: Terms) -> Step | None:
    before = Terms.of(now.terms)
    write(now, {"terms": terms.kept()})
    if before == terms:
        return None
    now.terms = terms.kept()
    _tell_once(asked, now)
    told = {"replay": now.pk, **chosen(terms)}
    # Without a key: the same form is saved over and over, and each time is an act.
    ref, source = origin(now), now.source.name
    audit.record(asked.by, CHANGE, queue=ref, source=source, parameters=told, reason=asked.reason, group=now.group)
    step = freezing.step_after(before, terms)
    if step is not None:
        again = freezing.reread if step is Step.READING else freezing.relook
        if not again(now):
            raise otherwise(now)
        wake(now)
    return step


def _changed(now: Replay) -> str:
    last = now.lines.filter(kind=Told.CHANGED).order_by("-pk").first()
    who = last.who if last else ""
    said = _("%(who)s has changed the plan since you opened it: nothing was done.") % {"who": who or _("Somebody")}
    return said + " " + _("The form shows the plan as it is now: look at it, and choose again what you want otherwise.")


def _tell_once(asked: Asked, now: Replay) -> None:
    """Who changes terms over and over is told of once, at the last time."""
    last = now.lines.order_by("-pk").first()
    if last and last.kind == Told.CHANGED and last.who == asked.by.name[:150]:
        now.lines.filter(pk=last.pk).update(at=timezone.now())
    else:
        tell(now, Told.CHANGED, asked.by.name, {})


def _discarded(asked: Asked, replay: Replay) -> AuditEntry:
    now, before = claimed(asked, replay, DISCARD)
    if before:
        return before
    if now.phase not in (Phase.DRAFT, Phase.FAILED):
        raise otherwise(now)
    entry = recorded(asked, now, DISCARD, {"jobs": now.total}, _("Nothing was sent."))
    if now.total <= AT_ONCE:
        now.delete()
    else:
        tell(now, Told.CANCELLED, asked.by.name, {"number": now.total})
        write(now, {"phase": Phase.CANCELLED, "step": DISCARDED, "ended_at": timezone.now()})
    return entry
