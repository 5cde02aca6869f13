"""Every action: written down before it begins, done once for a form, and honest about how it ended."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence

import pytest
from django.db import connection, connections, transaction
from pytest_django.fixtures import Settings

from queues import audit, operations, outages
from queues.actions import Action, NewJob, Outcome, Result, Stored, Target
from queues.audit import Actor, Asked, Status
from queues.errors import (
    BadInput,
    LimitExceeded,
    NotFound,
    OutOfMemory,
    ReadOnly,
    Unsupported,
    Unsure,
)
from queues.models import AuditEntry
from queues.types import JobRef, QueueRef, State
from tests.queues.fakes import ScriptedActions
from tests.queues.pressing import JOB, SHOP, SOME, asked, retry

pytestmark = pytest.mark.django_db(transaction=True)

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
    assert audit.in_words(entry) == "Added job 100 as a copy of job 7"

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
