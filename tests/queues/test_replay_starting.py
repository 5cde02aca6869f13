"""The start of a replay: what it asks for, who approves it, and how it is taken back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from queues.audit import Asked, Status
from queues.errors import LimitExceeded, ReadOnly, Unsupported, WrongState
from queues.models import AuditEntry, Replay, ReplayJob, ReplayLimits
from queues.replay import freezing, steering
from queues.replay.fields import BadFields
from queues.replay.preview import Target
from queues.replay.terms import Patch, PatchKind, Terms
from queues.replay.types import Phase, Place, Told
from queues.types import Capability, QueueRef
from tests.failing import make_group
from tests.queues.fakes import FakeBackend, ScriptedActions
from tests.queues.replay_acts import ANNA, BERT, NEW, counted, ids, planned, said, started
from tests.queues.replaying import QUIET, SHOP, a_plan, a_queue

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("acted", "woken")]

OTHER = QueueRef("main", b"bull", b"mails")


def test_a_start_keeps_the_terms_waits_for_the_time_to_think_and_is_written_down_until_it_ends() -> None:
    group = make_group()
    plan = planned(group=group, words="all failed jobs of shop")
    before = timezone.now()
    entry = steering.start(Asked(ANNA, reason="fixed"), plan, NEW)
    assert Terms.of(plan.terms) == NEW
    assert (plan.started_by, plan.approved_by, plan.entry, plan.to_send) == ("anna", "", entry, 3)
    assert plan.starts_at is not None
    assert before + timedelta(seconds=10) <= plan.starts_at <= timezone.now() + timedelta(seconds=10)
    assert (entry.action, entry.status, entry.asked, entry.group) == ("replay", Status.RUNNING, 3, group)
    assert (entry.selection, entry.reason, entry.ended_at) == ("all failed jobs of shop", "fixed", None)
    assert said(plan) == [Told.CHANGED, Told.ARMED]
    facts = plan.lines.get(kind=Told.ARMED).facts
    assert facts == {"number": 3, "starts_ms": round(plan.starts_at.timestamp() * 1000)}


def test_who_changes_a_plan_is_an_entry_of_the_log_and_who_only_starts_it_has_not_changed_it() -> None:
    plan = planned()
    for terms in (NEW, NEW, replace(NEW, without_permanent=True)):
        steering.save(Asked(BERT, reason="as agreed", key="k"), plan, terms)
    steering.start(Asked(ANNA), plan, Terms.of(plan.terms))
    entries = AuditEntry.objects.order_by("pk")
    assert list(entries.values_list("action", "who")) == [("replay-change", "bert")] * 2 + [("replay", "anna")]
    assert entries[1].parameters["without_permanent"] is True
    assert (entries[0].reason, entries[0].parameters["pace_to"]) == ("as agreed", "6.0")
    assert said(plan) == [Told.CHANGED, Told.ARMED]


def test_a_start_forgets_what_another_start_left_behind() -> None:
    plan = planned(why="canary", note="odd", step="ordering", cursor="7", approved_by="bert", rest_at=timezone.now())
    steering.start(Asked(ANNA), plan, QUIET)
    assert (plan.why, plan.note, plan.step, plan.cursor, plan.approved_by, plan.rest_at) == ("", "", "", "", "", None)


def test_terms_that_cannot_be_kept_start_nothing() -> None:
    plan = planned()
    with pytest.raises(BadFields) as refused:
        steering.start(Asked(ANNA), plan, replace(QUIET, canary=4, jitter=101))
    assert set(refused.value.fields) == {"canary", "jitter"}
    plan.refresh_from_db()
    assert (plan.phase, Terms.of(plan.terms)) == (Phase.DRAFT, QUIET)
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    ("terms", "step"),
    [
        (replace(QUIET, key="customer.id"), freezing.Step.READING),
        (replace(QUIET, patch=Patch(PatchKind.MERGE, '{"a": 1}')), freezing.Step.LOOKING),
        (replace(QUIET, target="mails", acts_copy=True), freezing.Step.LOOKING),
    ],
)
def test_what_has_to_be_looked_at_first_is_kept_and_looked_at_and_nothing_starts(
    terms: Terms, step: freezing.Step
) -> None:
    a_queue(OTHER)
    plan = planned()
    with pytest.raises(WrongState, match="The plan is kept"):
        steering.start(Asked(ANNA), plan, terms)
    plan.refresh_from_db()
    assert (plan.phase, plan.step, Terms.of(plan.terms)) == (Phase.FREEZING, step, terms)
    assert not AuditEntry.objects.filter(status=Status.RUNNING).exists()
    Replay.objects.update(phase=Phase.DRAFT, step="", looked_at=timezone.now())  # it was looked at
    steering.start(Asked(ANNA), plan, terms)
    assert plan.phase == Phase.ARMED


def test_a_draft_that_somebody_changes_meanwhile_does_not_start_by_terms_that_nobody_saw(
    acted: ScriptedActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned()

    def meanwhile(_queue: QueueRef) -> str:
        steering.save(Asked(BERT), Replay.objects.get(pk=plan.pk), NEW)
        return ""

    monkeypatch.setattr(acted, "read_only", meanwhile)
    with pytest.raises(WrongState, match="Somebody has changed the plan meanwhile"):
        steering.start(Asked(ANNA), plan, QUIET)
    plan.refresh_from_db()
    assert (plan.phase, Terms.of(plan.terms)) == (Phase.DRAFT, NEW)


def test_a_plan_with_nothing_to_send_does_not_start() -> None:
    plan = a_plan(Phase.DRAFT, ids(3), place=Place.LEFT_OUT, to_send=0, left_out=3)
    plan.jobs.update(conflict="gone")
    counted(plan)
    with pytest.raises(WrongState, match="nothing to send"):
        steering.start(Asked(ANNA), plan, QUIET)


def test_a_large_plan_asks_for_the_name_of_its_queue() -> None:
    ReplayLimits.objects.create(pk=1, typed=2)
    plan = planned()
    assert steering.wanted(plan, 3) == steering.Wanted("shop", approval=False, undo_s=10)
    assert steering.wanted(plan, 2).typed == ""
    for typed in ("", "shop2"):
        with pytest.raises(BadFields) as refused:
            steering.start(Asked(ANNA), plan, QUIET, typed=typed)
        assert list(refused.value.fields) == ["sure"]
    steering.start(Asked(ANNA), plan, QUIET, typed=" shop ")
    assert plan.phase == Phase.ARMED


def test_a_plan_over_several_queues_is_called_by_its_group_or_by_its_own_name() -> None:
    plan = planned()
    ReplayJob.objects.create(replay=plan, queue=a_queue(OTHER), job="9")
    assert steering.typed_name(plan) == f"R-{plan.pk}"
    plan.group = make_group()
    assert steering.typed_name(plan) == plan.group.slug


def test_a_plan_above_the_limit_of_today_does_not_start() -> None:
    ReplayLimits.objects.create(pk=1, largest=2)
    with pytest.raises(LimitExceeded, match="at most 2 jobs"):
        steering.start(Asked(ANNA), planned(), QUIET)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.status) == ("replay", Status.REFUSED)


def test_a_source_that_takes_no_writes_refuses_starts_and_approvals(acted: ScriptedActions) -> None:
    acted.forbidden = "It is a replica."
    with pytest.raises(ReadOnly, match="replica"):
        steering.start(Asked(ANNA), planned(), QUIET)
    with pytest.raises(ReadOnly, match="replica"):
        steering.approve(Asked(ANNA), planned(Phase.WAITING))


def test_a_backend_that_cannot_send_again_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeBackend, "capabilities", frozenset(Capability) - {Capability.REPLAYS})
    with pytest.raises(Unsupported, match="cannot be replayed"):
        steering.start(Asked(ANNA), planned(), QUIET)


def test_copies_are_not_sent_where_no_target_can_take_them(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = Target(SHOP, 2, 2, too_old=True), Target(OTHER, 1, 1)
    monkeypatch.setattr("queues.replay.steering.starting.targets", lambda *_given: ([old], 0))
    with pytest.raises(Unsupported, match="The queue shop is of BullMQ 4"):
        steering.start(Asked(ANNA), planned(), QUIET)
    monkeypatch.setattr("queues.replay.steering.starting.targets", lambda *_given: ([old, new], 0))
    plan = planned()
    steering.start(Asked(ANNA), plan, QUIET)
    assert plan.phase == Phase.ARMED


def test_what_is_left_out_by_choice_counts_for_no_limit() -> None:
    ReplayLimits.objects.create(pk=1, typed=1, approval=1)
    plan = planned()
    plan.jobs.filter(job="1").update(conflict="twin")
    plan.jobs.filter(job="2").update(permanent=True)
    steering.start(Asked(ANNA), counted(plan), replace(QUIET, without_permanent=True))
    assert (plan.phase, plan.to_send) == (Phase.ARMED, 1)


# A second person.


def test_above_the_limit_a_second_person_approves_and_never_who_started() -> None:
    plan = started(approval=2)
    assert (plan.phase, plan.started_by, plan.starts_at) == (Phase.WAITING, "anna", None)
    assert said(plan) == [Told.ASKED]
    with pytest.raises(WrongState, match="somebody else has to approve"):
        steering.approve(Asked(ANNA), plan)
    plan.refresh_from_db()
    assert plan.phase == Phase.WAITING
    steering.approve(Asked(BERT), plan)
    assert (plan.phase, plan.started_by, plan.approved_by) == (Phase.ARMED, "anna", "bert")
    assert plan.starts_at is not None
    assert plan.entry is not None
    assert (plan.entry.status, plan.entry.who) == (Status.RUNNING, "anna")


def test_a_plan_at_the_limit_needs_nobody_else() -> None:
    assert started(approval=3).phase == Phase.ARMED


def test_who_refuses_makes_it_a_draft_and_the_start_tells() -> None:
    plan = started(approval=0)
    entry = plan.entry
    steering.refuse(Asked(BERT, reason="not before noon"), plan)
    assert (plan.phase, plan.entry, plan.started_by) == (Phase.DRAFT, None, "")
    assert entry is not None
    entry.refresh_from_db()
    assert entry.status == Status.REFUSED
    assert "bert refused" in entry.note
    assert entry.ended_at is not None
    assert plan.lines.get(kind=Told.REFUSED).facts == {"reason": "not before noon"}


@pytest.mark.parametrize("lowered", [{"fastest": 5.0}, {"largest": 2}])
def test_limits_that_were_lowered_meanwhile_hold_for_whoever_approves(lowered: dict[str, float]) -> None:
    plan = started(approval=0)
    ReplayLimits.objects.update(**lowered)
    with pytest.raises(LimitExceeded):
        steering.approve(Asked(BERT), plan)
    plan.refresh_from_db()
    assert plan.phase == Phase.WAITING


def test_what_was_asked_for_anew_since_the_page_was_read_is_not_approved_by_it() -> None:
    plan = started(approval=0)
    seen = plan.entry_id
    steering.take_back(Asked(ANNA), plan)
    steering.start(Asked(ANNA), plan, NEW)
    with pytest.raises(WrongState, match="look at it again"):
        steering.approve(Asked(BERT), plan, seen=seen)
    steering.approve(Asked(BERT), plan, seen=plan.entry_id)
    assert plan.phase == Phase.ARMED


def test_a_start_that_is_taken_back_leaves_a_draft_that_can_start_again() -> None:
    plan = started()
    entry = plan.entry
    Replay.objects.update(holder="somebody", epoch=7, step="ordering", cursor="42")
    steering.take_back(Asked(BERT), plan)
    assert (plan.phase, plan.starts_at, plan.step, plan.cursor) == (Phase.DRAFT, None, "", "")
    assert (plan.holder, plan.epoch) == ("", 8)  # whoever prepares it writes no more
    assert entry is not None
    entry.refresh_from_db()
    assert (entry.status, entry.note) == (Status.STOPPED, "bert took the start back. Nothing was sent.")
    steering.start(Asked(ANNA), plan, QUIET)
    assert plan.phase == Phase.ARMED
    assert plan.entry_id != entry.pk
