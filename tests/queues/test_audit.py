"""The log of actions: what stands in it, how it is found, and how it reads."""

from __future__ import annotations

import logging
import sqlite3
from datetime import timedelta
from itertools import product

import pytest
from django.db import connection
from django.utils import timezone
from django.utils.translation import override
from pytest_django.fixtures import DjangoAssertNumQueries, Settings

from queues import audit, operations, retention
from queues.actions import Action, Outcome, Result, Step, Target
from queues.audit import Actor, Asked, Filters, Status
from queues.audit import found as finding
from queues.audit.exceptional import moment
from queues.audit.tally import EXCEPTIONS_KEPT, Tally
from queues.errors import BadInput
from queues.models import AuditEntry, Bulk
from queues.types import QueueRef, State
from tests.queues.fakes import ScriptedActions

pytestmark = pytest.mark.django_db

SHOP = QueueRef("main", b"bull", b"shop")
ANNA, BERT = Actor("anna", "operator"), Actor("bert", "admin")


def targets(number: int) -> list[Target]:
    return [Target(b"%d" % each) for each in range(1, number + 1)]


def ended(action: Action, *results: Result, status: Status = Status.DONE, note: str = "") -> AuditEntry:
    """An entry as an action with these results leaves it."""
    tally = Tally()
    tally.add(results)
    return AuditEntry(
        at=timezone.now(),
        who="anna",
        action=action,
        source="main",
        queue="shop",
        jobs=[result.id.decode() for result in results],
        status=status,
        note=note,
        outcomes=tally.outcomes,
        exceptions=tally.exceptions,
        parameters=tally.told,
    )


def results(outcome: Outcome, number: int, state: State | None = None, why: str = "") -> list[Result]:
    return [Result(b"%d" % each, outcome, state, why=why) for each in range(1, number + 1)]


def said(action: Action, *some: Result) -> str:
    return audit.in_words(ended(action, *some))


def test_outcomes_read_as_a_person_would_say_them() -> None:
    done, running = results(Outcome.DONE, 41), results(Outcome.WRONG_STATE, 9, State.ACTIVE)
    assert said(Action.RETRY, *done, *running) == "Retried 41 of 50; 9 were already running"
    kept = results(Outcome.SCHEDULED, 1)
    assert (
        said(Action.REMOVE, *results(Outcome.DONE, 3), *kept)
        == "Removed 3 of 4; 1 is a scheduler’s next run and was kept"
    )
    assert said(Action.RETRY, *results(Outcome.DONE, 1200)) == "Retried 1,200 jobs"
    assert said(Action.RETRY, *results(Outcome.ALREADY, 2)) == "Retried none of 2; 2 were already waiting"
    mixed = [*results(Outcome.WRONG_STATE, 1, State.ACTIVE), *results(Outcome.WRONG_STATE, 2, State.COMPLETED)]
    assert said(Action.RETRY, *mixed) == "Retried none of 3; 2 were already completed; 1 was already running"
    unknown = [*mixed, *results(Outcome.WRONG_STATE, 1)]
    assert said(Action.RETRY, *unknown) == "Retried none of 4; 4 were in another state by then"
    parents = results(Outcome.UNSUPPORTED, 2, why="Not on 4.x.")
    assert said(Action.PRIORITY, *parents).endswith("it cannot be done to 2 of them (Not on 4.x)")


def test_one_job_is_called_by_its_id() -> None:
    assert said(Action.RETRY, *results(Outcome.DONE, 1)) == "Retried job 1"
    assert said(Action.RETRY, *results(Outcome.WRONG_STATE, 1, State.COMPLETED)) == (
        "Job 1 is completed by now: nothing was done"
    )
    locked = Result(b"1", Outcome.LOCKED, lock_ms=12_400)
    assert said(Action.REMOVE, locked) == "Job 1 is held by a worker, for 12 s more unless renewed: nothing was done"
    assert said(Action.EDIT, *results(Outcome.CHANGED, 1)).startswith("Job 1 was changed by somebody else")


@pytest.mark.parametrize(
    ("state", "lone", "some"),
    [
        (State.FAILED, "was run again since the page was read, and has failed again", "had failed again"),
        (State.COMPLETED, "was run again since the page was read, and has completed again", "had completed again"),
        (State.DELAYED, "was in another state since the page was read, and is delayed again", "were delayed again"),
    ],
)
def test_jobs_that_are_back_in_their_state_are_said_to_have_come_back(state: State, lone: str, some: str) -> None:
    def words(number: int) -> str:
        told = ended(Action.REMOVE, *results(Outcome.WRONG_STATE, number, state))
        told.parameters = {"state": state.value}
        return audit.in_words(told)

    assert words(1) == f"Job 1 {lone}: nothing was done"
    assert words(2) == f"Removed none of 2; 2 {some} since the list was read"


