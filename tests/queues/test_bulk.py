"""Actions over many jobs: frozen, done once, stopped, pruned, and honest about all of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from celery import current_app
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from queues import audit, operations, registry, tasks
from queues.actions import Action, Outcome, Target
from queues.audit import Actor, Asked, Status, before
from queues.bulk import Phase, lease, pruning, running
from queues.bulk.packing import LARGEST, batches, pack, unpack
from queues.bulk.progress import progress
from queues.errors import BadInput, LimitExceeded, Unreachable, WrongState
from queues.models import AuditEntry, BulkBatch
from queues.types import JobRef, State
from tests.queues.acting import OLGA, SHOP, FakeActions, a_slice, bulk_of, outcome, retry, retry_all, to_its_end

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_tasks")]

LATE = Asked(Actor("bert", "operator", "10.0.0.2"))
WAKE = tasks.wake_bulk  # before `no_tasks` takes its place


@given(st.lists(st.tuples(st.binary(max_size=40), st.binary(max_size=20)), max_size=50))
def test_what_is_packed_comes_back_to_the_byte(pairs: list[tuple[bytes, bytes]]) -> None:
    targets = [Target(*pair) for pair in pairs]
    assert unpack(pack(targets)) == targets


def test_a_batch_holds_a_thousand_jobs_or_a_megabyte_of_ids() -> None:
    assert [len(part) for part in batches([Target(b"1")] * 2_500)] == [1_000, 1_000, 500]
    huge = [Target(b"x" * (LARGEST // 2))] * 5
    assert [len(part) for part in batches(huge)] == [2, 2, 1]
    assert not list(batches([]))


def test_all_that_match_are_written_down_before_the_first_is_touched_and_then_done(shop: FakeActions) -> None:
    shop.fail(2_500)
    seen: list[int] = []
    shop.before = lambda: seen.append(BulkBatch.objects.count())
    entry = retry_all(expected=2_500)
    assert entry.status == Status.RUNNING
    assert not shop.asked
    entry = to_its_end(entry)
    assert outcome(entry) == ("done", {"done": 2_500})
    assert sorted(shop.retried, key=int) == [b"%d" % each for each in range(2_500)]
    assert seen[shop.pages :] == [3, 3, 3]  # every batch was there when the first was sent
    assert (entry.asked, len(entry.jobs), entry.exceptions, entry.note) == (2_500, 1_000, [], "")
    assert entry.ended_at
    assert entry.duration_ms is not None


def test_what_came_to_the_state_later_is_not_meant(shop: FakeActions) -> None:
    shop.fail(5)
    shop.failed[b"9"] = b"6000"
    assert outcome(to_its_end(retry_all(until_ms=5_000))) == ("done", {"done": 5})
    assert list(shop.failed) == [b"9"]


def test_given_jobs_are_acted_on_as_they_were_seen_and_exceptions_are_listed(shop: FakeActions) -> None:
    shop.fail(2)
    shop.failed[b"7"] = b"2000"  # failed again since it was looked at
    entry = to_its_end(retry(b"0", b"1", b"7", b"8"))
    assert outcome(entry) == ("done", {"done": 2, "wrong-state": 1, "already": 1})
    assert [told["job"] for told in entry.exceptions] == ["7", "8"]
    assert entry.jobs == ["0", "1", "7", "8"]


def test_a_job_of_an_overlong_id_is_named_by_what_that_begins_with(shop: FakeActions) -> None:
    entry = to_its_end(retry(b"1", b"9" * 5_000))
    short, long = entry.jobs
    assert short == "1"
    assert long.startswith("999")
    assert len(long) == 2_000


def test_nothing_that_matches_ends_as_done_with_no_outcome(shop: FakeActions) -> None:
    entry = to_its_end(retry_all(expected=0))
    assert outcome(entry) == ("done", {})
    assert entry.asked == 0


def test_the_same_form_sent_twice_begins_one_action(shop: FakeActions) -> None:
    shop.fail(3)
    asked = type(OLGA)(OLGA.by, key="form-1")
    first, second = (
        operations.start_bulk(asked, SHOP, Action.RETRY, [Target(b"0", b"1000")], state=State.FAILED, parameters={})
        for _again in range(2)
    )
    assert first.pk == second.pk
    assert lease.unended().count() == 1


def test_two_actions_over_the_same_jobs_do_each_once(shop: FakeActions) -> None:
    shop.fail(1_500)
    first, second = retry_all(), retry_all()
    a_slice(first, seconds=0)
    ended = [to_its_end(entry) for entry in (second, first)]
    assert sum(entry.outcomes.get("done", 0) for entry in ended) == 1_500
    assert len(shop.retried) == len(set(shop.retried)) == 1_500


def test_who_comes_later_is_told_who_had_done_it_as_one_of_many(shop: FakeActions) -> None:
    """AC-04: an action over all that match names no job; its batches do."""
    shop.fail(2_500)
    first = to_its_end(retry_all())
    job = shop.retried[1_700]
    late = operations.retry(LATE, SHOP, [Target(job)], state=State.FAILED, reset=False)
    [told] = audit.exceptions(late)
    assert (told.outcome, told.by, told.at) == (Outcome.ALREADY, first.who, first.at)
    assert before.who_did("retry", JobRef(SHOP, shop.retried[2_400])) == before.Before(first.who, first.at)
    assert before.who_did("retry", JobRef(SHOP, b"another")) is None
    assert before.who_did("promote", JobRef(SHOP, job)) is None


def test_a_slice_ends_in_time_and_the_next_goes_on(shop: FakeActions) -> None:
    shop.fail(5_000)
    entry = retry_all()
    slices = 0
    while a_slice(entry, seconds=0.000001):
        slices += 1
        assert not bulk_of(entry).holder
    entry.refresh_from_db()
    assert slices > 5
    assert outcome(entry) == ("done", {"done": 5_000})
    assert "interrupted" not in entry.note


def test_a_task_of_before_does_nothing(shop: FakeActions) -> None:
    shop.fail(5_000)
    entry = retry_all()
    bulk = bulk_of(entry)
    assert running.run(bulk.pk, bulk.epoch, slice_s=0.000001)
    assert running.run(bulk.pk, bulk.epoch) is None
    assert bulk_of(entry).phase != Phase.ENDED


def test_an_action_is_stopped_after_its_batch_and_says_what_is_left(shop: FakeActions) -> None:
    shop.fail(3_000)
    entry = retry_all(expected=3_000)

    def stops() -> None:
        operations.stop(OLGA, entry)

    shop.after = stops
    entry = to_its_end(entry)
    assert outcome(entry) == ("stopped", {"done": 1_000})
    assert entry.note == "Stopped by olga. 2,000 jobs were not handled."
    assert audit.in_words(entry) == "Retried 1,000 jobs. Stopped by olga. 2,000 jobs were not handled."
    asking = AuditEntry.objects.get(action="stop")
    assert (asking.who, asking.parameters["entry"]) == ("olga", entry.pk)


def test_an_action_that_is_stopped_before_it_began_does_nothing(shop: FakeActions) -> None:
    shop.fail(3)
    entry = retry_all(expected=3)
    operations.stop(OLGA, entry)
    told = progress(entry)
    assert told
    assert told.stop_asked_by == "olga"
    entry = to_its_end(entry)
    assert outcome(entry) == ("stopped", {})
    assert "3 jobs were not handled" in entry.note
    assert not shop.retried


@pytest.mark.parametrize("end", ["done", "stopped"])
def test_what_was_typed_is_kept_as_it_was_only_while_it_is_needed(end: str, shop: FakeActions) -> None:
    """The entry of the log keeps it masked; what the backend is given has to be exact."""
    given: dict[str, object] = {"reason": "Bearer k3f9x2LmPq7Rt8vW1zYb"}
    name = "password=correct-horse"
    entry = operations.start_bulk(
        OLGA, SHOP, Action.FAIL, None, state=State.ACTIVE, name=name, until_ms=5_000, parameters=given
    )
    assert (bulk_of(entry).name, bulk_of(entry).parameters) == (name, given)
    if end == "stopped":
        operations.stop(OLGA, entry)
    entry = to_its_end(entry)
    assert entry.status == end
    kept = str([vars(row) for row in (entry, bulk_of(entry))])
    assert "horse" not in kept
    assert "k3f9x2" not in kept


def test_what_has_ended_cannot_be_stopped(shop: FakeActions) -> None:
    entry = to_its_end(retry_all())
    with pytest.raises(WrongState):
        operations.stop(OLGA, entry)
    assert AuditEntry.objects.get(action="stop").status == Status.REFUSED


def test_more_jobs_than_the_limit_are_refused_or_left(shop: FakeActions, settings: Settings) -> None:
    settings.MIRANTE_BULK_MAX = 1_200
    shop.fail(2_500)
    with pytest.raises(LimitExceeded):
        retry_all(expected=2_500)
    assert AuditEntry.objects.get().status == Status.REFUSED
    entry = to_its_end(retry_all(expected=1_100))
    assert outcome(entry) == ("done", {"done": 1_200})
    assert "limit of 1,200" in entry.note


def test_what_no_form_asks_for_is_refused(shop: FakeActions) -> None:
    for action, state, parameters in (
        (Action.PROMOTE, State.FAILED, {}),
        (Action.REMOVE, State.ACTIVE, {}),
        (Action.DELAY, State.DELAYED, {}),
        (Action.PRIORITY, State.WAITING, {"priority": "high"}),
        (Action.EDIT, State.FAILED, {}),
        (Action.RETRY, None, {}),
    ):
        with pytest.raises(BadInput):
            operations.start_bulk(OLGA, SHOP, action, None, state=state, parameters=parameters)
    assert not AuditEntry.objects.exists()


def test_a_source_that_is_away_at_the_start_leaves_an_entry_and_nothing_to_run(shop: FakeActions) -> None:
    registry.backend("main").down = "refuses connections."  # type: ignore[attr-defined]
    with pytest.raises(Unreachable):
        operations.start_bulk(OLGA, SHOP, Action.RETRY, None, state=State.FAILED, parameters={})
    assert AuditEntry.objects.get().status == Status.FAILED
    assert not lease.unended()


def test_the_pace_and_the_rest_are_told_once_they_are_known(shop: FakeActions) -> None:
    shop.fail(2_500)
    entry = retry_all(expected=2_500)
    told = progress(entry)
    assert told
    assert (told.phase, told.handled, told.total, told.rate, told.remaining_s) == ("collecting", 0, 2_500, None, None)
    while bulk_of(entry).handled < 1_000:
        a_slice(entry, seconds=0.000001)
    bulk = bulk_of(entry)
    assert bulk.beat_at
    lease.unended().update(rated_at=bulk.beat_at - timedelta(seconds=10), rated_handled=0)
    entry.refresh_from_db()
    told = progress(entry)
    assert told
    assert (told.phase, told.handled, told.total) == ("acting", 1_000, 2_500)
    assert (told.rate, told.remaining_s) == (100.0, 15.0)
    assert told.outcomes == {"done": 1_000}
    told = progress(to_its_end(entry))
    assert told
    assert (told.phase, told.handled, told.remaining_s) == ("ended", 2_500, None)


def test_tasks_run_an_action_to_its_end_and_the_clock_takes_up_what_rests(
    shop: FakeActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "SLICE_S", 0)
    shop.fail(2_500)
    entry = retry_all()
    assert shop.retried == []  # nobody was told
    current_app.conf.task_always_eager = True
    try:
        tasks.run_bulks()
    finally:
        current_app.conf.task_always_eager = False
    entry.refresh_from_db()
    assert outcome(entry) == ("done", {"done": 2_500})
    assert len(shop.asked) == 3


def test_an_action_begins_without_a_broker_and_the_clock_finds_it(
    shop: FakeActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    def refuses(task: object, *arguments: object, **options: object) -> bool:
        told.append(str(task))
        return False

    monkeypatch.setattr(tasks, "wake_bulk", WAKE)
    monkeypatch.setattr(tasks, "_send", refuses)
    shop.fail(1)
    entry = retry(b"0")
    assert len(told) == 1
    assert running.resting() == [(bulk_of(entry).pk, 0)]


def test_batches_are_forgotten_a_day_after_the_end(shop: FakeActions) -> None:
    shop.fail(1_001)
    old, open_ = to_its_end(retry_all()), retry(b"1")
    assert pruning.forget_old_batches() == 0
    AuditEntry.objects.filter(pk=old.pk).update(ended_at=timezone.now() - timedelta(days=1, minutes=1))
    assert pruning.forget_old_batches() == 2
    assert [batch.bulk.entry_id for batch in BulkBatch.objects.all()] == [open_.pk]
