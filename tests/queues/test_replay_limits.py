"""What admins allow of replays, kept in one row."""

from __future__ import annotations

from typing import Any

import pytest

from queues.audit import Actor, Asked, Status
from queues.models import AuditEntry, ReplayLimits
from queues.replay.fields import BadFields
from queues.replay.limits import change, limits

pytestmark = pytest.mark.django_db

ADA = Actor("ada", "admin")
GIVEN: dict[str, Any] = {"largest": 5_000, "fastest": 50.0, "approval": 500, "undo_s": 0, "typed": 10}


def test_a_fresh_installation_has_limits_without_a_row() -> None:
    now = limits()
    assert (now.largest, now.fastest, now.approval, now.undo_s, now.typed) == (1_000_000, None, None, 10, 1_000)
    assert not ReplayLimits.objects.exists()


def test_limits_hold_as_soon_as_they_are_set_and_the_log_tells_what_changed() -> None:
    entry = change(Asked(ADA, reason="the bank asked"), **GIVEN | {"typed": 1_000})
    now = limits()
    assert (now.largest, now.fastest, now.approval, now.undo_s) == (5_000, 50.0, 500, 0)
    assert now.changed_by == "ada"
    assert (entry.action, entry.status, entry.reason) == ("replay-limits", Status.DONE, "the bank asked")
    assert set(entry.parameters) == {"largest", "fastest", "approval", "undo_s"}
    assert "largest 1000000" in entry.note
    assert "approval unlimited" in entry.note


def test_a_form_that_is_sent_twice_changes_once() -> None:
    first = change(Asked(ADA, key="k"), **GIVEN)
    change(Asked(Actor("bob"), key="other"), **GIVEN | {"typed": 99})
    assert change(Asked(ADA, key="k"), **GIVEN).pk == first.pk
    assert limits().typed == 99
    assert AuditEntry.objects.count() == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("largest", 0),
        ("largest", 10**13),
        ("fastest", 0.0),
        ("fastest", float("nan")),
        ("fastest", float("inf")),
        ("approval", -1),
        ("undo_s", 3_601),
        ("typed", -1),
    ],
)
def test_what_is_no_limit_is_refused_by_its_name_and_changes_nothing(name: str, value: float) -> None:
    with pytest.raises(BadFields) as refused:
        change(Asked(ADA), **GIVEN | {name: value})
    assert list(refused.value.fields) == [name]
    assert "Expected a number" in str(refused.value)
    assert not ReplayLimits.objects.exists()
    assert not AuditEntry.objects.exists()