@pytest.mark.parametrize("action", list(Action))
def test_nothing_is_left_without_words(action: Action) -> None:
    statuses = (Status.DONE, Status.FAILED, Status.STOPPED, Status.UNSURE)
    for outcome, number, status in product(Outcome, (0, 1, 3), statuses):
        text = audit.in_words(ended(action, *results(outcome, number), status=status, note="Why."))
        assert text, (outcome, number, status)
        assert "%(" not in text
        assert "None" not in text


def test_what_there_is_to_know_besides_is_told_too() -> None:
    parent = "Its parent has failed: retry it after this job has completed."
    entry = ended(Action.RETRY, *results(Outcome.DONE, 2, why=parent))
    assert audit.in_words(entry) == f"Retried 2 jobs. {parent}"
    assert [told.why for told in audit.exceptions(entry)] == [parent] * 2
    entry = ended(Action.REMOVE, *results(Outcome.DONE, 2), note="Of 1 removed job no copy is kept.")
    assert audit.in_words(entry) == "Removed 2 jobs. Of 1 removed job no copy is kept."


def test_of_a_queue_there_is_a_reason_and_no_exceptional_job(acted: ScriptedActions) -> None:
    acted.answers["concurrency"] = Result(b"", Outcome.UNSUPPORTED, why="BullMQ 4 works on this queue.")
    entry = operations.concurrency(Asked(ANNA), SHOP, 5)
    assert not audit.exceptions(entry)
    assert audit.in_words(entry) == "This cannot be done here. BullMQ 4 works on this queue."


def test_what_runs_or_was_lost_says_so() -> None:
    entry = ended(Action.RETRY, status=Status.RUNNING)
    assert audit.in_words(entry) == "It is under way"
    entry.status = Status.STARTED  # as when its process has died just now
    assert audit.in_words(entry) == "It was begun, and its end is not known yet"
    entry.at = timezone.now() - timedelta(hours=1)
    assert audit.in_words(entry) == "It was begun, and it is not known how it ended"


def test_the_same_sentence_is_said_once() -> None:
    why = "The server is a replica."
    for action in (Action.PAUSE, Action.RESTORE):
        told = ended(action, *results(Outcome.CHANGED, 1, why=why), status=Status.REFUSED, note=why)
        assert audit.in_words(told).count("is a replica") == 1


def test_children_that_went_along_are_told() -> None:
    assert said(Action.REMOVE, Result(b"1", Outcome.DONE, removed=2)) == "Removed job 1; 2 children went with it"
    assert said(Action.REMOVE_CHILDREN, Result(b"1", Outcome.DONE, removed=1)) == "Removed 1 child"


def test_an_action_that_found_it_done_says_by_whom(acted: ScriptedActions) -> None:
    operations.retry(Asked(ANNA), SHOP, targets(2), state=State.FAILED, reset=False)
    acted.answers["retry"] = [Result(b"2", Outcome.ALREADY, State.WAITING)]
    entry = operations.retry(Asked(BERT), SHOP, targets(2)[1:], state=State.FAILED, reset=False)
    first = AuditEntry.objects.earliest("pk")
    [told] = audit.exceptions(entry)
    assert (told.by, told.at) == ("anna", first.at)
    assert audit.in_words(entry) == f"Job 2 is already waiting (by anna at {moment(first.at)})"


def test_nobody_is_named_for_what_the_log_does_not_know(acted: ScriptedActions) -> None:
    acted.answers["retry"] = [Result(b"1", Outcome.ALREADY)]
    entry = operations.retry(Asked(BERT), SHOP, targets(1), state=State.FAILED, reset=False)
    assert audit.exceptions(entry)[0].by == ""
    assert audit.in_words(entry) == "Job 1 is already waiting"


def test_exceptions_come_back_as_they_were_and_only_the_first_thousand() -> None:
    tally = Tally()
    tally.add([Result(b"a:\xff", Outcome.LOCKED, State.ACTIVE, 500, "Held.")])
    tally.add(results(Outcome.GONE, 2_000))
    tally.step(Step(5, {Outcome.SCHEDULED: 2}, results(Outcome.SCHEDULED, 2)))
    assert tally.outcomes == {"locked": 1, "gone": 2_000, "done": 5, "scheduled": 2}
    assert len(tally.exceptions) == EXCEPTIONS_KEPT
    entry = AuditEntry.objects.create(action="retry", outcomes=tally.outcomes, exceptions=tally.exceptions)
    entry.refresh_from_db()
    first = audit.exceptions(entry)[0]
    assert (first.outcome, first.state, first.lock_ms, first.why) == (Outcome.LOCKED, State.ACTIVE, 500, "Held.")
    assert first.label == "a:�"
    assert list(audit.counts(entry)) == [Outcome.DONE, Outcome.GONE, Outcome.LOCKED, Outcome.SCHEDULED]


