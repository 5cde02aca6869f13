"""What text weighs in a page, and how bodies are cut to the room that there is."""

from __future__ import annotations

import json

import pytest
from django.utils.html import escape
from hypothesis import given
from hypothesis import strategies as st

from queues import payload, stack
from queues.payload.room import fit, level, weight
from queues.redaction import MASK
from queues.types import Body, Mark, Text

TEXT = st.text("a<>&\"'é漢😀\n") | st.text()


@given(TEXT, st.integers(-1, 60))
def test_a_text_weighs_what_it_takes_escaped_and_is_cut_no_shorter_than_needed(text: str, limit: int) -> None:
    assert weight(text) == len(escape(text).encode(errors="replace"))
    beginning = fit(text, limit)
    assert text.startswith(beginning)
    assert weight(beginning) <= max(limit, 0)
    assert beginning == text or weight(text[: len(beginning) + 1]) > limit


@given(st.lists(st.integers(0, 50), max_size=8), st.integers(0, 200))
def test_the_level_lets_the_light_stay_whole_and_keeps_to_the_total(weights: list[int], total: int) -> None:
    most = level(weights, total)
    assert sum(min(one, most) for one in weights) <= total
    assert max(weights, default=0) <= most or sum(min(one, most + 1) for one in weights) > total


@pytest.mark.parametrize(
    "raw", ['"' * 9000, "\x1b\x00" * 4000, '{"a":' * 2000, '{"token":"x","b":"<"}', "[1,2]", "pin=1 " * 999]
)
@pytest.mark.parametrize("limit", [0, 100, 4000])
def test_a_shown_body_keeps_to_its_limit_and_says_that_it_is_cut(raw: str, limit: int) -> None:
    body = Body(raw.encode(), len(raw))
    shown = payload.show(body, limit=limit)
    assert payload.sent(shown.tokens) <= limit
    assert shown.text == payload.show(body).text or Mark.CUT in shown.marks or not shown.text
    text = payload.plain_text(body, limit=limit)
    assert weight(text.value) <= limit
    assert Mark.CUT in text.marks or text.value == payload.plain_text(body).value
    lines = stack.show(body, limit=limit)
    assert sum(weight(line.text) + stack.LINE_MARKUP for line in lines.lines) <= limit


def test_colours_are_left_out_before_text_is() -> None:
    raw = json.dumps({f"key {number}": number for number in range(100)})
    shown = payload.show(Body(raw.encode(), len(raw)), limit=4000)
    assert shown.plain
    assert Mark.CUT not in shown.marks


def test_a_line_is_masked_also_where_it_is_cut() -> None:
    line = payload.fitted(Text("x" * 80 + " password=hunter2", 97), 92)
    assert (line.value, line.marks) == ("x" * 80 + " password=", (Mark.CUT, Mark.MASKED))
    line = payload.fitted(Text("x" * 60 + " password=hunter2 and so on", 87), 90)
    assert line.value == "x" * 60 + " password=" + MASK[:6]
