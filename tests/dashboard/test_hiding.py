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
