"""The acts that people take on a replay, and plans to take them on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.utils import timezone

from queues.audit import Actor, Asked
from queues.models import Replay, ReplayLimits
from queues.replay import steering
from queues.replay.freezing import counting
from queues.replay.types import Phase, Told
from tests.queues.replaying import QUIET, a_plan

ANNA, BERT = Actor("anna", "operator", "10.0.0.1"), Actor("bert", "operator", "10.0.0.2")
NEW = replace(QUIET, pace_from=3.0, pace_to=6.0)


@dataclass(frozen=True)
class Act:
    """An act as anybody would take it, and what it leads to out of the phases in which it can be taken."""

    verb: str  # as the log calls it; "" where that tells nothing
    do: Callable[[Asked, Replay], object]
    leads: Mapping[Phase, Phase | None]  # None: the plan is gone
    told: Told | None = None


ENDING_THERE = dict.fromkeys(
    (Phase.FREEZING, Phase.ARMED, Phase.CANARY, Phase.DECIDING, Phase.RUNNING, Phase.ENDING, Phase.PAUSED,
     Phase.STOPPED), Phase.CANCELLING,
)  # fmt: skip
ACTS = {
    "save": Act("", lambda asked, plan: steering.save(asked, plan, NEW), {Phase.DRAFT: Phase.DRAFT}, Told.CHANGED),
    "look": Act("", lambda _asked, plan: steering.look_again(plan), {Phase.DRAFT: Phase.FREEZING}),
    "start": Act(
        "replay", lambda asked, plan: steering.start(asked, plan, QUIET), {Phase.DRAFT: Phase.ARMED}, Told.ARMED
    ),
    "approve": Act("replay-approve", steering.approve, {Phase.WAITING: Phase.ARMED}, Told.APPROVED),
    "refuse": Act("replay-refuse", steering.refuse, {Phase.WAITING: Phase.DRAFT}, Told.REFUSED),
    "take back": Act(
        "replay-take-back",
        steering.take_back,
        {Phase.WAITING: Phase.DRAFT, Phase.ARMED: Phase.DRAFT},
        Told.TAKEN_BACK,
    ),
    "pause": Act(
        "replay-pause",
        steering.pause,
        dict.fromkeys((Phase.ARMED, Phase.CANARY, Phase.RUNNING, Phase.ENDING), Phase.PAUSED),
        Told.PAUSED,
    ),
    "go on": Act(
        "replay-go-on",
        steering.go_on,
        dict.fromkeys((Phase.DECIDING, Phase.PAUSED, Phase.STOPPED), Phase.RUNNING),
        Told.WENT_ON,
    ),
    "pace": Act(
        "replay-pace",
        lambda asked, plan: steering.change_pace(asked, plan, 3.0, 6.0, 60),
        {phase: phase for phase in (Phase.ARMED, Phase.CANARY, Phase.DECIDING, Phase.RUNNING, Phase.PAUSED,
                                    Phase.STOPPED)},
        Told.PACE,
    ),
    "cancel": Act(
        "replay-cancel",
        steering.cancel,
        ENDING_THERE | {Phase.DRAFT: Phase.CANCELLED, Phase.WAITING: Phase.CANCELLED},
        Told.CANCELLED,
    ),
    "discard": Act("replay-discard", steering.discard, {Phase.DRAFT: None, Phase.FAILED: None}),
}  # fmt: skip
SENT = {Phase.CANARY, Phase.DECIDING, Phase.RUNNING, Phase.ENDING, Phase.PAUSED, Phase.STOPPED, Phase.CANCELLING}


def ids(number: int) -> list[bytes]:
    """So many ids of jobs."""
    return [b"%d" % each for each in range(number)]


def planned(phase: Phase = Phase.DRAFT, number: int = 3, **values: Any) -> Replay:
    """A plan of three jobs as it stands in a phase that bert has brought it to."""
    if phase in SENT:
        values = {"started_at": timezone.now()} | values
    if phase is Phase.WAITING:
        values = {"started_by": "bert"} | values
    return counted(a_plan(phase, ids(number), **values))


def counted(plan: Replay) -> Replay:
    """A plan with the figures that freezing leaves behind."""
    plan.frozen = counting.counted(plan.pk, {})
    plan.save(update_fields=["frozen"])
    return plan


def started(number: int = 3, **allowed: Any) -> Replay:
    """A plan that anna has started."""
    ReplayLimits.objects.create(pk=1, **allowed)
    plan = planned(number=number)
    steering.start(Asked(ANNA), plan, QUIET)
    return plan


def said(plan: Replay) -> list[str]:
    """The kinds of the lines in its feed."""
    return list(plan.lines.values_list("kind", flat=True))
