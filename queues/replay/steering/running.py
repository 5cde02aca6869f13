"""What is done to a plan that was started: paused, let go on, made faster or slower, cancelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from queues import readonly
from queues.audit.types import Asked, Status
from queues.errors import ReadOnly
from queues.models import AuditEntry, Replay
from queues.replay.checking import wrong_paces
from queues.replay.fields import BadFields
from queues.replay.limits import limits
from queues.replay.steering.acts import Change, act, end, refusals
from queues.replay.steering.wanted import ensure_allowed, wanted
from queues.replay.terms import KeyFailed, Terms
from queues.replay.types import ACTIVE, EARLY, ENDED, HALTED, TAKING_BACK, Phase, Place, Stop, Told

PAUSE, GO_ON, PACE, CANCEL = "replay-pause", "replay-go-on", "replay-pace", "replay-cancel"
PACED = frozenset({Phase.ARMED, Phase.CANARY, Phase.RUNNING, *HALTED})
CANCELLABLE = frozenset(Phase) - ENDED - {Phase.CANCELLING}
UNTENDED = frozenset({Phase.DRAFT, Phase.WAITING})  # nobody is at work on these
AT_ONCE = 1_000  # rows that are put back within a request
CLEAR: Mapping[str, str] = dict.fromkeys(("why", "holding", "note"), "")


def pause(asked: Asked, replay: Replay) -> AuditEntry:
    """Send no more until somebody lets it go on. What was sent goes on, and is watched."""
    return act(asked, replay, PAUSE, ACTIVE, lambda now: Change({**CLEAR, "phase": Phase.PAUSED}, Told.PAUSED))


def go_on(asked: Asked, replay: Replay) -> AuditEntry:
    """Let a plan go on where it was that is paused, has stopped, or waits for a decision.

    After a canary that failed or was too late that means: send the rest. After BLOCKED: send also what waits behind
    jobs that failed again. ReadOnly where the settings forbid it by now, LimitExceeded where admins do: then its pace
    can be changed first. One of which nothing was sent, and which one person alone may not start by now, waits for
    approval.
    """
    with refusals(asked, replay, GO_ON):
        if forbidden := readonly.by_setting(replay.source.name):
            raise ReadOnly(forbidden)
    return act(asked, replay, GO_ON, HALTED, _gone_on)


def change_pace(
    asked: Asked, replay: Replay, pace_from: float | None, pace_to: float | None, double_s: int
) -> AuditEntry:
    """Send faster or slower from now on, jobs a second, doubling every `double_s` seconds; None: as the server can.

    BadFields outside of the limits of now.
    """

    def paced(now: Replay) -> Change:
        terms = replace(Terms.of(now.terms), pace_from=pace_from, pace_to=pace_to, double_s=double_s)
        if wrong := wrong_paces(terms, limits()):
            raise BadFields(wrong)
        told = {"pace_from": pace_from, "pace_to": pace_to, "double_s": double_s}
        return Change({"terms": terms.kept()}, Told.PACE, told, told)

    return act(asked, replay, PACE, PACED, paced)


def cancel(asked: Asked, replay: Replay, *, take_back: bool = False) -> AuditEntry:
    """Send no more, ever: what was not sent stays where it is. With `take_back`, what was sent and no worker has begun
    goes back there, too. What runs is left alone.
    """

    def cancelled(now: Replay) -> Change:
        early = now.phase in EARLY
        number = now.to_send if now.phase != Phase.FREEZING else now.total
        params: dict[str, object] = {} if early else {"take_back": take_back}
        if now.phase in UNTENDED and now.total <= AT_ONCE:
            values = _put_back(asked, now)
        else:
            step = TAKING_BACK if take_back and not early else ""
            values = {**CLEAR, "phase": Phase.CANCELLING, "step": step, "cursor": ""}
        return Change(values, Told.CANCELLED, {"number": number}, params, fenced=early)

    return act(asked, replay, CANCEL, CANCELLABLE, cancelled)


def _gone_on(now: Replay) -> Change:
    ensure_allowed(now)
    phase, rest = _whence(now), now.why == Stop.CANARY or now.phase == Phase.DECIDING
    values: dict[str, Any] = {**CLEAR, "phase": phase}
    facts: dict[str, object] = {}
    note = ""
    if phase == Phase.ARMED and not now.approved_by and wanted(now, now.to_send).approval:
        waits = {**values, "phase": Phase.WAITING, "step": "", "cursor": "", "starts_at": None}
        note = _("By now so many jobs need a second person.")
        return Change(waits, Told.ASKED, {"number": now.to_send}, note=note, fenced=True)
    if phase == Phase.ARMED:
        values["starts_at"] = max(now.starts_at or timezone.now(), timezone.now())
    if phase == Phase.RUNNING and now.rest_at is None:
        values["rest_at"] = timezone.now()
    if rest:
        facts["rest"], note = True, _("The rest is sent, whatever came of the canary.")
    if now.why == Stop.BLOCKED:
        values["terms"] = replace(Terms.of(now.terms), key_failed=KeyFailed.GO_ON).kept()
        facts["blocked"], note = True, _("What waits behind jobs that failed again is sent, too.")
    return Change(values, Told.WENT_ON, facts, note=note)


def _whence(now: Replay) -> Phase:
    """Where a plan that is halted was, and goes on."""
    if now.started_at is None:
        return Phase.ARMED
    if now.sent_at is not None:
        return Phase.ENDING
    decided = now.why == Stop.CANARY or now.phase == Phase.DECIDING or now.rest_at is not None
    return Phase.RUNNING if decided or not Terms.of(now.terms).canary else Phase.CANARY


def _put_back(asked: Asked, now: Replay) -> dict[str, Any]:
    """A plan of few jobs that nobody is at work on, cancelled at once."""
    unsent = now.jobs.filter(place__in=(Place.READY, Place.HELD))
    back = unsent.update(place=Place.BACK)
    end(now, Status.STOPPED, _("%(who)s cancelled it. Nothing was sent.") % {"who": asked.by.name})
    return {**CLEAR, "phase": Phase.CANCELLED, "ended_at": timezone.now(), "to_send": 0, "back": F("back") + back}
