"""What goes wrong with an action: it ends the entry as it is, and goes on to whoever asked."""

from __future__ import annotations

import sqlite3
import time

import pytest
from django.db import OperationalError, connection

from queues import audit, operations
from queues.actions import Outcome, Result, Step
from queues.audit import Status, log
from queues.errors import (
    LimitExceeded,
    NotFound,
    OutOfMemory,
    QueueError,
    ReadOnly,
    Unreachable,
    Unsure,
    WrongState,
)
from queues.models import AuditEntry, Source
from tests.queues.fakes import ScriptedActions
from tests.queues.pressing import SHOP, SOME, asked, retry

pytestmark = pytest.mark.django_db(transaction=True)
sqlite_only = pytest.mark.skipif("sqlite" not in connection.vendor, reason="other databases lock rows")


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
