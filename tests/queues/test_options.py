"""Options are said in words where they have BullMQ's shape, and shown as they are where not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queues.options import brief, in_words
from queues.redaction import MASK


def said(**options: object) -> dict[str, str]:
    return dict(in_words(options))


@pytest.mark.parametrize(
    ("options", "label", "value"),
    [
        ({"attempts": 3}, "Attempts", "3"),
        ({"attempts": 0}, "Attempts", "1"),  # npm's way to write its default
        (
            {"backoff": {"type": "exponential", "delay": 40_000, "jitter": 0.2}},
            "Backoff",
            "exponential from 40 s, jitter 0.2",
        ),
        ({"backoff": {"type": "fixed", "delay": 1500}}, "Backoff", "fixed, 1.5 s"),
        ({"backoff": 5000}, "Backoff", "fixed, 5 s"),
        ({"backoff": 0}, "Backoff", "none"),
        ({"backoff": {"type": "slow"}}, "Backoff", "by the worker's own rule “slow”"),
        ({"delay": 0}, "Delay", "none"),
        ({"delay": 5_400_000}, "Delay", "1 h 30 min"),
        ({"priority": 0}, "Priority", "none"),
        ({"priority": 7}, "Priority", "7"),
        ({"lifo": True}, "Order", "last in, first out"),
        ({"removeOnComplete": True}, "Keep completed", "removed at once"),
        ({"removeOnComplete": 0}, "Keep completed", "removed at once"),
        ({"removeOnComplete": 1000}, "Keep completed", "newest 1,000"),
        ({"removeOnFail": False}, "Keep failed", "for ever"),
        ({"removeOnFail": -1}, "Keep failed", "for ever"),
        ({"removeOnFail": {"age": 86_400}}, "Keep failed", "for 1 d"),
        ({"removeOnFail": {"age": 3600, "count": 50}}, "Keep failed", "newest 50, for 1 h"),
        (
            {"de": {"id": "cap-1", "ttl": 5000, "extend": True}},
            "Deduplication",
            "cap-1, for 5 s, each new one extends it",
        ),
        ({"deduplication": {"id": "x"}}, "Deduplication", "x"),
        ({"fpof": True}, "Parent, should this fail", "it fails too"),
        ({"cpof": True}, "Parent, should this fail", "it starts at once"),
        ({"idof": True}, "Parent, should this fail", "it goes on and notes the failure"),
        ({"rdof": True}, "Parent, should this fail", "it goes on without this child"),
        ({"kl": 1}, "Keep logs", "newest 1 line"),
        ({"keepLogs": 10}, "Keep logs", "newest 10 lines"),
        (
            {"repeat": {"pattern": "0 3 * * *", "tz": "America/Sao_Paulo", "count": 7}},
            "Repeat",
            "cron 0 3 * * *, America/Sao_Paulo, run 7",
        ),
        ({"repeat": {"every": 300_000, "limit": 1}}, "Repeat", "every 5 min, at most 1 run"),
        ({"parent": {"id": "7", "queueKey": "bull:orders"}}, "Parent", "bull:orders:7"),
        ({"sizeLimit": 100_000}, "Size limit", "100,000 bytes"),
        ({"tm": "00-4bf9"}, "Telemetry", "present"),
        ({"jobId": "a"}, "jobId", "a"),
    ],
)
def test_an_option_is_said_in_words(options: dict[str, object], label: str, value: str) -> None:
    assert said(**options) == {label: value}


def test_an_option_that_is_off_is_left_out() -> None:
    assert said(lifo=False, fpof=False, tm="") == {}


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(10**5000, id="huge"),
        float("nan"),
        float("inf"),
        -1,
        True,
        None,
        "x",
        [1],
        {},
        {"type": 1},
        {"id": 3},
        {"every": 1e400},
        [[[[[]]]]],
    ],
)
@pytest.mark.parametrize(
    "key", ["attempts", "backoff", "delay", "removeOnFail", "de", "repeat", "kl", "parent", "other"]
)
def test_a_value_of_another_shape_is_shown_as_it_is(key: str, value: object) -> None:
    for option in in_words({key: value}):
        assert len(option.value) <= 200


def test_secrets_among_the_options_are_masked() -> None:
    shown = said(apiToken="QXZ", other={"password": "QXZ", "n": 1}, url="redis://:QXZ@host", de={"id": "token=QXZ"})
    assert shown["apiToken"] == MASK
    assert shown["other"] == f"{{password: {MASK}, n: 1}}"
    assert not set("QXZ") & set("".join(shown.values()))


def test_unknown_options_are_bounded() -> None:
    options = in_words({f"x{n}": ["y" * 1000] * 1000 for n in range(1000)})
    assert len(options) == 50
    assert all(len(option.value) <= 200 for option in options)


@given(
    st.dictionaries(
        st.sampled_from(["attempts", "backoff", "de", "repeat", "removeOnFail", "type", "id", "x"]) | st.text(),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["type", "id", "delay", "every"]), inner),
            max_leaves=8,
        ),
    )
)
@settings(deadline=None)
def test_no_options_make_it_fail(options: dict[str, Any]) -> None:
    for label, value in in_words(options):
        (label + value).encode()
        assert "\n" not in label + value


def test_deep_values_end_after_three_levels() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert brief(deep) == "[[[…]]]"
    while deep:  # unnested by hand, as freeing it recurses
        deep = deep[0]
