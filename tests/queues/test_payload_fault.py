"""Where a document stops being JSON, told so that a person finds the place."""

from __future__ import annotations

import json

import pytest

from queues.payload.parsing import fault


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ('{"a":1', (1, 7)),
        ('{\n "a": 1,\n b: 2}', (3, 2)),
        ('{\n "a": 1\n "b": 2}', (3, 2)),  # a comma is missing
        ('{"a": 1,\n "b": tru}', (2, 7)),
        ('{"a":1,}', (1, 8)),
        ('{"a":"x\\q"}', (1, 6)),
        ('{"a": 1, 5: 3}', (1, 10)),
        ('{"a"}', (1, 2)),
        ("[1] 2", (1, 5)),
        ('{"NaN": NaN}', (1, 9)),
        ("[01]", (1, 3)),
        ("", (1, 1)),
    ],
)
def test_the_place_is_where_the_wrong_thing_begins(document: str, place: tuple[int, int]) -> None:
    found = fault(document)
    assert found is not None
    assert (found.line, found.column) == place


@pytest.mark.parametrize("document", ['{"a": [1, {"b": "\\ud800"}]}', " 1 ", "[" * 3000 + "]" * 3000, "9" * 5000])
def test_what_a_worker_can_read_has_no_fault(document: str) -> None:
    assert fault(document) is None


def test_a_fault_far_behind_costs_no_more_than_its_distance() -> None:
    document = "[" + json.dumps("x" * 90) + "," + ",\n".join(["1"] * 200_000) + ",]"
    found = fault(document)
    assert found is not None
    assert found.line == 200_000
