"""Edits of data: what they do is what a plain reading of their rules does, and all else keeps its bytes."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queues import paths
from queues.errors import BadInput
from queues.redaction import DEFAULT
from queues.replay.patching import Unfit, checked, compared, patcher, trial
from queues.replay.terms import Patch, PatchKind

# Ways to write the same few keys, and values of all kinds, among them odd ones.
KEYS = [b'"a"', b'"\\u0061"', b'"b"', b'"0"', b'"1"', '"é"'.encode(), b'"\\u00e9"', b'"\xff"', b'"\\ud800"', b'"a b"']
SCALARS = [
    b"1",
    b"1.50",
    b"-0",
    b"1e400",
    b"9" * 40,
    b"true",
    b"null",
    b'"x"',
    b'"\\u0078\\/"',
    b'"\xfe"',
    b'"\\udc00"',
]
SPACES = [b"", b"", b" ", b"\n  ", b"\t"]


def merge(text: str | bytes, data: bytes) -> bytes:
    return patcher(Patch(PatchKind.MERGE, text if isinstance(text, str) else text.decode()))(data)


def lines(text: str, data: bytes) -> bytes:
    return patcher(Patch(PatchKind.PATHS, text))(data)


def unfit(patch: Callable[[], bytes]) -> str:
    with pytest.raises(Unfit) as error:
        patch()
    return str(error.value)


# --- a plain implementation, on documents whose texts are kept -----------------------------------------


@dataclass
class Node:
    """A value: `members` of an object (with the keys as written), `items` of a list, else its text."""

    text: bytes = b""
    members: list[tuple[bytes, Node]] | None = None
    items: list[Node] = field(default_factory=list)


TOKEN = re.compile(rb'[ \t\r\n]*("(?:[^"\\]|\\.)*"|[][{}:,]|[^][{}:,\s"]+)')


def parsed(data: bytes) -> Node:
    tokens = TOKEN.findall(data)
    assert b"".join(tokens) == re.sub(rb'("(?:[^"\\]|\\.)*")|[ \t\r\n]+', rb"\1", data)
    node, at = _value(tokens, 0)
    assert at == len(tokens)
    return node


def _value(tokens: list[bytes], at: int) -> tuple[Node, int]:
    if tokens[at] not in (b"{", b"["):
        return Node(tokens[at]), at + 1
    is_object = tokens[at] == b"{"
    node = Node(b"" if is_object else b"[]", [] if is_object else None)
    at += 1
    while tokens[at] not in (b"}", b"]"):
        if is_object:
            assert node.members is not None
            assert tokens[at + 1] == b":"
            inner, end = _value(tokens, at + 2)
            node.members.append((tokens[at], inner))
        else:
            inner, end = _value(tokens, at)
            node.items.append(inner)
        at = end + 1 if tokens[end] == b"," else end
    return node, at + 1


def name(key: bytes) -> str:
    return str(json.loads(key.decode(errors="replace"))) if key != b'"\xff"' else "\xff (a byte)"


def last(members: list[tuple[bytes, Node]]) -> dict[str, tuple[bytes, Node]]:
    return {name(key): (key, node) for key, node in members}


def merged(target: Node | None, patch: Node) -> Node:
    """RFC 7396, section 2. Of doubled keys the last counts; all of them are removed."""
    if patch.members is None:
        return patch
    if target is None or target.members is None:
        return stripped(patch)
    kept = list(target.members)
    for said, (key, node) in last(patch.members).items():
        places = [at for at, (each, _node) in enumerate(kept) if name(each) == said]
        if node.text == b"null":
            kept = [each for each in kept if name(each[0]) != said]
        elif places:
            kept[places[-1]] = (kept[places[-1]][0], merged(kept[places[-1]][1], node))
        else:
            kept.append((key, merged(None, node)))
    return Node(b"", kept)


def stripped(patch: Node) -> Node:
    """What an object of a patch is where there was none."""
    assert patch.members is not None
    effective = last(patch.members)
    kept = []
    for key, node in patch.members:
        counts = effective[name(key)][1]
        if counts.text != b"null":
            kept.append((key, stripped(node) if node is counts and node.members is not None else node))
    return Node(b"", kept)


@st.composite
def documents(draw: st.DrawFn, keys: list[bytes] = KEYS, scalars: list[bytes] = SCALARS, depth: int = 4) -> bytes:
    rng = random.Random(draw(st.integers(0, 2**32)))

    def space() -> bytes:
        return rng.choice(SPACES)

    def value(level: int) -> bytes:
        kind = rng.random()
        if level == 0 or kind < 0.35:
            return rng.choice(scalars)
        inner = [value(level - 1) for _ in range(rng.randrange(5))]
        if kind < 0.85:
            members = [space() + rng.choice(keys) + space() + b":" + space() + each + space() for each in inner]
            return b"{" + (b",".join(members) or space()) + b"}"
        return b"[" + (b",".join(space() + each + space() for each in inner) or space()) + b"]"

    return space() + value(depth) + space()


TYPED = [key for key in KEYS if b"\xff" not in key]  # a person's text is UTF-8
TYPED_SCALARS = [value for value in SCALARS if b"\xfe" not in value] + [b"null"] * 5


@settings(max_examples=600, deadline=None)
@given(documents(), documents(TYPED, TYPED_SCALARS))
def test_a_merge_patch_does_what_its_specification_says(data: bytes, patch: bytes) -> None:
    tree = parsed(patch)
    if not tree.members:
        with pytest.raises(BadInput):
            merge(patch, data)
        return
    assert parsed(merge(patch, data)) == merged(parsed(data), tree)


@settings(max_examples=300, deadline=None)
@given(documents(depth=5), st.randoms(use_true_random=False))
def test_a_path_set_and_set_back_leaves_every_byte_as_it_was(data: bytes, rng: random.Random) -> None:
    steps: list[paths.Step] = []
    node = parsed(data)
    while (node.members or node.items) and (not steps or rng.random() < 0.8):
        if node.members:
            key, node = last(node.members)[rng.choice([name(key) for key, _node in node.members])]
            if not name(key).isascii():
                return
            steps.append(name(key))
        else:
            at = rng.randrange(len(node.items))
            node = node.items[at]
            steps.append(at)
    if not steps or node.members is not None or node.items or node.text == b"[]" or b"\xfe" in node.text:
        return
    path = "".join(f"[{step}]" if isinstance(step, int) else f'["{step}"]' for step in steps)
    changed = lines(f"{path} = [12345, {{}}]", data)
    assert paths.get(json.loads(changed.decode("latin-1")), steps) == [12345, {}]
    assert lines(f"{path} = {node.text.decode()}", changed) == data


# --- merge patches -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "patch", "made"),
    [
        # the examples of RFC 7396, appendix A, of patches that are objects
        (b'{"a":"b"}', '{"a":"c"}', b'{"a":"c"}'),
        (b'{"a":"b"}', '{"b":"c"}', b'{"a":"b","b":"c"}'),
        (b'{"a":"b"}', '{"a":null}', b"{}"),
        (b'{"a":"b","b":"c"}', '{"a":null}', b'{"b":"c"}'),
        (b'{"a":["b"]}', '{"a":"c"}', b'{"a":"c"}'),
        (b'{"a":"c"}', '{"a":["b"]}', b'{"a":["b"]}'),
        (b'{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', b'{"a":{"b":"d"}}'),
        (b'{"a":[{"b":"c"}]}', '{"a":[1]}', b'{"a":[1]}'),
        (b'{"e":null}', '{"a":1}', b'{"e":null,"a":1}'),
        (b"[1,2]", '{"a":"b","c":null}', b'{"a":"b"}'),
        (b"{}", '{"a":{"bb":{"ccc":null}}}', b'{"a":{"bb":{}}}'),
        # what is added is laid out as what stands before it
        (b'{\n  "a": 1\n}', '{"b":{"c": 2}}', b'{\n  "a": 1,\n  "b": {"c": 2}\n}'),
        (b'{"a": 1}', '{"b":2}', b'{"a": 1, "b": 2}'),
        (b'{\n  "a": 1, "b": 2\n}', '{"a":null,"b":null,"c":3}', b'{\n  "c": 3\n}'),
        (b'{ "a" : 1 , "b" : 2 , "c" : 3 }', '{"b":null}', b'{ "a" : 1 , "c" : 3 }'),
        (b'{"a":1,"b":2,"c":3}', '{"a":null,"c":null}', b'{"b":2}'),
        # a doubled key: the last is what workers see
        (b'{"a":1,"b":0,"a":2}', '{"a":3}', b'{"a":1,"b":0,"a":3}'),
        (b'{"a":1,"b":0,"a":2}', '{"a":null}', b'{"b":0}'),
    ],
)
def test_a_merge_patch_cuts_into_the_text_and_nowhere_else(data: bytes, patch: str, made: bytes) -> None:
    assert merge(patch, data) == made


def test_numbers_escapes_and_bytes_that_are_no_text_stay_what_they_are_beside_an_edit() -> None:
    odd = b'"n": ' + b"7" * 5000 + b', "s":"\\ud800 caf\\u00e9 \xff\xfe", "deep": ' + b"[" * 3000 + b"]" * 3000
    made = merge('{"x": 1.000000000000000000001}', b"{" + odd + b"}")
    assert made == b"{" + odd + b', "x": 1.000000000000000000001}'


def test_what_is_no_json_is_not_edited() -> None:
    samples = [b"", b"undefined", b'{"a":1', b"{'a':1}", b'\xef\xbb\xbf{"a":1}', b'{"a":1}{"a":1}']
    made = trial(Patch(PatchKind.MERGE, '{"a":2}'), samples)
    assert [(each.after, each.why) for each in made] == [(None, "Its data is no JSON.")] * len(samples)


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ('{"a": 1,\n "b": tru}', "from line 2, column 7 on"),
        ("[1]", "is a JSON object"),
        ("null", "is a JSON object"),
        ("{}", "changes nothing"),
        ('{"a": NaN}', "NaN"),
        ('{"a":' * 200 + "1" + "}" * 200, "nested too deeply"),
        ('{"a":"' + "x" * 300_000 + '"}', "At most 256 KB"),
        ("", "no JSON"),
    ],
)
def test_a_merge_patch_that_cannot_be_one_says_why_and_where(patch: str, why: str) -> None:
    with pytest.raises(BadInput, match=re.escape(why)):
        checked(Patch(PatchKind.MERGE, patch))


# --- lines of paths ------------------------------------------------------------------------------------


def test_lines_set_what_stands_at_paths_add_a_last_key_and_take_out() -> None:
    data = b'{"customer": {"tier": 1, "old": true}, "items": [{"n": 1.50}, {"n": 2}], "trace": "x"}'
    made = lines('customer.tier = "gold"\n\n customer.since = 2020\n- trace\nitems[1].n = 3\n- customer.old', data)
    assert made == b'{"customer": {"tier": "gold", "since": 2020}, "items": [{"n": 1.50}, {"n": 3}]}'


def test_keys_are_found_however_they_are_written() -> None:
    data = '{"caf\\u00e9": {"a=b": 1, "1": 2}, "São Paulo": 3}'.encode()
    made = lines('café["a=b"] = 10\ncafé.1 = 20\nSão Paulo = {"x": "é"}', data)
    assert made == '{"caf\\u00e9": {"a=b": 10, "1": 20}, "São Paulo": {"x": "é"}}'.encode()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("gone.a = 1", "gone: nothing is there"),
        ("s.a = 1", "s is no object"),
        ("s.a.b = 1", "s is no object"),
        ("items[2] = 1", "items[2]: the list has only 2 items"),
        ("items[7].n = 1", "items[7]"),
        ("items.n = 1", "Say which item"),
        ("items.01 = 1", "Say which item"),
        ("o[0].x = 1", "o[0]: nothing is there"),
    ],
)
def test_a_line_whose_place_is_not_there_does_not_fit(line: str, why: str) -> None:
    assert why in unfit(lambda: lines(line, b'{"s": "text", "items": [{"n": 1}, {"n": 2}], "o": {}}'))
    assert "no object" in unfit(lambda: lines("a = 1", b"5"))


@pytest.mark.parametrize("line", ["- gone.a", "- s.a", "- items[9]", "- items.n", "- a"])
def test_a_line_that_takes_out_what_is_not_there_changes_nothing(line: str) -> None:
    data = b'{"s": "text", "items": [1]}'
    assert lines(line, data) == data
    assert lines(line, b"5") == b"5"


def test_only_the_last_of_doubled_keys_has_to_fit() -> None:
    assert lines("a.b = 2", b'{"a": 1, "a": {"b": 1}}') == b'{"a": 1, "a": {"b": 2}}'
    assert "no object" in unfit(lambda: lines("a.b = 2", b'{"a": {"b": 1}, "a": 1}'))


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("a", "Line 1: Behind the path come “=” and a JSON value."),
        ("a =", "Line 1: There is no JSON value behind “=”, from column 4 on."),
        ('\n\na = {"x": tru}', "Line 3: There is no JSON value behind “=”, from column 11 on."),
        ("= 1", "Line 1: It is a path"),
        ("a..b = 1", "Line 1: This path cannot be read from “..b” on."),
        ("- a = 1", "has no value"),
        ("a = 1\na.b = 2", "Line 2: It is about what line 1 sets or takes out."),
        ("a = 1\na = 2", "Line 2: It is about what line 1"),
        ("a.b = 1\n- a", "Line 2: Another line is about what stands inside of it."),
        ("  \n", "change nothing"),
        ("a = 1\n" * 501, "At most 500 lines"),
        ("a = " + "1" * 300_000, "At most 256 KB"),
        ('["a"]' * 20_000 + '"', "Line 1: It is a path"),
    ],
)
def test_lines_that_cannot_be_read_say_which_and_why(typed: str, why: str) -> None:
    with pytest.raises(BadInput, match=re.escape(why)):
        checked(Patch(PatchKind.PATHS, typed))


# --- hostile data --------------------------------------------------------------------------------------

MEGABYTE = 1024 * 1024
TraceFunction = Callable[[FrameType, str, object], Any]


def steps(do: Callable[[], object]) -> int:
    """How many lines of ours are run."""
    count, before = 0, sys.gettrace()

    def line(_frame: FrameType, event: str, _given: object) -> TraceFunction:
        nonlocal count
        count += event == "line"
        return line

    def call(frame: FrameType, _event: str, _given: object) -> TraceFunction | None:
        return line if frame.f_globals["__name__"].startswith("queues.") else None

    sys.settrace(call)
    try:
        do()
    finally:
        sys.settrace(before)
    return count


HOSTILE: dict[str, Callable[[int], bytes]] = {
    "lists": lambda n: b'{"x":' + b"[" * n + b"]" * n + b"}",
    "objects": lambda n: b'{"x":' * n + b"1" + b"}" * n,
    "objects on the way": lambda n: b'{"a":' * n + b"1" + b"}" * n,
    "never closed": lambda n: b"[" * n,
    "digits": lambda n: b'{"a":' + b"9" * n + b"}",
    "doubled keys": lambda n: b'{"a":1' + b',"b":1,"a":2' * n + b"}",
    "space": lambda n: b'{"a"' + b" " * n + b":1" + b" " * n + b"}",
    "escapes": lambda n: b'{"' + b"\\u0061" * n + b'":1}',
    "no text": lambda n: b"\xff" * n,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_data_costs_no_more_than_its_length(name: str) -> None:
    """Twice as much of it takes at most twice as many steps: what is quadratic takes four times as many."""
    data, deep = HOSTILE[name], '{"a":' * 99 + "null" + "}" * 99
    for kind, text in (
        (PatchKind.MERGE, '{"a": null, "z": {"y": 1}}'),
        (PatchKind.MERGE, deep),
        (PatchKind.PATHS, "- a\nz = 1"),
    ):
        patch = Patch(kind, text)
        trial(patch, [data(1)])  # what is remembered of the patch
        once, twice = (steps(partial(trial, patch, [data(size)])) for size in (4_000, 8_000))
        assert twice <= 2.2 * once
        (tried,) = trial(patch, [data(MEGABYTE // 12)])
        assert tried.why or tried.after is not None


def test_more_than_a_job_should_ever_hold_is_not_edited() -> None:
    assert "larger than 8 MB" in unfit(lambda: merge('{"a":1}', b'{"x":"' + b"x" * (8 * MEGABYTE) + b'"}'))


# --- trying, and telling what differs ------------------------------------------------------------------


def test_a_trial_tells_what_it_makes_of_each_sample() -> None:
    made = trial(Patch(PatchKind.PATHS, "a.b = 1"), [b'{"a":{}}', b'{"a":{"b":1}}', b"{}", b"?"])
    assert [(each.after, each.unchanged) for each in made] == [
        (b'{"a":{"b":1}}', False),
        (b'{"a":{"b":1}}', True),
        (None, False),
        (None, False),
    ]
    assert [bool(each.why) for each in made] == [False, False, True, True]
    with pytest.raises(BadInput):
        trial(Patch(PatchKind.PATHS, "a.b"), [])


def test_other_data_as_a_whole_takes_the_place_of_any() -> None:
    assert patcher(Patch(PatchKind.WHOLE), b"[1]")(b"{}") == b"[1]"
    with pytest.raises(BadInput):
        patcher(Patch(PatchKind.WHOLE))


def test_what_differs_is_told_with_some_lines_around_it() -> None:
    data = {"id": 1, "items": [{"sku": f"a long name of article {n}", "count": n, "note": "x" * 30} for n in range(9)]}
    before = json.dumps(data).encode()
    found = compared(before, lines("items[4].count = 40\nnew = true", before), DEFAULT)
    told = [(line.kind, line.text.strip()) for line in found if line.kind in ("in", "out")]
    assert told == [("out", '"count": 4,'), ("in", '"count": 40,'), ("out", "]"), ("in", "],"), ("in", '"new": true')]
    assert [line.number for line in found if line.kind == "gap"] == [22, 16]
    assert len(found) < 25
    assert compared(before, before, DEFAULT) == []


def test_what_is_hidden_stays_hidden_on_both_sides_of_an_edit() -> None:
    before = b'{"password": "hunter2", "note": "Bearer abcdefghijklmnopqrst", "n": 1}'
    after = merge('{"password": "letmein", "n": 2}', before)
    found = compared(before, after, DEFAULT)
    said = "\n".join(line.text for line in found)
    assert not re.search("hunter2|letmein|abcdefgh", said)
    assert [line.kind for line in found] == ["out", "in"]
    only = compared(b'{"password": "hunter2"}', b'{"password": "letmein"}', DEFAULT)
    assert [line.kind for line in only] == ["out", "in"]
    assert only[0].text == only[1].text


def test_what_differs_in_its_bytes_alone_or_is_too_large_is_said_in_words() -> None:
    (spelled,) = compared(b'{"a":"caf\\u00e9"}', '{"a": "café"}'.encode(), DEFAULT)
    assert spelled.kind == "note"
    (large,) = compared(b"1", b"[" + b"1," * MEGABYTE + b"1]", DEFAULT)
    assert large.kind == "note"


def test_long_lines_and_many_lines_that_differ_are_cut() -> None:
    before, after = b'{"a":"' + b"x" * 5000 + b'y"}', b'{"a":"' + b"x" * 5000 + b'z"}'
    told = [line.text for line in compared(before, after, DEFAULT) if line.kind in ("in", "out")]
    assert [text[-2:] for text in told] == ['y"', 'z"']
    assert all(len(text) < 300 for text in told)
    many = [json.dumps([f"{side} {n}" * 10 for n in range(2000)]).encode() for side in "ab"]
    found = compared(many[0], many[1], DEFAULT)
    assert len(found) < 210
    assert found[-1].kind == "gap"


def test_who_may_not_reveal_what_is_hidden_cannot_edit_it_by_a_patch() -> None:
    for kind, text in (
        (PatchKind.MERGE, '{"a": {"b": {"password": "x"}}}'),
        (PatchKind.MERGE, '{"apiKey": null}'),
        (PatchKind.PATHS, 'headers["x-auth-token"] = 1'),
        (PatchKind.PATHS, "- card.number"),
    ):
        assert checked(Patch(kind, text)) == Patch(kind, text)
        with pytest.raises(BadInput, match="hidden"):
            checked(Patch(kind, text), DEFAULT)
    checked(Patch(PatchKind.MERGE, '{"a": 1}'), DEFAULT)
