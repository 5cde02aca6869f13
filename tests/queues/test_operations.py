"""Every action: written down before it begins, done once for a form, and honest about how it ended."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence

import pytest
from django.db import OperationalError, connection, connections, transaction
from pytest_django.fixtures import Settings

from queues import audit, operations, outages
from queues.actions import Action, NewJob, Outcome, Result, Step, Stored, Target
from queues.audit import Actor, Asked, Status, log
from queues.errors import (
    BadInput,
    LimitExceeded,
    NotFound,
    OutOfMemory,
    QueueError,
    ReadOnly,
    Unreachable,
    Unsupported,
    Unsure,
    WrongState,
)
from queues.models import AuditEntry, Source
from queues.types import JobRef, QueueRef, State
from tests.queues.fakes import ScriptedActions

pytestmark = pytest.mark.django_db(transaction=True)

SHOP = QueueRef("main", b"bull", b"shop")
JOB = JobRef(SHOP, b"7")
ANNA = Actor("anna", "operator", "10.0.0.1")
SOME = [Target(b"1", b"5"), Target(b"2", b"6"), Target(b"3")]


def asked(key: str = "", reason: str = "", by: Actor = ANNA) -> Asked:
    return Asked(by, key, reason)


def retry(ask: Asked, targets: Sequence[Target] = SOME) -> AuditEntry:
    return operations.retry(ask, SHOP, targets, state=State.FAILED, reset=False)


EVERY: list[tuple[Action, str, Callable[[Asked], AuditEntry]]] = [
    (Action.RETRY, "retry", retry),
    (Action.PROMOTE, "promote", lambda ask: operations.promote(ask, SHOP, SOME)),
    (Action.DELAY, "delay", lambda ask: operations.delay(ask, SHOP, SOME, run_at_ms=5)),
    (Action.PRIORITY, "priority", lambda ask: operations.priority(ask, SHOP, SOME, priority=5)),
    (Action.REMOVE, "remove", lambda ask: operations.remove(ask, SHOP, SOME, state=None, children=False)),
    (Action.FAIL, "fail", lambda ask: operations.fail(ask, SHOP, SOME, reason="lost")),
    (Action.REQUEUE, "requeue", lambda ask: operations.requeue(ask, SHOP, SOME)),
    (Action.EDIT, "edit", lambda ask: operations.edit(ask, JOB, b"{}", was=b"[]")),
    (Action.DUPLICATE, "add", lambda ask: operations.duplicate(ask, JOB)),
    (Action.LOG, "log", lambda ask: operations.log(ask, JOB, "seen")),
    (Action.REMOVE_CHILDREN, "remove_children", lambda ask: operations.remove_children(ask, JOB)),
    (Action.ADD, "add", lambda ask: operations.add(ask, SHOP, NewJob(b"mail", b"{}"))),
    (Action.PAUSE, "pause", lambda ask: operations.pause(ask, SHOP)),
    (Action.RESUME, "resume", lambda ask: operations.resume(ask, SHOP)),
    (Action.CONCURRENCY, "concurrency", lambda ask: operations.concurrency(ask, SHOP, 5)),
    (Action.RATE_LIMIT, "rate_limit", lambda ask: operations.rate_limit(ask, SHOP, 5, 1000)),
    (Action.RELEASE_LIMIT, "release_limit", lambda ask: operations.release_limit(ask, SHOP)),
    (
        Action.RELEASE_DEDUPLICATION,
        "release_deduplication",
        lambda ask: operations.release_deduplication(ask, SHOP, b"order-1"),
    ),
    (Action.TRIM_EVENTS, "trim_events", lambda ask: operations.trim_events(ask, SHOP, keep=10)),
]
every = pytest.mark.parametrize(("action", "verb", "operation"), EVERY, ids=[action for action, _verb, _do in EVERY])


@pytest.fixture(autouse=True)
def seven(acted: ScriptedActions) -> None:
    acted.jobs[JOB.id] = Stored({b"name": b"mail", b"data": b"{}", b"opts": b"{}"})


@every
def test_an_action_is_written_down_before_anything_is_sent_and_completed_after_it(
    action: Action, verb: str, operation: Callable[[Asked], AuditEntry], acted: ScriptedActions
) -> None:
    seen: list[tuple[str, str]] = []

    def look(*positional: object, **named: object) -> OutOfMemory:
        other = connections.create_connection("default")  # what is not committed is nothing to it
        try:
            with other.cursor() as cursor:
                cursor.execute("SELECT action, status FROM queues_auditentry")
                seen.extend(cursor.fetchall())
        finally:
            other.close()
        return OutOfMemory("no memory left")

    acted.answers[verb] = look
    with pytest.raises(OutOfMemory):
        operation(asked(reason="a try"))
    assert seen == [(action, Status.STARTED)]
    entry = AuditEntry.objects.get()
    assert (entry.status, entry.note, entry.reason) == (Status.FAILED, "no memory left", "a try")

    del acted.answers[verb]
    entry = operation(asked())
    entry.refresh_from_db()
    assert (entry.status, entry.who, entry.role, entry.address) == (Status.DONE, "anna", "operator", "10.0.0.1")
    assert (entry.source, entry.queue, entry.action) == ("main", "shop", action)
    assert entry.outcomes["done"] >= 1
    assert entry.ended_at is not None
    assert entry.duration_ms is not None
    assert audit.in_words(entry)


@every
def test_the_same_form_sent_twice_acts_once(
    action: Action, verb: str, operation: Callable[[Asked], AuditEntry], acted: ScriptedActions
) -> None:
    first, second = operation(asked("form-1")), operation(asked("form-1"))
    assert first.pk == second.pk
    assert second.status == Status.DONE
    assert [call[0] for call in acted.calls] == [verb]


@every
def test_nothing_is_sent_in_read_only_mode(
    action: Action, verb: str, operation: Callable[[Asked], AuditEntry], acted: ScriptedActions
) -> None:
    acted.forbidden = "The user may not write (ACL)."
    with pytest.raises(ReadOnly, match="ACL"):
        operation(asked("form-1"))
    assert acted.calls == []
    entry = AuditEntry.objects.get()
    assert (entry.status, entry.note, entry.outcomes) == (Status.REFUSED, "The user may not write (ACL).", {})


@every
def test_what_a_queue_cannot_do_is_refused_with_the_reason(
    action: Action, verb: str, operation: Callable[[Asked], AuditEntry], acted: ScriptedActions
) -> None:
    acted.lacks[action] = "Not on queues of 4.x."
    with pytest.raises(Unsupported, match=r"4\.x"):
        operation(asked())
    assert acted.calls == []
    assert AuditEntry.objects.get().status == Status.REFUSED


def test_nothing_is_done_where_its_entry_could_still_be_taken_back(acted: ScriptedActions) -> None:
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        retry(asked())
    assert acted.calls == []


def test_two_presses_at_the_same_moment_act_once(acted: ScriptedActions) -> None:
    inside, go_on, both = threading.Event(), threading.Event(), threading.Barrier(4)

    def slow(queue: QueueRef, targets: Sequence[Target], **named: object) -> list[Result]:
        inside.set()
        go_on.wait(30)
        return [Result(target.id, Outcome.DONE) for target in targets]

    acted.answers["retry"] = slow
    entries: list[AuditEntry] = []

    def press() -> None:
        try:
            both.wait(30)
            entries.append(retry(asked("form-1")))
        finally:
            connection.close()

    threads = [threading.Thread(target=press) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert inside.wait(30)
    while len(entries) < 3:
        time.sleep(0.01)
    assert {entry.status for entry in entries} == {Status.STARTED}
    go_on.set()
    for thread in threads:
        thread.join()
    assert len(acted.calls) == 1
    assert len({entry.pk for entry in entries}) == 1


def test_a_form_is_another_one_with_another_content_or_in_other_hands(acted: ScriptedActions) -> None:
    entries = [
        retry(asked("form-1")),
        retry(asked("form-1"), SOME[:2]),
        operations.retry(asked("form-1"), SHOP, SOME, state=State.FAILED, reset=True),
        retry(asked("form-1", by=Actor("bert"))),
        operations.edit(asked("form-1"), JOB, b"[1]", was=b"{}"),
        operations.edit(asked("form-1"), JOB, b"[2]", was=b"{}"),
    ]
    assert len({entry.pk for entry in entries}) == len(acted.calls) == 6


def test_a_form_without_a_key_always_acts(acted: ScriptedActions) -> None:
    assert retry(asked()).pk != retry(asked()).pk
    assert len(acted.calls) == 2


def test_a_form_that_came_to_nothing_may_be_sent_again_with_the_same_token(acted: ScriptedActions) -> None:
    acted.answers["log"] = Unsure("The answer was lost.", source="main")
    with pytest.raises(Unsure):
        operations.log(asked("form-1"), JOB, "seen")
    outages.forget("main")
    del acted.answers["log"]
    assert operations.log(asked("form-1"), JOB, "seen").status == Status.DONE
    first, second = (named["token"] for _verb, _positional, named in acted.calls)
    assert first == second
    assert list(AuditEntry.objects.order_by("pk").values_list("status", flat=True)) == [Status.UNSURE, Status.DONE]


def test_tokens_of_other_forms_are_others(acted: ScriptedActions) -> None:
    for key in ("a", "b", "", ""):
        operations.log(asked(key), JOB, "seen")
    assert len({named["token"] for _verb, _positional, named in acted.calls}) == 4


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (WrongState("active"), Status.REFUSED),
        (ReadOnly("a replica"), Status.REFUSED),
        (NotFound("gone"), Status.REFUSED),
        (OutOfMemory("full"), Status.FAILED),
        (Unreachable("refuses connections", source="main"), Status.FAILED),
        (Unsure("lost", source="main"), Status.UNSURE),
    ],
)
def test_an_error_ends_the_entry_and_goes_on(acted: ScriptedActions, error: QueueError, status: Status) -> None:
    acted.answers["pause"] = error
    with pytest.raises(type(error)):
        operations.pause(asked(), SHOP)
    entry = AuditEntry.objects.get()
    assert (entry.status, entry.note) == (status, str(error))
    assert str(error) in audit.in_words(entry)


def test_what_was_done_before_the_answer_was_lost_is_counted(acted: ScriptedActions) -> None:
    known = [Result(b"1", Outcome.DONE), Result(b"2", Outcome.GONE)]
    acted.answers["retry"] = Unsure("The answer was lost.", source="main", results=known)
    with pytest.raises(Unsure):
        retry(asked())
    entry = AuditEntry.objects.get()
    assert entry.outcomes == {"done": 1, "gone": 1}
    assert audit.in_words(entry) == (
        "Retried 1 of 2; 1 was gone. It is not known whether all of it was done: The answer was lost."
    )


def test_an_error_of_ours_is_named_and_not_quoted(acted: ScriptedActions) -> None:
    acted.answers["pause"] = KeyError("password=hunter2")
    with pytest.raises(KeyError):
        operations.pause(asked(), SHOP)
    entry = AuditEntry.objects.get()
    assert entry.status == Status.FAILED
    assert "KeyError" in entry.note
    assert "hunter2" not in entry.note


def test_a_process_that_dies_leaves_what_it_began(acted: ScriptedActions) -> None:
    class Killed(BaseException):
        pass

    def die(*positional: object, **named: object) -> None:
        raise Killed

    acted.answers["pause"] = die
    with pytest.raises(Killed):
        operations.pause(asked(), SHOP)
    assert AuditEntry.objects.get().status == Status.STARTED


def test_an_unreachable_source_is_noted_and_not_asked_again_at_once(acted: ScriptedActions) -> None:
    def slow(*positional: object, **named: object) -> Unreachable:
        time.sleep(0.2)
        return Unreachable("refuses connections", source="main")

    acted.answers["pause"] = slow
    for _press in range(2):
        with pytest.raises(Unreachable) as caught:
            operations.pause(asked(), SHOP)
        assert caught.value.since == Source.objects.get().down_since is not None
    assert len(acted.calls) == 1
    assert [entry.status for entry in AuditEntry.objects.all()] == [Status.FAILED] * 2


def test_a_later_part_that_was_refused_is_no_outage(acted: ScriptedActions) -> None:
    def refuse(*positional: object, **named: object) -> None:
        try:
            raise OutOfMemory("full")
        except OutOfMemory as error:
            raise Unsure(str(error), source="main") from error

    acted.answers["retry"] = refuse
    with pytest.raises(Unsure):
        retry(asked())
    assert not Source.objects.filter(down_since__isnull=False).exists()


def test_resuming_goes_on_until_both_lists_are_merged(acted: ScriptedActions) -> None:
    steps = iter([Step(1000, cursor="a"), Step(1000, cursor="b"), Step(5)])
    acted.answers["resume"] = lambda queue: next(steps)
    entry = operations.resume(asked(), SHOP)
    assert entry.outcomes == {"done": 2005}
    assert audit.in_words(entry) == "Resumed"


def test_what_does_not_end_is_left_with_what_was_done(acted: ScriptedActions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queues.operations.steering.LONGEST_S", -1.0)
    acted.answers["resume"] = Step(1000, cursor="more")
    with pytest.raises(LimitExceeded):
        operations.resume(asked(), SHOP)
    entry = AuditEntry.objects.get()
    assert (entry.status, entry.outcomes) == (Status.FAILED, {"done": 1000})


def test_a_cap_refuses_an_action_about_more_jobs(acted: ScriptedActions, settings: Settings) -> None:
    settings.MIRANTE_BULK_MAX = 2
    with pytest.raises(LimitExceeded, match="MIRANTE_BULK_MAX"):
        retry(asked())
    assert retry(asked(), SOME[:2]).status == Status.DONE
    assert [call[1][1] for call in acted.calls] == [SOME[:2]]
    assert AuditEntry.objects.earliest("pk").status == Status.REFUSED


def test_a_duplicate_has_the_bytes_of_the_job_and_none_of_its_ties(acted: ScriptedActions) -> None:
    opts = b'{"attempts": 3,"jobId":"7","de":{"id":"order-1"},"parent":{"id":"1","queue":"bull:x"},"delay":10}'
    acted.jobs[b"7"] = Stored({b"name": b"mail", b"data": b'{"a" : 1.0}', b"opts": opts, b"returnvalue": b"1"})
    entry = operations.duplicate(asked(), JOB)
    _verb, (_queue, job), _named = acted.calls[0]
    assert (job.name, job.data, job.id) == (b"mail", b'{"a" : 1.0}', b"")
    assert json.loads(job.opts) == {"attempts": 3, "delay": 10}
    assert audit.made(entry) == "100"
    assert audit.in_words(entry) == "Duplicated job 7 as job 100"

    acted.jobs[b"7"] = Stored({b"name": b"mail", b"data": b"{}", b"opts": b'{"attempts": 3.0}'})
    operations.duplicate(asked(), JOB, b"[1]")
    _verb, (_queue, job), _named = acted.calls[1]
    assert (job.data, job.opts) == (b"[1]", b'{"attempts": 3.0}')


def test_a_duplicate_keeps_a_priority_that_was_changed(acted: ScriptedActions) -> None:
    acted.jobs[b"7"] = Stored({b"name": b"m", b"data": b"{}", b"opts": b'{"priority":3}', b"priority": b"9"})
    operations.duplicate(asked(), JOB)
    assert json.loads(acted.calls[0][1][1].opts) == {"priority": 9}


def test_a_job_that_is_gone_cannot_be_duplicated(acted: ScriptedActions) -> None:
    acted.jobs.clear()
    with pytest.raises(NotFound):
        operations.duplicate(asked(), JOB)
    assert AuditEntry.objects.get().status == Status.REFUSED


@pytest.mark.parametrize(
    "operation",
    [
        lambda: retry(asked(), []),
        lambda: retry(asked(), [Target(b"1")] * 1001),
        lambda: operations.retry(asked(), SHOP, SOME, state=State.ACTIVE, reset=False),
        lambda: operations.priority(asked(), SHOP, SOME, priority=-1),
        lambda: operations.delay(asked(), SHOP, SOME, run_at_ms=-1),
        lambda: operations.concurrency(asked(), SHOP, 0),
        lambda: operations.rate_limit(asked(), SHOP, 5, 0),
        lambda: operations.log(asked(), JOB, " "),
    ],
    ids=["no jobs", "too many", "active", "priority", "moment", "concurrency", "span", "line"],
)
def test_what_makes_no_sense_is_refused_before_it_begins(
    operation: Callable[[], AuditEntry], acted: ScriptedActions
) -> None:
    with pytest.raises((BadInput, LimitExceeded)):
        operation()
    assert acted.calls == []


def test_nothing_secret_of_what_was_asked_for_is_kept(acted: ScriptedActions) -> None:
    secret = b'{"to": "x@example.com", "password": "hunter2", "note": "Bearer abcdefgh12345678"}'
    operations.edit(asked(reason="password=hunter2"), JOB, secret, was=secret)
    operations.add(asked(), SHOP, NewJob(b"mail token=hunter2", secret, secret))
    operations.duplicate(asked(), JOB, secret)
    operations.log(asked(), JOB, "password: hunter2")
    operations.fail(asked(), SHOP, SOME, reason="password: hunter2")
    for entry in AuditEntry.objects.all():
        kept = json.dumps([entry.parameters, entry.reason, entry.jobs, entry.note])
        assert "hunter2" not in kept
        assert "12345678" not in kept
    assert acted.calls[0][1][1] == secret


def test_hostile_text_is_kept_so_that_any_database_takes_it(acted: ScriptedActions) -> None:
    odd = JobRef(SHOP, b"\0\xff\xe2\x80\xae" + b"x" * 5_000)
    entry = operations.log(asked(reason="a\0b\u202e" + "y" * 100_000), odd, "\0\ud800 line")
    entry.refresh_from_db()
    assert entry.status == Status.DONE
    assert len(entry.reason) <= 1_000
    assert "\0" not in entry.reason
    assert "\u202e" not in entry.reason + audit.in_words(entry)


sqlite_only = pytest.mark.skipif("sqlite" not in connection.vendor, reason="other databases lock rows")


@sqlite_only
def test_nothing_is_done_while_it_cannot_be_written_down(acted: ScriptedActions) -> None:
    connection.ensure_connection()
    connection.connection.execute("PRAGMA busy_timeout = 100")
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError, match="locked"):
            retry(asked())
        other.execute("ROLLBACK")
    finally:
        other.close()
        connection.close()
    assert acted.calls == []
    assert not AuditEntry.objects.exists()


@sqlite_only
def test_the_end_is_written_as_soon_as_the_database_is_free(
    acted: ScriptedActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.ensure_connection()
    connection.connection.execute("PRAGMA busy_timeout = 100")
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None, check_same_thread=False)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        other.execute("ROLLBACK")

    monkeypatch.setattr("queues.audit.log.time.sleep", pause)

    def block(*positional: object, **named: object) -> list[Result]:
        other.execute("BEGIN IMMEDIATE")
        return [Result(b"1", Outcome.DONE)]

    acted.answers["retry"] = block
    try:
        entry = retry(asked(), SOME[:1])
    finally:
        other.close()
        connection.close()
    assert pauses == [log.PAUSES_S[0]]
    entry.refresh_from_db()
    assert (entry.status, entry.outcomes) == (Status.DONE, {"done": 1})
