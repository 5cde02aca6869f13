"""Bodies as stored, laid out to read: exact, masked, marked, and never a failure whatever the bytes."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queues import payload
from queues.names import show_letters_in_json
from queues.payload import Shown, plain_text, show, summary
from queues.redaction import MASK
from queues.types import Body, Mark

SIZE = 256 * 1024
LETTERS = st.text('abcdefé \n\t"\\/{}[]:,\u2028', max_size=12)
NAMES = st.text("abcdefgh", min_size=1, max_size=8)
SECRET = st.text("QXZ", min_size=1, max_size=24)  # letters that stand nowhere else
SECRET_NAMES = st.sampled_from(["password", "authToken", "Set-Cookie", "api_key", "cvv", "clientSecret", "cards"])


def whole(raw: bytes | str) -> Body:
    raw = raw.encode() if isinstance(raw, str) else raw
    return Body(raw, len(raw))


def shown(raw: bytes | str) -> str:
    return show(whole(raw)).text


# --- as stored -------------------------------------------------------------------------------------


def test_a_document_is_laid_out_with_short_containers_on_one_line() -> None:
    raw = (
        '{"orderId":9007199254740993127,"amount":{"value":18990,"currency":"BRL"},"items":[1,2,3],"none":{},'
        '"customer":{"city":"Belo Horizonte","tags":[]}, "long":["%s","b"]}' % ("a" * 70)
    )
    assert shown(raw) == (
        "{\n"
        '  "orderId": 9007199254740993127,\n'
        '  "amount": { "value": 18990, "currency": "BRL" },\n'
        '  "items": [1, 2, 3],\n'
        '  "none": {},\n'
        '  "customer": {\n'
        '    "city": "Belo Horizonte",\n'
        '    "tags": []\n'
        "  },\n"
        '  "long": [\n'
        f'    "{"a" * 70}",\n'
        '    "b"\n'
        "  ]\n"
        "}"
    )


def test_tokens_carry_the_classes_of_the_stylesheet() -> None:
    tokens = show(whole('{"a":1,"token":"abc","b":"x"}')).tokens
    assert [token for token in tokens if token.kind] == [
        ("k", '"a"', ""),
        ("p", ": ", ""),
        ("num", "1", ""),
        ("k", '"token"', ""),
        ("p", ": ", ""),
        ("mask", f"{MASK} 3 characters", "*token*"),
        ("k", '"b"', ""),
        ("p", ": ", ""),
        ("s", '"x"', ""),
    ]


@pytest.mark.parametrize(
    "number", ["9007199254740993127", "1e400", "-0.0", "1E+2", "0.10", "7" * 5000, "-" + "9" * 5000 + ".5e-7"]
)
def test_numbers_are_shown_exactly_as_stored(number: str) -> None:
    assert shown(number) == number
    assert shown(f'{{"n":{number}}}') in (f'{{ "n": {number} }}', f'{{\n  "n": {number}\n}}')


def test_order_and_duplicate_keys_are_kept() -> None:
    assert shown('{"b":1,"a":2,"b":3}') == '{ "b": 1, "a": 2, "b": 3 }'


@pytest.mark.parametrize("raw", ["null", "true", "false", "12", '"text"', "[]", "{}", '""', " [ ] "])
def test_a_bare_value_is_a_document(raw: str) -> None:
    result = show(whole(raw))
    assert (result.text, result.marks) == (raw.strip().replace(" ", ""), ())


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | LETTERS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(NAMES | LETTERS, inner, max_size=5),
    max_leaves=30,
)


@given(JSON_VALUES, st.booleans(), st.sampled_from([None, 0, 3, "\t"]))
@settings(deadline=None)
def test_what_is_shown_differs_from_what_is_stored_in_layout_and_escaped_letters_only(
    value: Any, ascii_only: bool, indent: Any
) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    result = show(whole(raw))
    assert result.hidden or _exact(result.text) == _exact(raw)
    assert result.hidden or (result.marks == () and bare(result.text) == bare(show_letters_in_json(raw)))


def _exact(text: str) -> Any:
    """The document with numbers as text and objects as pairs in order."""
    return json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=list)


def bare(text: str) -> str:
    """The document without what stands between its strings for layout."""
    parts = re.findall(r'"(?:[^"\\]|\\.)*"|[^"\s]+', text)
    return "".join(parts).replace("\u2028", "\\u2028")


# --- secrets ---------------------------------------------------------------------------------------


def test_everything_inside_a_secret_is_hidden_and_its_structure_stays() -> None:
    result = show(whole('{"card":{"number":"4111","year":2030,"x":[1.5,true,null,""]},"a":1}'))
    assert result.text == (
        "{\n"
        '  "card": {\n'
        f'    "number": {MASK} 4 characters,\n'
        f'    "year": {MASK} 4 characters,\n'
        f'    "x": [{MASK} 3 characters, true, null, ""]\n'
        "  },\n"
        '  "a": 1\n'
        "}"
    )
    assert (result.hidden, result.marks) == (3, (Mark.MASKED,))


@pytest.mark.parametrize(
    "raw",
    [
        r'{"p\u0061ssword":"QXZ"}',
        r'{"a":"{\"token\":\"QXZ\"}"}',
        r'{"a":"{\\u0022token\\u0022:\\u0022QXZ\\u0022}"}',
        r'{"a":"\u0022token\u0022:\u0022QXZ\u0022"}',
        '{"url":"redis://:QXZ@host/0"}',
        '{"password=QXZ":1}',
        r'{"password\u003dQXZ":{"a":1}}',
        '{"redis://:QXZ@host/0":[1]}',
        '{"log":"Authorization: Bearer QXZ"}',
        '{"name":"password","value":"QXZ"}',
        '["Authorization","QXZ"]',
        '{"token":["a",{"b":[{"c":"QXZ"}]}]}',
        '{"token":"QXZ", oops',
        "{'token': 'QXZ'}",
        "token=QXZ",
        '{"a":1}{"token":"QXZ"}',
        '"token=QXZ"',
        "[" * 300 + '{"token":"QXZ"}' + "]" * 300,
    ],
)
def test_a_secret_is_hidden_however_it_is_written(raw: str) -> None:
    for body in (whole(raw), Body(raw.encode(), SIZE)):
        result = show(body)
        assert not set("QXZ") & set(result.text)
        assert result.hidden
        assert Mark.MASKED in result.marks
        assert not set("QXZ") & set(summary(body).value)
        assert not set("QXZ") & set(plain_text(body).value)


@st.composite
def documents_with_secrets(draw: st.DrawFn) -> str:
    secret = SECRET | st.lists(SECRET, max_size=3) | st.dictionaries(NAMES, SECRET, max_size=3)
    inner: st.SearchStrategy[Any] = st.dictionaries(SECRET_NAMES, secret, min_size=1, max_size=3)
    inner |= inner.map(json.dumps) | inner.map(json.dumps).map(lambda text: json.dumps({"body": text}))
    inner |= SECRET.map(lambda text: f"https://u:{text}@host/") | SECRET.map(lambda text: f"Cookie: a={text}; b={text}")
    tree = st.recursive(
        inner | st.integers() | LETTERS,
        lambda deeper: st.lists(deeper, max_size=4) | st.dictionaries(NAMES, deeper, max_size=4),
        max_leaves=8,
    )
    ascii_only, indent = draw(st.booleans()), draw(st.sampled_from([None, 2]))
    return json.dumps(draw(tree), ensure_ascii=ascii_only, indent=indent)


@given(documents_with_secrets(), st.data())
@settings(deadline=None)
def test_a_secret_stays_hidden_wherever_the_document_is_cut(raw: str, data: st.DataObject) -> None:
    stored = raw.encode()
    end = data.draw(st.integers(0, len(stored)))
    for body in (whole(stored), Body(stored[:end], len(stored) + 1), whole(stored[:end]), whole(b"! " + stored)):
        assert not set("QXZ") & set(show(body).text)
        assert not set("QXZ") & set(summary(body, 10_000).value)


# --- cut -------------------------------------------------------------------------------------------


def test_a_cut_document_is_laid_out_up_to_the_cut() -> None:
    raw = '{"a":{"b":[1,2],"c":"text é"},"password":"hunter2hunter2"}'.encode()
    result = show(Body(raw[:-6], len(raw)))
    assert result.text == (
        f'{{\n  "a": {{\n    "b": [1, 2],\n    "c": "text é"\n  }},\n  "password": {MASK} at least 10 characters'
    )
    assert (result.size, result.marks) == (len(raw), (Mark.CUT, Mark.MASKED))


@given(JSON_VALUES.map(json.dumps), st.data())
@settings(deadline=None)
def test_a_document_cut_anywhere_is_still_laid_out(raw: str, data: st.DataObject) -> None:
    end = data.draw(st.integers(1, len(raw)))
    result = show(Body(raw[:end].encode(), len(raw) + 1))
    assert Mark.MALFORMED not in result.marks
    stored, text = bare(show_letters_in_json(raw[:end])), bare(result.text)
    assert result.hidden or (stored.startswith(text) and len(stored) - len(text) <= 3)  # "1.5e+", "a":, [1,


@pytest.mark.parametrize("end", range(1, 5))
def test_a_cut_through_a_character_is_not_called_odd_bytes(end: int) -> None:
    raw = '"😀"'.encode()
    assert show(Body(raw[:end], 99)).marks == (Mark.CUT,)


# --- broken ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    """
    {not json|foo|nul|01|[1,]|{"a":1,}|[1 2]|{"a"}|{"a":1]|[}|"\\q"|"a\tb"|{1:2}
    [[]|1,|,|:|"a"x|1.|-|+1|\ufeff{}|'a'|"||not-a-list
    """.strip()
    .replace("\n    ", "|")
    .split("|"),
)
def test_what_is_not_json_is_shown_raw_with_a_mark(raw: str) -> None:
    """JD-07."""
    result = show(whole(raw))
    assert result.marks == (Mark.MALFORMED,)
    assert result.text.replace("\\ufeff", "\ufeff") == raw
    assert result.plain


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_python_alone_writes_are_shown_and_marked(value: str) -> None:
    """JD-07."""
    result = show(whole(f'{{"n":{value}}}'))
    assert (result.text, result.marks) == (f'{{ "n": {value} }}', (Mark.MALFORMED,))


def test_lone_surrogates_and_bytes_that_are_no_utf8_are_shown() -> None:
    """JD-08."""
    assert shown(r'{"s":"x\ud800y"}') == r'{ "s": "x\ud800y" }'
    result = show(whole(b'{"s":"x\xff\xfe\x80y\xed\xa0\x80"}'))
    assert result.marks == (Mark.BYTES,)
    assert result.text.startswith('{ "s": "x\ufffd\ufffd\ufffdy')
    assert show(whole(b"\xff\x00\x1b[31m")).text == "\ufffd\\x00\\x1b[31m"


def test_characters_that_reorder_or_hide_text_are_written_out() -> None:
    assert shown('"a\u202eb\u2028\x7f"') == '"a\\u202eb\\u2028\\u007f"'
    hidden = "\u061c\u200b\u200e\u200f\u2060\ufeff"
    assert shown(f'{{"{hidden}":"{hidden}"}}').isascii()
    assert shown(f'{{"pass{hidden}word":"QXZQXZ"}}').count("QXZ") == 0
    assert shown('"👩‍👩‍👧"') == '"👩‍👩‍👧"'


def test_a_document_says_whether_it_holds_numbers() -> None:
    assert show(whole('{"a":["x",-1.5]}')).numbers
    assert not show(whole('{"a":["1",true,null]}')).numbers
    assert not show(whole("1 and 2")).numbers


@pytest.mark.parametrize("levels", [201, 3000, 100_000])
def test_beyond_two_hundred_levels_a_document_is_text_but_still_masked(levels: int) -> None:
    """JD-09."""
    result = show(whole('{"a":' * levels + '{"password":"QXZ","b":[1]}' + "}" * levels))
    assert Mark.DEEP in result.marks
    assert result.text.count("\n") == 2 * 200
    assert f'{{"password": {MASK} 3 characters,"b": [1]}}' in result.text


def test_two_hundred_levels_are_laid_out() -> None:
    result = show(whole("[" * 200 + "]" * 200))
    assert result.marks == ()
    assert result.text.count("\n") == 2 * 199


@given(
    st.binary(max_size=300) | st.text('{}[]:,"\\u0 nulltrue-1e.\ud7ff', max_size=60).map(str.encode), st.integers(0, 3)
)
@settings(deadline=None, max_examples=400)
def test_no_bytes_make_it_fail_or_print_a_control_character(raw: bytes, more: int) -> None:
    body = Body(raw, len(raw) + more)
    for text in (show(body).text, summary(body).value, plain_text(body).value):
        text.encode()
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


@given(JSON_VALUES.map(json.dumps), st.binary(max_size=3), st.integers(0, 200))
@settings(deadline=None)
def test_a_damaged_document_never_fails(raw: str, junk: bytes, at: int) -> None:
    stored = raw.encode()
    at = min(at, len(stored))
    show(whole(stored[:at] + junk + stored[at + 1 :]))


# --- large -----------------------------------------------------------------------------------------

ITEM = b'{"id":1234,"name":"name 17","price":12.5,"tags":["a","b"],"url":"https://x.example/a?c=1"},'
HOSTILE = {
    "ordinary": b"[" + ITEM * (SIZE // len(ITEM)),
    "open arrays": b"[" * SIZE,
    "open objects": b"{" * SIZE,
    "objects in objects": b'{"a":' * (SIZE // 5),
    "backslashes": b'"' + b"\\" * SIZE,
    "quotes": b'"' * SIZE,
    "open strings": b'["' * (SIZE // 2),
    "spaces": b" " * SIZE + b"x",
    "one digit after another": b"1" * SIZE,
    "numbers": b"[" + b"1," * (SIZE // 2),
    "deep lists": b"[" * 199 + b"[1,2,3,4,5,6,7,8,9,[]]," * (SIZE // 24),
    "secret numbers": b'{"token":[' + b"12," * (SIZE // 3),
    "secrets": b"{" + b'"token":"abcd",' * (SIZE // 15),
    "escapes": b'"' + b"\\n" * (SIZE // 2),
    "odd bytes": b"\xff" * SIZE,
    "controls": b"\x00" * SIZE,
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_large_body_stays_plain_bounded_and_linear(raw: bytes) -> None:
    begun = time.process_time()
    result = show(Body(raw, 5_000_000))
    assert time.process_time() - begun < 20  # quadratic work takes minutes
    assert len(result.tokens) <= 1
    assert len(result.text.encode()) < 4 * SIZE + 200
    assert result.size == 5_000_000


def test_a_small_body_of_many_values_is_plain_too() -> None:
    result = show(whole(b"[" + b"1," * 20_000 + b"1]"))
    assert result.plain
    assert len(result.tokens) == 1
    assert not show(whole(b"[" + b"1," * 1000 + b"1]")).plain


# --- one line --------------------------------------------------------------------------------------


def test_a_summary_is_one_line_with_its_limit() -> None:
    line = summary(whole('{ "a" : [1, 2],\n "password": "x", "b":"%s" }' % ("y" * 200)), 60)
    assert line.value.startswith('{"a":[1,2],"password":' + MASK + ' 1 character,"b":"yyy')
    assert len(line.value) == 60
    assert line.value.endswith("…")
    assert set(line.marks) == {Mark.CUT, Mark.MASKED}


def test_a_summary_of_text_has_no_line_breaks() -> None:
    assert summary(whole("line 1\n  line 2")).value == "line 1 line 2"


def test_a_summary_under_a_secret_name_hides_everything() -> None:
    assert summary(whole("QXZ"), key="apiToken").value == f"{MASK} 3 characters"
    assert summary(whole(b""), key="apiToken").value == ""


def test_a_summary_reads_the_beginning_only() -> None:
    line = summary(Body(b'{"password":"' + b"Q" * SIZE, 5_000_000))
    assert line.value == '{"password":' + MASK + f" at least {payload.SUMMARY_READS - 13} characters…"
    assert line.size == 5_000_000


def test_plain_text_keeps_lines_and_drops_colours() -> None:
    text = plain_text(whole("\x1b[31mtoken=abc\x1b[0m\r\n\tat x\x00"))
    assert text.value == f"token={MASK}\\x0d\n\tat x\\x00"
    assert text.marks == (Mark.MASKED,)


def test_shown_is_a_value() -> None:
    assert show(whole("[1]")) == Shown(show(whole("[1]")).tokens, (), 3, 0, plain=False, numbers=True)


def test_letters_that_were_escaped_are_shown_as_themselves() -> None:
    raw = rb'{"nome":"D\u00e9bora \ud83d\ude00","odd":"\ud800 \u202e \u0007 \u0041 \\u00e9","caf\u00e9":1}'
    text = show(Body(raw, len(raw))).text
    assert '"D\u00e9bora \U0001f600"' in text
    assert r'"\ud800 \u202e \u0007 \u0041 \\u00e9"' in text
    assert '"caf\u00e9": 1' in text
