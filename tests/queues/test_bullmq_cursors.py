"""Cursors that somebody wrote by hand: a page or BadInput, whatever they hold."""

from __future__ import annotations

import base64
import json

import pytest
import redis
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from queues.backends.bullmq import cursors
from queues.backends.bullmq.cursors import Anchor, Cursor, Position
from queues.backends.bullmq.reader import BullMQ
from queues.errors import BadInput
from queues.types import QueueRef, State
from tests.seed import seed_queue
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=12)
    | st.sampled_from(["1", "1e999", "-inf", "nan", "١", "", "x", 0, 1, 2, 2**53 - 1])
)  # fmt: skip
PARTS = st.lists(SCALARS | st.lists(SCALARS, max_size=2), max_size=5) | SCALARS | st.dictionaries(st.text(), SCALARS)


def _text(parts: object) -> str:
    raw = json.dumps(parts, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@pytest.fixture
def shop(valkey: redis.Redis, valkey_server: Server) -> BullMQ:
    seed_queue(valkey, "shop", waiting=3, failed=3, completed=3)
    return BullMQ(valkey_server.config())


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PARTS)
@example([0, "1", "x", True])
@example([0, "1", "x", 1.0])
@example([False, "1", "x", 1])
@example([0, "١", "x", 1])
@example([0, True])
@example([0, 2**53 - 1])
@example([1, 2**53 - 1])
def test_any_json_in_a_cursor_gives_a_page_or_is_refused_as_bad_input(shop: BullMQ, parts: object) -> None:
    for states in ([State.WAITING], [State.FAILED], [State.COMPLETED, State.FAILED]):
        try:
            page = shop.jobs(SHOP, states, cursor=_text(parts))
        except BadInput:
            continue
        assert page.total == 3 * len(states)


@settings(max_examples=200)
@given(st.text(max_size=40))
def test_any_text_as_a_cursor_is_one_of_ours_or_bad_input(text: str) -> None:
    for ranked in (True, False):
        try:
            assert cursors.encode(cursors.decode(text, ranked=ranked)) == text
        except BadInput:
            continue


@given(st.binary(max_size=20), st.integers(1, 2), st.booleans(), st.integers(0, 2**53 - 1))
def test_our_own_cursors_are_read_back_as_they_were(job: bytes, owner: int, back: bool, offset: int) -> None:
    for ranked, at in ((True, Anchor(b"1.5e+20", job, owner)), (False, Position(offset))):
        assert cursors.decode(cursors.encode(Cursor(at, back)), ranked=ranked) == Cursor(at, back)
