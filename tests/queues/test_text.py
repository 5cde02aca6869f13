"""Text, JSON and progress out of hostile bytes: never a failure, always marked."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queues import progress
from queues.jsonload import MAX_DEPTH, Unreadable, load
from queues.text import text
from queues.types import Mark

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.binary(max_size=300), st.integers(0, 400), st.integers(0, 300))
def test_any_bytes_make_a_text_that_can_be_sent(raw: bytes, more: int, cap: int) -> None:
    made = text(raw, size=len(raw) + more, cap=cap)
    made.value.encode("utf-8")
    assert made.size == len(raw) + more
    assert (Mark.CUT in made.marks) or not more
    assert not set(made.value) & {chr(code) for code in (*range(9), *range(11, 32), 127)}


def test_odd_bytes_are_marked_and_a_character_that_the_cut_split_is_not_odd() -> None:
    whole = "漢字".encode()
    assert text(whole).marks == ()
    assert text(whole[:4], size=6).marks == (Mark.CUT,)
    assert str(text(whole[:4], size=6)) == "漢"
    assert text(whole[:4]).marks == (Mark.BYTES,)
    assert text(b"\xffab", size=9).marks == (Mark.CUT, Mark.BYTES)
    assert str(text(b"\xffab")) == "\ufffdab"
    assert text(b"abc", cap=2).marks == (Mark.CUT,)


@given(JSON)
def test_json_is_read_as_it_is(value: object) -> None:
    assert load(json.dumps(value).encode("utf-8")) == value


@given(st.binary(max_size=100))
def test_reading_json_fails_in_one_way_only(raw: bytes) -> None:
    try:
        load(raw)
    except Unreadable:
        pass


@pytest.mark.parametrize(("raw", "deep"), [
    (b"NaN", False), (b'{"a":Infinity}', False), (b"-Infinity", False), (b"1e999", False), (b"9" * 5000, False),
    (b"", False), (b"{", False), (b"\xff", False), (b"\xef\xbb\xbf{}", False), (b"01", False),
    (b"[" * 100_000, True), (b'{"a":' * 3000 + b"1" + b"}" * 3000, True),
    (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), True),
], ids=lambda value: value if isinstance(value, bool) else f"{value[:8]!r}-{len(value)}")  # fmt: skip
def test_json_that_is_not_strict_or_too_deep_is_refused(raw: bytes, deep: bool) -> None:
    with pytest.raises(Unreadable) as caught:
        load(raw)
    assert caught.value.too_deep is deep


def test_json_of_the_deepest_allowed_nesting_is_read() -> None:
    assert load(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)


@pytest.mark.parametrize(("raw", "percent"), [
    (b"0", 0), (b"100", 100), (b"33.3333333", 33.3333333), (b"250", None), (b"-5", None), (b"true", None),
    (b"null", None), (b"", None), (b"NaN", None), (b'"50"', None), (b"[50]", None), (b'"loading <b>x</b>"', None),
    (b'{"done":3,"total":9}', 100 / 3), (b'{"progress":70}', 70), (b'{"percent":70.5}', 70.5),
    (b'{"percentage":70}', 70), (b'{"progress":"70"}', None), (b'{"progress":700,"percent":7}', 7),
    (b'{"done":3,"total":0}', None), (b'{"done":9,"total":3}', None), (b'{"done":true,"total":1}', None),
    (b'{"other":1}', None),
])  # fmt: skip
def test_progress_of_every_shape(raw: bytes, percent: float | None) -> None:
    made = progress.parse(raw)
    assert made.percent == (None if percent is None else pytest.approx(percent))
    assert made.bare is (percent is not None and raw[:1] != b"{")
    assert made.text.value == raw.decode()
    assert made.text.size == len(raw)


def test_progress_that_is_no_json_or_too_long_is_marked() -> None:
    assert progress.parse(b"{").text.marks == (Mark.MALFORMED,)
    assert progress.parse(b"[" * 100_000).text.marks == (Mark.CUT, Mark.DEEP)
    assert progress.parse(b"5", size=1000).percent is None
    assert len(progress.parse(json.dumps("x" * 5000).encode()).text.value) == progress.SHOWN
