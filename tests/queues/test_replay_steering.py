"""What people do to a replay that is there: each act in each phase, and what the feed and the log tell of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks
from pytest_django.fixtures import Settings

from queues import registry
from queues.audit import Asked, Status
from queues.errors import LimitExceeded, NotFound, ReadOnly, WrongState
from queues.models import AuditEntry, Replay, ReplayJob, ReplayLimits, ReplayLine
from queues.registry import SourceConfig
from queues.replay import steering
from queues.replay.fields import BadFields
from queues.replay.terms import KeyFailed, Terms
from queues.replay.types import TENDED, Phase, Place, Stop, Told
from tests.queues.replay_acts import ACTS, ANNA, BERT, NEW, planned, said, started
from tests.queues.replaying import QUIET

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("acted", "woken")]

CANARY = replace(QUIET, canary=2, canary_failed=1)


TABLE = [pytest.param(name, phase, id=f"{name}, {phase}") for name in ACTS for phase in Phase]


@pytest.mark.parametrize(("name", "phase"), TABLE)
def test_every_act_leads_where_it_should_out_of_every_phase_or_changes_nothing(
    name: str,
    phase: Phase,
    woken: list[tuple[int, int]],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    act, plan = ACTS[name], planned(phase)
    as_it_was = Replay.objects.filter(pk=plan.pk).values().get()
    with django_capture_on_commit_callbacks(execute=True):
        if phase not in act.leads:
            with pytest.raises(WrongState) as refused:
                act.do(Asked(ANNA, reason="now"), plan)
        else:
            act.do(Asked(ANNA, reason="now"), plan)
    entries = list(AuditEntry.objects.all())
    if phase not in act.leads:
        assert str(refused.value).startswith(f"R-{plan.pk} was left as it was: ")
        assert Replay.objects.filter(pk=plan.pk).values().get() == as_it_was
        assert not said(plan)
        assert not woken
        assert [(entry.action, entry.status) for entry in entries] == ([(act.verb, "refused")] if act.verb else [])
        assert all(entry.note == str(refused.value) for entry in entries)
        return
    now = Replay.objects.filter(pk=plan.pk).first()
    assert (now.phase if now else None) == act.leads[phase]
    wrote = act.verb or ("replay-change" if name == "save" else "")
    assert [entry.action for entry in entries] == ([wrote] if wrote else [])
    for entry in entries:
        assert (entry.who, entry.reason, entry.queue, entry.source) == ("anna", "now", "shop", "main")
        assert entry.parameters["replay"] == plan.pk
        assert entry.status == ("running" if name == "start" else "done")
    if now is None:
        assert not ReplayJob.objects.exists()
        return
    assert plan.phase == now.phase  # what the caller holds is as it is now
    assert said(plan) == ([act.told] if act.told else [])
    assert now.changed_at > as_it_was["changed_at"]
    assert woken == ([(plan.pk, now.epoch)] if now.phase in TENDED else [])


@pytest.mark.parametrize("name", [name for name, act in ACTS.items() if act.verb])
def test_the_same_form_sent_again_does_nothing_and_gives_the_first_entry(name: str) -> None:
    act = ACTS[name]
    plan = planned(next(iter(act.leads)))
    first = act.do(Asked(ANNA, key="k"), plan)
    as_it_was = list(Replay.objects.values())
    with_feed = ReplayLine.objects.count()
    assert act.do(Asked(ANNA, key="k"), Replay(pk=plan.pk, source=plan.source)) == first
    assert list(Replay.objects.values()) == as_it_was
    assert ReplayLine.objects.count() == with_feed
    assert AuditEntry.objects.count() == 1


def test_who_comes_second_is_told_who_was_first_and_when() -> None:
    plan = planned(Phase.RUNNING)
    steering.pause(Asked(BERT), plan)
    with pytest.raises(WrongState) as refused:
        steering.pause(Asked(ANNA), plan)
    assert f"R-{plan.pk} was left as it was: it is paused (bert at " in str(refused.value)
    with pytest.raises(WrongState, match="it waits for approval"):
        steering.pause(Asked(ANNA), planned(Phase.WAITING))
    ReplayLine.objects.create(replay=plan, kind=Told.STOPPED, facts={"why": "failing"})
    Replay.objects.update(phase=Phase.STOPPED)
    with pytest.raises(WrongState, match="it has stopped by itself since "):
        steering.pause(Asked(ANNA), plan)


@pytest.mark.parametrize("name", sorted(set(ACTS) - {"save", "look"}))
def test_what_is_gone_is_told_to_be_so(name: str) -> None:
    plan = planned(Phase.DRAFT)
    Replay.objects.filter(pk=plan.pk).delete()
    with pytest.raises(NotFound, match="it was discarded"):
        ACTS[name].do(Asked(ANNA), plan)


def at(**back: float) -> dict[str, Any]:
    return {name: timezone.now() - timedelta(seconds=seconds) for name, seconds in back.items()}


@pytest.mark.parametrize(
    ("was", "phase"),
    [
        ({"started_at": None}, Phase.ARMED),
        (at(started_at=9), Phase.CANARY),
        (at(started_at=9) | {"phase": Phase.STOPPED, "why": Stop.NO_WORKER}, Phase.CANARY),
        (at(started_at=9) | {"terms": QUIET.kept()}, Phase.RUNNING),
        (at(started_at=9) | {"phase": Phase.STOPPED, "why": Stop.CANARY}, Phase.RUNNING),
        (at(started_at=9) | {"phase": Phase.DECIDING}, Phase.RUNNING),
        (at(started_at=9, rest_at=5), Phase.RUNNING),
        (at(started_at=9, rest_at=5) | {"phase": Phase.STOPPED, "why": Stop.FAILING}, Phase.RUNNING),
        (at(started_at=9, rest_at=5, sent_at=1), Phase.ENDING),
    ],
)
def test_a_plan_goes_on_where_it_was(was: dict[str, Any], phase: Phase) -> None:
    plan = planned(Phase.PAUSED, terms=CANARY)
    Replay.objects.update(**{"holding": "depth", "note": "odd"} | was)
    rest_at = was.get("rest_at")
    steering.go_on(Asked(ANNA), plan)
    assert (plan.phase, plan.why, plan.holding, plan.note) == (phase, "", "", "")
    assert (plan.rest_at is not None) == (phase in (Phase.RUNNING, Phase.ENDING))
    assert rest_at is None or plan.rest_at == rest_at
    overruled = was.get("why") == Stop.CANARY or was.get("phase") == Phase.DECIDING
    assert plan.lines.get().facts == ({"rest": True} if overruled else {})
    assert ("whatever came of the canary" in AuditEntry.objects.get().note) == overruled


def test_a_plan_that_was_paused_before_it_began_begins_when_it_goes_on() -> None:
    plan = started(undo_s=3_600)
    at_first = plan.starts_at
    steering.pause(Asked(ANNA), plan)
    steering.go_on(Asked(ANNA), plan)
    assert (plan.phase, plan.starts_at) == (Phase.ARMED, at_first)
    steering.pause(Asked(ANNA), plan)
    Replay.objects.update(starts_at=timezone.now() - timedelta(hours=1))
    before = timezone.now()
    steering.go_on(Asked(ANNA), plan)
    assert plan.starts_at is not None
    assert plan.starts_at >= before


def test_what_waits_behind_jobs_that_failed_again_is_sent_when_somebody_lets_it_go_on() -> None:
    plan = planned(Phase.STOPPED, why=Stop.BLOCKED, terms=replace(QUIET, key="a"), rest_at=timezone.now())
    steering.go_on(Asked(ANNA), plan)
    assert Terms.of(plan.terms).key_failed is KeyFailed.GO_ON
    assert plan.lines.get().facts == {"blocked": True}


def test_what_the_settings_forbid_by_now_does_not_go_on(settings: Settings) -> None:
    plan = planned(Phase.PAUSED)
    settings.MIRANTE_SOURCES = (SourceConfig("main", "", kind="memory", read_only=True),)
    registry.forget()
    with pytest.raises(ReadOnly, match="MIRANTE_READ_ONLY"):
        steering.go_on(Asked(ANNA), plan)
    assert AuditEntry.objects.get().status == Status.REFUSED
    plan.refresh_from_db()
    assert plan.phase == Phase.PAUSED


def test_a_pace_that_is_no_longer_allowed_is_changed_before_it_goes_on() -> None:
    plan = planned(Phase.PAUSED)
    ReplayLimits.objects.create(pk=1, fastest=5.0)
    with pytest.raises(LimitExceeded, match="at most 5 jobs a second"):
        steering.go_on(Asked(ANNA), plan)
    steering.change_pace(Asked(ANNA), plan, 1.0, 5.0, 30)
    steering.go_on(Asked(ANNA), plan)
    assert plan.phase == Phase.RUNNING


# Another pace.


def test_the_pace_changes_and_nothing_else() -> None:
    plan = planned(Phase.RUNNING, terms=CANARY)
    entry = steering.change_pace(Asked(ANNA), plan, 3.0, None, 60)
    assert Terms.of(plan.terms) == replace(CANARY, pace_from=3.0, pace_to=None, double_s=60)
    told = {"pace_from": 3.0, "pace_to": None, "double_s": 60}
    assert plan.lines.get().facts == told
    assert entry.parameters == {"replay": plan.pk, "pace_from": "3.0", "pace_to": None, "double_s": 60}


@pytest.mark.parametrize(
    ("paces", "field"),
    [
        ((0.0, 5.0, 30), "pace_from"),
        ((float("nan"), 5.0, 30), "pace_from"),
        ((None, 5.0, 30), "pace_from"),
        ((5.0, 4.0, 30), "pace_to"),
        ((5.0, 51.0, 30), "pace_to"),
        ((None, None, 30), "pace_to"),
        ((5.0, 6.0, 0), "double_s"),
    ],
)
def test_a_pace_outside_of_the_limits_changes_nothing(
    paces: tuple[float | None, float | None, int], field: str
) -> None:
    ReplayLimits.objects.create(pk=1, fastest=50.0)
    plan = planned(Phase.RUNNING)
    with pytest.raises(BadFields) as refused:
        steering.change_pace(Asked(ANNA), plan, *paces)
    assert list(refused.value.fields) == [field]
    plan.refresh_from_db()
    assert Terms.of(plan.terms) == QUIET
    assert not said(plan)
    assert not AuditEntry.objects.exists()


# The end.


def test_a_small_plan_that_nobody_is_at_work_on_is_cancelled_at_once() -> None:
    plan = started(approval=0)
    plan.jobs.filter(job="1").update(place=Place.LEFT_OUT)
    entry = plan.entry
    steering.cancel(Asked(BERT), plan, take_back=True)
    assert (plan.phase, plan.to_send, plan.back) == (Phase.CANCELLED, 0, 2)
    assert plan.ended_at is not None
    assert sorted(plan.jobs.values_list("place", flat=True)) == [Place.BACK, Place.BACK, Place.LEFT_OUT]
    assert plan.entry == entry
    assert plan.entry is not None
    assert (plan.entry.status, plan.entry.note) == (Status.STOPPED, "bert cancelled it. Nothing was sent.")
    assert plan.lines.get(kind=Told.CANCELLED).facts == {"number": 3}
    assert "take_back" not in AuditEntry.objects.get(action="replay-cancel").parameters


def test_a_large_plan_is_cancelled_by_the_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queues.replay.steering.running.AT_ONCE", 2)
    plan = planned()
    steering.cancel(Asked(ANNA), plan)
    assert (plan.phase, plan.step, plan.ended_at, plan.back) == (Phase.CANCELLING, "", None, 0)


@pytest.mark.parametrize("wish", [True, False])
def test_what_was_sent_is_taken_back_only_where_somebody_wants_that(wish: bool) -> None:
    plan = planned(Phase.RUNNING, holder="somebody", epoch=3)
    entry = steering.cancel(Asked(ANNA), plan, take_back=wish)
    assert (plan.phase, plan.step) == (Phase.CANCELLING, "taking-back" if wish else "")
    assert entry.parameters["take_back"] is wish
    assert (plan.holder, plan.epoch) == ("somebody", 3)  # who sends just now writes down what was sent


def test_whoever_prepares_a_plan_that_is_cancelled_writes_no_more() -> None:
    for phase in (Phase.FREEZING, Phase.ARMED):
        plan = planned(phase, holder="somebody", epoch=3)
        steering.cancel(Asked(ANNA), plan, take_back=True)
        assert (plan.holder, plan.epoch, plan.step) == ("", 4, "")


# Drafts.


def test_saving_tells_once_who_changes_a_draft_over_and_over() -> None:
    plan = planned()
    for pace in (7.0, 8.0, 9.0):
        steering.save(Asked(ANNA), plan, replace(NEW, pace_to=pace))
    steering.save(Asked(BERT), plan, QUIET)
    steering.save(Asked(BERT), plan, QUIET)
    assert [(line.kind, line.who) for line in plan.lines.all()] == [("changed", "anna"), ("changed", "bert")]
    assert [entry.who for entry in AuditEntry.objects.order_by("pk")] == ["anna"] * 3 + ["bert"]


def test_saving_what_was_there_changes_nothing_but_keeps_the_draft_young() -> None:
    plan = planned()
    Replay.objects.update(changed_at=timezone.now() - timedelta(days=6))
    steering.save(Asked(ANNA), plan, QUIET)
    assert plan.changed_at > timezone.now() - timedelta(minutes=5)
    assert not said(plan)


def test_a_wish_outlives_a_broker_that_is_away(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    monkeypatch.setattr("queues.tasks.wake_replay", lambda plan, epoch: False)
    plan = planned()
    with django_capture_on_commit_callbacks(execute=True):
        steering.start(Asked(ANNA), plan, QUIET)
    assert Replay.objects.get(pk=plan.pk).phase == Phase.ARMED
