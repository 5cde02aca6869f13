"""Rules of users for the classes of failures: kept, ordered, deleted, and read by every process."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from queues.errors import BadInput
from queues.failures import classes
from queues.failures.classes import rules as deciding_rules
from queues.failures.classes.matching import Own
from queues.failures.classes.rules import Rules
from queues.failures.types import Kind
from queues.models import ClassRule

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding_rules, "_book", deciding_rules._Book())


def keep(kind: Kind = Kind.PERMANENT, **patterns: Any) -> ClassRule:
    return classes.add(Own(kind, **patterns), by="ada")


def test_a_rule_is_kept_below_the_others() -> None:
    keep(code="1")
    keep(code="2")
    assert [rule.code for rule in Rules.current().own] == ["1", "2"]
    assert [row.added_by for row in ClassRule.objects.all()] == ["ada", "ada"]


@pytest.mark.parametrize(
    "patterns", [{}, {"message": " * "}, {"code": "*"}, {"name": "**"}, {"error_class": "*"}, {"queue": "mail"}]
)
def test_a_rule_that_matches_everything_or_a_queue_of_no_source_is_refused(patterns: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        keep(**patterns)
    assert not ClassRule.objects.exists()


def test_the_same_rule_is_not_kept_twice_whatever_it_says() -> None:
    keep(code="E_LIMIT", message="a")
    with pytest.raises(BadInput, match="permanent"):
        keep(Kind.TRANSIENT, code="e_limit", message="A")


def test_there_is_an_end_to_rules() -> None:
    ClassRule.objects.bulk_create(ClassRule(position=at, kind="unknown", code=str(at)) for at in range(classes.MOST))
    with pytest.raises(BadInput, match="200"):
        keep(code="one too many")


def test_rules_are_moved_and_what_cannot_be_moved_stays() -> None:
    one, two, three = keep(code="1"), keep(code="2"), keep(code="3")

    def order() -> str:
        return "".join(rule.code for rule in Rules.current().own)

    classes.move(three.pk, "up")
    assert order() == "132"
    classes.move(one.pk, "down")
    assert order() == "312"
    assert classes.move(three.pk, "up") is None
    assert classes.move(two.pk, "down") is None
    assert classes.move(999_999, "up") is None
    assert order() == "312"


def test_rules_of_one_position_are_in_the_order_in_which_they_were_added_and_can_be_moved() -> None:
    rows = [ClassRule.objects.create(position=7, kind="unknown", code=code) for code in "abc"]
    classes.move(rows[2].pk, "up")
    assert [rule.code for rule in Rules.current().own] == ["a", "c", "b"]


def test_a_rule_is_deleted_once() -> None:
    row = keep(code="1")
    gone = classes.delete(row.pk)
    assert gone is not None
    assert gone.code == "1"
    assert classes.delete(row.pk) is None
    assert not Rules.current().own


def test_rules_are_read_every_five_seconds_and_the_verdicts_stay_where_none_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(deciding_rules, "_book", deciding_rules._Book(lambda: now[0]))
    first = Rules.current()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert Rules.current() is first
    assert not queries
    now[0] = 5.0
    assert Rules.current() is first
    ClassRule.objects.create(position=1, kind="permanent", code="1")  # by another process
    assert Rules.current() is first
    now[0] = 10.0
    assert [rule.code for rule in Rules.current().own] == ["1"]


def test_while_the_database_is_away_the_last_known_rules_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    keep(code="1")
    before = Rules.current()
    classes.forget()
    monkeypatch.setattr(deciding_rules, "kept", mock.Mock(side_effect=DatabaseError))
    assert Rules.current() is before
    monkeypatch.setattr(deciding_rules, "_book", deciding_rules._Book())
    with pytest.raises(DatabaseError):
        Rules.current()


def test_a_kind_that_is_none_says_unknown() -> None:
    ClassRule.objects.create(position=1, kind="nonsense", code="1")
    assert Rules.current().own[0].kind is Kind.UNKNOWN