def test_any_other_act_and_any_refusal_is_written_too() -> None:
    audit.record(ANNA, "reveal", queue=SHOP, jobs=["7"], parameters={"field": "data", "token": "hunter2"})
    audit.refused(BERT, "obliterate", queue=SHOP, note="Only an admin may.")
    second, first = AuditEntry.objects.order_by("-pk")
    assert (first.who, first.action, first.jobs, first.status) == ("anna", "reveal", ["7"], Status.DONE)
    assert first.parameters["field"] == "data"
    assert "hunter2" not in str(first.parameters)
    assert (second.who, second.role, second.status) == ("bert", "admin", Status.REFUSED)
    assert audit.in_words(second) == "Refused: Only an admin may."


@pytest.mark.django_db(transaction=True)
def test_a_refusal_stands_also_when_it_cannot_be_written(caplog: pytest.LogCaptureFixture) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("other databases lock rows")
    connection.ensure_connection()
    connection.connection.execute("PRAGMA busy_timeout = 100")
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with caplog.at_level(logging.WARNING):
            audit.refused(BERT, "obliterate", queue=SHOP)
        other.execute("ROLLBACK")
    finally:
        other.close()
        connection.close()
    assert "A refusal could not be written: bert, obliterate" in caplog.text


def test_pages_go_through_all_entries_in_both_directions(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    for _number in range(25):
        audit.record(ANNA, "sign-in")
    everything = list(AuditEntry.objects.order_by("-pk"))
    with django_assert_num_queries(1):
        first = audit.find(Filters(), size=10)
    second = audit.find(Filters(), older=first.older, size=10)
    third = audit.find(Filters(), older=second.older, size=10)
    assert [*first.entries, *second.entries, *third.entries] == everything
    assert (first.newer, third.older) == ("", "")
    audit.record(ANNA, "sign-in")  # what is new moves nobody
    back = audit.find(Filters(), newer=third.newer, size=10)
    assert list(back.entries) == list(second.entries)
    assert audit.find(Filters(), newer=back.newer, size=10).entries == first.entries
    [newest] = audit.find(Filters(), newer=str(everything[0].pk), size=10).entries
    assert newest.pk > everything[0].pk


def test_entries_are_found_by_who_what_where_and_when() -> None:
    now = timezone.now()
    old = audit.record(ANNA, "pause", queue=SHOP)
    AuditEntry.objects.filter(pk=old.pk).update(at=now - timedelta(days=2))
    other = audit.record(BERT, "pause", queue=QueueRef("other", b"bull", b"shop"))
    no = audit.refused(BERT, "drain", queue=SHOP)

    def found(**wanted: object) -> list[int]:
        return sorted(entry.pk for entry in audit.find(Filters(**wanted)).entries)  # type: ignore[arg-type]

    assert found(who="anna") == [old.pk]
    assert found(action="pause") == [old.pk, other.pk]
    assert found(source="main", queue="shop") == [old.pk, no.pk]
    assert found(status=Status.REFUSED) == [no.pk]
    assert found(since=now - timedelta(hours=1)) == [other.pk, no.pk]
    assert found(until=now - timedelta(hours=1)) == [old.pk]
    assert found(who="anna", action="drain") == []


@pytest.mark.parametrize("cursor", ["x", "-1", "1" * 30, "١"])
def test_a_link_into_the_log_that_is_none_of_ours_is_refused(cursor: str) -> None:
    with pytest.raises(BadInput):
        audit.find(Filters(), older=cursor)


def test_an_export_has_all_entries_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "EXPORT_CHUNK", 10)
    for number in range(25):
        audit.record(ANNA if number % 2 else BERT, "sign-in")
    assert [entry.pk for entry in audit.each(Filters())] == sorted(
        AuditEntry.objects.values_list("pk", flat=True), reverse=True
    )
    assert {entry.who for entry in audit.each(Filters(who="anna"))} == {"anna"}


def test_entries_go_after_their_time_and_what_runs_stays(settings: Settings) -> None:
    for days, status in ((400, Status.DONE), (400, Status.RUNNING), (10, Status.DONE)):
        entry = AuditEntry.objects.create(action="retry", status=status)
        AuditEntry.objects.filter(pk=entry.pk).update(at=timezone.now() - timedelta(days=days))
        Bulk.objects.create(entry=entry, until_ms=0)
    settings.MIRANTE_AUDIT_DAYS = 0
    assert retention.forget_old_entries() == 0
    settings.MIRANTE_AUDIT_DAYS = 365
    assert retention.forget_old_entries() == 1
    assert AuditEntry.objects.count() == Bulk.objects.count() == 2


def test_names_that_could_turn_a_sentence_around_are_written_out() -> None:
    entry = ended(Action.RETRY, Result(b"1", Outcome.DONE))
    entry.jobs = ["~" + "4oCuZXZpbA"]  # U+202E and "evil"
    with override("en"):
        assert audit.in_words(entry) == "Retried job \\u202eevil"
