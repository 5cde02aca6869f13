"""Numbers, sizes, durations and moments in words: one way of writing each, in the reader's language."""

from __future__ import annotations

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from queues.quantities import duration, instant, number, size, spelled, units


@pytest.mark.parametrize(("ms", "words"), [
    (None, "–"), (0, "0 ms"), (0.4, "0.4 ms"), (9.99, "9.9 ms"), (380, "380 ms"), (999.9, "999 ms"), (1000, "1 s"),
    (1500, "1.5 s"), (48_299, "48.2 s"), (59_999, "59.9 s"), (60_000, "1 min"), (90_000, "1 min 30 s"),
    (273_999, "4 min 33 s"), (3_599_999, "59 min 59 s"), (7_440_000, "2 h 04 min"), (86_399_999, "23 h 59 min"),
    (86_400_000, "1 d"), (533_000_000, "6 d 4 h"), (86_400_000_000, "1,000 d"), (-5, "−5 ms"),
])  # fmt: skip
def test_durations_have_two_units_at_most_and_are_rounded_down(ms: float | None, words: str) -> None:
    assert duration(ms) == words


@pytest.mark.parametrize(
    ("ms", "words"), [(380, "0 s"), (-380, "0 s"), (48_299, "48 s"), (-1500, "−1 s"), (90_999, "1 min 30 s")]
)
def test_ages_are_told_in_whole_seconds(ms: float, words: str) -> None:
    assert duration(ms, whole=True) == words


@pytest.mark.parametrize(("count", "words"), [
    (None, "–"), (0, "0 B"), (1023, "1,023 B"), (1024, "1 KB"), (2150, "2.1 KB"), (5_300_000, "5.1 MB"),
    (10**12, "931.3 GB"), (10**16, "9,094.9 TB"), (-1, "-1 B"),
])  # fmt: skip
def test_sizes_are_powers_of_1024(count: int | None, words: str) -> None:
    assert size(count) == words


def test_numbers_are_grouped_and_small_ones_spelled_within_a_sentence() -> None:
    assert [number(value) for value in (None, 0, 1234567, 2.0, 0.5)] == ["–", "0", "1,234,567", "2", "0.5"]
    assert [spelled(value) for value in (0, 1, 9, 10, 1200)] == ["none", "one", "nine", "10", "1,200"]


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_no_number_fails(value: float) -> None:
    assert number(value)
    assert duration(value)
    assert duration(value, whole=True)
    instant(value)


def test_the_language_of_the_reader_decides_how_numbers_look_also_when_another_was_asked_before() -> None:
    assert (number(1234.5), duration(1500), size(1536)) == ("1,234.5", "1.5 s", "1.5 KB")
    with translation.override("pt-br"):
        assert (number(1234.5), duration(1500), size(1536)) == ("1.234,5", "1,5 s", "1,5 KB")


def test_scripts_get_a_place_for_the_number_in_each_unit() -> None:
    assert [unit.count("{}") for unit in units()] == [1, 1, 1, 1]
