"""Data as text to edit: secrets stand as tokens, and what is untouched comes back to the byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.actions.hiding import Refused, editable, edited
from queues.redaction import DEFAULT, MASK

keys = st.sampled_from(["password", "authToken", "card", "note", "id", "name", "value", "a b"])
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=12), floats)
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=20
)
SPACED = {"separators": (" , ", " :  ")}
layouts = st.sampled_from([{"indent": None}, {"indent": 2}, {"separators": (",", ":")}, SPACED])


@given(documents, layouts, st.booleans(), st.booleans())
def test_what_is_not_touched_comes_back_to_the_byte(
    document: object, layout: dict[str, object], ascii_only: bool, crlf: bool
) -> None:
    text = json.dumps(document, ensure_ascii=ascii_only, **layout)  # type: ignore[arg-type]
    raw = (text.replace("\n", "\r\n") if crlf else text).encode()
    before = editable(raw, DEFAULT)
    sent = before.text.replace("\n", "\r\n")  # as browsers send it
    assert edited(sent, before, DEFAULT) == raw


@given(st.dictionaries(st.sampled_from(["password", "authToken", "cvv"]), st.text(min_size=1, max_size=30), min_size=1))
def test_no_secret_is_in_the_text(document: dict[str, str]) -> None:
    marked = {key: f"s3cret{value}" for key, value in document.items()}
    assert "s3cret" not in editable(json.dumps(marked).encode(), DEFAULT).text


def test_data_that_holds_dots_of_its_own_keeps_them() -> None:
    raw = f'{{"shown":"{MASK} 1","password":"x"}}'.encode()
    before = editable(raw, DEFAULT)
    assert edited(before.text, before, DEFAULT) == raw


def test_a_hidden_value_may_be_replaced_only_by_who_may_see_it_and_never_by_half_a_token() -> None:
    before = editable(b'{"password":"old"}', DEFAULT)
    token = f'"{MASK} 1"'
    with pytest.raises(Refused):
        edited(before.text.replace(token, '"new"'), before, DEFAULT)
    assert edited(before.text.replace(token, '"new"'), before, DEFAULT, may_drop=True) == b'{"password":"new"}'
    with pytest.raises(Refused):
        edited(before.text.replace(token, token.replace("•", "", 1)), before, DEFAULT, may_drop=True)


CARD = "4111 1111 1111 1111"
# Equal keys in one object, of which one is hidden for what it holds, or all of them for their name.
FIRST, SECOND = f'{{"note": "{CARD}", "note": "plain"}}', f'{{"note": "plain", "note": "{CARD}"}}'
ESCAPED = '{"a": [{"password": "s3cret", "id": 1, "pass\\u0077ord": "0ther"}]}'


@pytest.mark.parametrize("text", [FIRST, SECOND, ESCAPED, f'{{"x": {FIRST}, "x": {SECOND}}}'])
def test_of_equal_keys_what_is_hidden_stays_what_it_is_and_the_other_can_be_edited(text: str) -> None:
    before = editable(text.encode(), DEFAULT)
    assert not [secret for secret in (CARD, "s3cret", "0ther") if secret in before.text]
    assert edited(before.text, before, DEFAULT) == text.encode()
    changed = before.text.replace("plain", "other").replace('"id": 1', '"id": 2')
    assert edited(changed, before, DEFAULT) == text.replace("plain", "other").replace('"id": 1', '"id": 2').encode()
    for number in range(1, len(before.secrets) + 1):
        token = f'"{MASK} {number}"'
        for instead in ('"mine"', token.replace("•", "", 1), f'"{MASK} {number + 1}"'):
            with pytest.raises(Refused):
                edited(before.text.replace(token, instead), before, DEFAULT)


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        (b'{"password": "a"}', '{"password": "T1", "password": "mine"}'),
        (b'{"password": "a"}', '{"password": "T1", "pass\\u0077ord": "mine"}'),
        (b'{"auth": {"password": "a"}}', '{"auth": {"password": "T1"}, "auth": {"password": "mine"}}'),
        (b'[{"deep": [{"password": "a"}]}]', '[{"deep": [{"password": "T1"}], "deep": null}]'),
        (SECOND.encode(), '{"note": "T1", "note": "plain"}'),  # which of them counts
    ],
)
def test_what_is_hidden_is_not_overruled_by_the_same_key_behind_it(text: bytes, sent: str) -> None:
    before = editable(text, DEFAULT)
    sent = sent.replace("T1", f"{MASK} 1")
    with pytest.raises(Refused, match="the same key stands behind it again"):
        edited(sent, before, DEFAULT)
    assert edited(sent, before, DEFAULT, may_drop=True)


def test_a_doubled_key_beside_what_is_hidden_or_before_it_is_nobodys_harm() -> None:
    before = editable(b'{"password": "a", "id": 1, "in": [{"id": 2}, {"id": 3}]}', DEFAULT)
    for sent in (
        before.text.replace('"id": 1', '"id": 1, "id": 2'),
        before.text.replace('"id": 3', '"": 3'),
        before.text.replace('"password"', '"password": "mine", "password"'),
    ):
        assert edited(sent, before, DEFAULT) == sent.replace(f"{MASK} 1", "a").encode()
