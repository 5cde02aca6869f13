"""The patterns that users add: where they hold, for how long they are remembered, and what is no pattern."""

from __future__ import annotations

import json

import pytest
from django.db import DatabaseError, OperationalError

from queues import masking, payload
from queues.errors import BadInput
from queues.models import Masking
from queues.options import in_words
from queues.redaction import DEFAULT, MASK, is_secret_key
from queues.types import Body, QueueRef, Text

pytestmark = pytest.mark.django_db

PAY = QueueRef("main", b"bull", b"payments")
MAIL = QueueRef("main", b"bull", b"mail")
FAR = QueueRef("other", b"bull", b"payments")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has read nothing yet."""
    monkeypatch.setattr(masking, "_book", masking._Book())


def _hides(queue: QueueRef | None, key: str) -> bool:
    return is_secret_key(key, masking.rules_for(queue)) is not None


def test_without_patterns_of_users_ours_hold() -> None:
    assert masking.rules_for(PAY) is DEFAULT
    assert masking.rules_for(None) is DEFAULT


def test_a_pattern_holds_where_it_was_meant() -> None:
    masking.add("*taxid*", by="ada")
    masking.add("iban", source="main", by="ada")
    masking.add("*nickname*", source="main", queue="payments", by="ada")
    assert [_hides(PAY, key) for key in ("taxId", "iban", "nickname", "password")] == [True] * 4
    assert [_hides(MAIL, key) for key in ("taxId", "iban", "nickname", "password")] == [True, True, False, True]
    assert [_hides(FAR, key) for key in ("taxId", "iban", "nickname", "password")] == [True, False, False, True]


def test_where_no_queue_is_named_every_pattern_holds() -> None:
    masking.add("*nickname*", source="main", queue="payments", by="ada")
    assert _hides(None, "nickname")
    assert masking.in_force() == masking.rules_for(PAY)
    with masking.within(MAIL):
        assert masking.in_force() == DEFAULT
        with masking.within(PAY):
            assert masking.in_force() == masking.rules_for(PAY)
        assert masking.in_force() == DEFAULT
    assert masking.in_force() == masking.rules_for(PAY)


def test_all_that_shows_bodies_goes_by_the_rules_in_force() -> None:
    masking.add("*nickname*", source="main", queue="payments", by="ada")
    body = Body(json.dumps({"nickname": "QXZ"}).encode(), 30)
    for queue, hidden in ((PAY, True), (MAIL, False)):
        with masking.within(queue):
            shown = (
                payload.show(body).text,
                payload.summary(body).value,
                payload.summary(Body(b"QXZ", 3), key="nickname").value,
                payload.plain_text(Body(b"nickname: QXZ", 13)).value,
                payload.fitted(Text("nickname=QXZ", 12), 100).value,
                masking.hidden_here(Text("nickname=QXZ", 12)).value,
                str(in_words({"nickname": "QXZ"})),
            )
            assert [("QXZ" in text, MASK in text) for text in shown] == [(not hidden, hidden)] * len(shown)


def test_what_was_read_is_kept_for_a_few_seconds_and_own_changes_hold_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(masking, "_book", masking._Book(lambda: now))
    assert not _hides(PAY, "iban")
    Masking.objects.create(pattern="iban")  # by another process
    assert not _hides(PAY, "iban")
    now += masking.KNOWN_FOR_S
    assert _hides(PAY, "iban")
    made = masking.add("*nickname*", by="ada")
    assert _hides(PAY, "nickname")
    assert masking.delete(made.pk) == made
    assert masking.delete(made.pk) is None
    assert not _hides(PAY, "nickname")


def test_while_the_database_does_not_answer_the_last_rules_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    masking.add("iban", by="ada")
    assert _hides(PAY, "iban")
    masking.forget()

    def down(*_: object) -> None:
        raise OperationalError("no database")

    monkeypatch.setattr(Masking.objects, "order_by", down)
    assert _hides(PAY, "iban")
    monkeypatch.setattr(masking, "_book", masking._Book())
    with pytest.raises(DatabaseError):
        masking.rules_for(PAY)


@pytest.mark.parametrize(
    ("typed", "kept"),
    [("*TaxID*", "*taxid*"), (" Tax  id ", "tax id"), ("*Cartão*", "*cartao*"), ("pw", "pw")],
)
def test_a_pattern_is_kept_in_one_form(typed: str, kept: str) -> None:
    assert masking.checked(typed) == kept
    assert masking.matches(kept, "my" + typed.strip("* ").title().replace(" ", "")) is True


@pytest.mark.parametrize(
    "typed",
    ["", "*", "**", "*ab*", "a", "*tax id*", "*tax", "tax*id", "a.b", "cvv2", "пароль", "x" * 61, "*\n*", "\x00"],
)
def test_what_can_match_nothing_or_nearly_all_is_no_pattern(typed: str) -> None:
    with pytest.raises(BadInput):
        masking.add(typed, by="ada")
    assert not Masking.objects.exists()


def test_a_pattern_is_there_once_and_not_beside_ours() -> None:
    masking.add("iban", source="main", by="ada")
    masking.add("iban", by="ada")
    with pytest.raises(BadInput, match="hidden there already"):
        masking.add("IBAN", source="main", by="bob")
    with pytest.raises(BadInput, match="everywhere already"):
        masking.add("*password*", source="main", by="bob")
    with pytest.raises(BadInput, match="belongs to a source"):
        masking.add("iban", queue="payments", by="bob")
    assert Masking.objects.count() == 2


def test_there_are_no_more_patterns_than_masking_can_bear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "MOST", 1)
    masking.add("iban", by="ada")
    with pytest.raises(BadInput, match="no more are taken"):
        masking.add("*nickname*", by="ada")
