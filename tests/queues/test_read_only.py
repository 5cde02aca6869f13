"""Where nothing may be written: by the settings, or because the server takes no writes from us."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pytest_django.fixtures import Settings

from queues import audit, operations, registry
from queues.audit import Actor, Asked, Status
from queues.errors import ReadOnly, Unreachable, Unsupported
from queues.models import AuditEntry
from queues.operations.guard import ensure_writable
from queues.types import Capability, QueueRef
from tests.queues.fakes import FakeBackend, ScriptedActions

pytestmark = pytest.mark.django_db

SHOP = QueueRef("main", b"bull", b"shop")
MAIL = QueueRef("main", b"bull", b"mail")
ANNA = Asked(Actor("anna", "admin"))


def set_read_only(settings: Settings) -> None:
    settings.MIRANTE_SOURCES = tuple(replace(config, read_only=True) for config in settings.MIRANTE_SOURCES)
    registry.forget()


def test_a_source_that_is_read_only_by_the_settings_is_not_even_asked(
    acted: ScriptedActions, settings: Settings
) -> None:
    set_read_only(settings)
    with pytest.raises(ReadOnly, match="MIRANTE_READ_ONLY"):
        operations.pause(ANNA, SHOP)
    assert acted.calls == []
    assert acted.probes == 0
    entry = AuditEntry.objects.get()
    assert entry.status == Status.REFUSED
    assert audit.in_words(entry) == "Refused: The source “main” is read-only here (MIRANTE_READ_ONLY)."


def test_the_server_is_asked_once_a_minute_for_each_queue(
    acted: ScriptedActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("queues.readonly.time.monotonic", lambda: now[0])
    for _press in range(3):
        operations.pause(ANNA, SHOP)
    assert acted.probes == 1
    operations.pause(ANNA, MAIL)
    assert acted.probes == 2
    now[0] += 61
    operations.pause(ANNA, SHOP)
    assert acted.probes == 3


def test_what_a_server_forbids_is_known_for_a_while_and_asked_anew_soon(
    acted: ScriptedActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("queues.readonly.time.monotonic", lambda: now[0])
    acted.forbidden = "The user may not write."
    for _press in range(2):
        with pytest.raises(ReadOnly):
            ensure_writable(SHOP)
    assert acted.probes == 1
    acted.forbidden = ""
    now[0] += 11
    ensure_writable(SHOP)


def test_a_write_that_the_server_refuses_is_not_believed_again(acted: ScriptedActions) -> None:
    acted.answers["pause"] = ReadOnly("It is a replica by now.")
    with pytest.raises(ReadOnly):
        operations.pause(ANNA, SHOP)
    assert AuditEntry.objects.get().status == Status.REFUSED
    acted.forbidden = "It is a replica."
    with pytest.raises(ReadOnly):
        operations.pause(ANNA, SHOP)
    assert len(acted.calls) == 1


def test_a_source_that_can_only_be_read_says_so(acted: ScriptedActions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeBackend, "capabilities", frozenset(Capability) - {Capability.ACTIONS})
    with pytest.raises(Unsupported):
        operations.pause(ANNA, SHOP)
    assert acted.calls == []


def test_a_server_that_does_not_tell_refuses_nothing_for_good(
    acted: ScriptedActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(queue: QueueRef) -> str:
        raise Unreachable("refuses connections", source="main")

    with monkeypatch.context() as patched:
        patched.setattr(acted, "read_only", down)
        with pytest.raises(Unreachable):
            operations.pause(ANNA, SHOP)
    assert acted.calls == []
    assert AuditEntry.objects.get().status == Status.FAILED
