"""Colours and cursor codes of terminals are taken out, the text between them stays."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queues.ansi import strip_ansi


@pytest.mark.parametrize(
    ("coloured", "plain"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[1;38;5;208mbold\x1b[m", "bold"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;never ended, so it hides nothing", "0;never ended, so it hides nothing"),
        ("\x1b(Bascii\x1b[?25l", "ascii"),
        ("\x9b31mred\x9b0m", "red"),
        ("cut \x1b[3", "cut "),
        (r"\x1b[31mwritten out\u001b[0m \x1bx \x1b[", r"written out \x1bx \x1b["),
        ("lone \x1b", "lone \x1b"),
        ("<b>é[31m</b>\n\t", "<b>é[31m</b>\n\t"),
    ],
)
def test_control_sequences_are_stripped(coloured: str, plain: str) -> None:
    assert strip_ansi(coloured) == plain


@given(st.text(st.sampled_from("\x1b\x9b\x9d\x07[]0;mA\n\\P")))
def test_any_mix_of_introducers_leaves_the_line_breaks(text: str) -> None:
    assert strip_ansi(text).count("\n") == text.count("\n")


@pytest.mark.parametrize("piece", ["\x1b", "\x1b[", "\x1b]", "\x1b[0", "\x1bP", "\x1b ", "\x9d", r"\x1b[", "\\"])
def test_stripping_stays_linear_on_hostile_text(piece: str) -> None:
    begun = time.process_time()
    strip_ansi(piece * (256 * 1024))
    strip_ansi(piece + "0" * (256 * 1024))
    assert time.process_time() - begun < 20
