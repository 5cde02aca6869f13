"""Replays do not stay for ever: what becomes of drafts, of what was discarded, and of ledgers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from queues import audit, retention
from queues.models import AuditEntry, Replay, ReplayJob, ReplayLine, ReplayQueue, ReplaySpan
from queues.replay import steering
from queues.replay.forgetting import FORGOTTEN
from queues.replay.types import ENDED, Phase, Told
from tests.queues.replaying import OLGA, a_plan, a_queue

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ninety(settings: Settings) -> None:
    settings.MIRANTE_REPLAYS_DAYS = 90


def ids(number: int) -> list[bytes]:
    return [b"%d" % each for each in range(number)]


def aged(plan: Replay, days: float, **values: object) -> Replay:
    """A plan that was last touched so long ago."""
    at = timezone.now() - timedelta(days=days)
    told = {"ended_at": at} if plan.phase in ENDED else {}
    Replay.objects.filter(pk=plan.pk).update(changed_at=at, **told, **values)
    return plan


def started(plan: Replay) -> AuditEntry:
    entry = audit.record(OLGA.by, "replay", source="main", parameters={"replay": str(plan)})
    Replay.objects.filter(pk=plan.pk).update(entry=entry)
    return entry


def full(phase: Phase, jobs: int = 25) -> Replay:
    """A plan with rows of every kind, and new data."""
    plan = a_plan(phase, ids(jobs), data=b'{"card": 1}', before=b'{"card": 2}')
    ReplayLine.objects.create(replay=plan, kind=Told.DONE)
    ReplaySpan.objects.bulk_create(ReplaySpan(replay=plan, span=each) for each in range(25))
    ReplayQueue.objects.create(replay=plan, queue=a_queue())
    return plan


@pytest.mark.parametrize("phase", ENDED)
def test_what_ended_long_ago_loses_its_rows_in_batches_and_keeps_its_summary(
    phase: Phase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 10)
    old, young = full(phase), full(phase)
    entry = started(old)
    aged(old, 91, completed=20, failed=5)
    aged(young, 89)
    assert retention.forget_old_replays() == 1
    old.refresh_from_db()
    assert (old.step, old.total, old.completed, old.failed) == (FORGOTTEN, 25, 20, 5)
    assert old.data is old.before is None
    assert old.entry == entry
    for part in (ReplayJob, ReplayLine, ReplaySpan, ReplayQueue):
        assert set(part._default_manager.values_list("replay", flat=True)) == {young.pk}
    assert retention.forget_old_replays() == 0


def test_a_summary_goes_with_the_entry_of_its_start_and_what_never_started_goes_at_once(settings: Settings) -> None:
    settings.MIRANTE_AUDIT_DAYS = 365
    done, never = full(Phase.DONE), full(Phase.CANCELLED)
    entry = started(done)
    for plan in (done, never):
        aged(plan, 91)
    retention.forget_old_replays()
    assert list(Replay.objects.all()) == [done]
    AuditEntry.objects.filter(pk=entry.pk).update(at=timezone.now() - timedelta(days=366))
    retention.forget_old_entries()
    assert Replay.objects.get().entry is None
    retention.forget_old_replays()
    assert not Replay.objects.exists()


def test_a_plan_whose_end_was_not_written_counts_from_when_it_was_last_touched() -> None:
    plan = aged(a_plan(Phase.FAILED, ids(3)), 91)
    Replay.objects.filter(pk=plan.pk).update(ended_at=None)
    retention.forget_old_replays()
    assert not Replay.objects.exists()


def test_no_days_keep_ledgers_for_ever(settings: Settings) -> None:
    settings.MIRANTE_REPLAYS_DAYS = 0
    aged(full(Phase.DONE), 5_000)
    assert retention.forget_old_replays() == 0
    assert ReplayJob.objects.count() == 25


@pytest.mark.parametrize("phase", sorted(set(Phase) - ENDED - {Phase.DRAFT}))
def test_what_has_not_ended_stays_however_old(phase: Phase) -> None:
    aged(full(phase), 5_000)
    assert retention.forget_old_replays() == 0
    assert ReplayJob.objects.count() == 25


def test_a_draft_that_nobody_touched_for_a_week_is_discarded_and_the_log_says_so() -> None:
    idle, touched = full(Phase.DRAFT), full(Phase.DRAFT)
    aged(idle, 7.1)
    aged(touched, 6.9)
    assert retention.forget_old_replays() == 1
    assert list(Replay.objects.all()) == [touched]
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.who, entry.source) == ("replay-discard", "", "main")
    assert entry.parameters == {"replay": idle.pk, "jobs": 25}
    assert "Nobody touched the draft for 7 days" in entry.note


def test_a_draft_that_somebody_touches_just_then_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = aged(a_plan(Phase.DRAFT, ids(3)), 8)
    atomic = transaction.atomic

    def touched(**options: Any) -> object:
        Replay.objects.filter(pk=plan.pk).update(changed_at=timezone.now())
        return atomic(**options)

    with monkeypatch.context() as patched:
        patched.setattr("queues.replay.forgetting.transaction.atomic", touched)
        retention.forget_old_replays()
    plan.refresh_from_db()
    assert plan.phase == Phase.DRAFT
    assert not AuditEntry.objects.exists()


def test_a_large_plan_that_is_discarded_is_deleted_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queues.replay.steering.drafts.AT_ONCE", 5)
    monkeypatch.setattr(retention, "BATCH", 2)
    plan = full(Phase.DRAFT)
    steering.discard(OLGA, plan)
    assert ReplayJob.objects.count() == 25
    monkeypatch.setattr(retention, "LONGEST_S", -1.0)  # no time
    assert retention.forget_old_replays() == 0
    assert ReplayJob.objects.count() == 25
    monkeypatch.setattr(retention, "LONGEST_S", 5.0)
    assert retention.forget_old_replays() == 1
    assert not Replay.objects.exists()
    assert not ReplayJob.objects.exists()
    assert AuditEntry.objects.get().action == "replay-discard"
