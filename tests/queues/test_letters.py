"""What a dead letter says, in whichever shape it was written, and which queues hold such letters."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from queues import audit, paths
from queues.audit.types import Asked
from queues.errors import BadInput, NotFound
from queues.failed import FailedJob
from queues.failures import letters
from queues.failures.letters import Mapping, Said
from queues.failures.letters.mapping import made
from queues.failures.letters.reading import moment
from queues.failures.types import How
from queues.models import AuditEntry, DeadLetterQueue, Queue, Source
from queues.paths import MISSING
from queues.types import QueueRef
from tests.queues.fakes import ref

COMMON = made(())
FAILED = 1_700_000_000_123
ORDERS, DEAD = ref("orders"), ref("orders-dlq")


def letter(data: object, **values: object) -> FailedJob:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    job = FailedJob(b"9", None, name=b"dead", timestamp_ms=FAILED + 5, data=raw, data_size=len(raw))
    return replace(job, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data",
    [
        {
            "payload": {"a": 1},
            "error": {"message": "boom", "name": "TypeError", "stack": "TypeError: boom\n    at f (src/a.ts:1:2)"},
            "failedAt": "2023-11-14T22:13:20.123Z",
            "origin": {"queue": "orders", "jobId": "7", "jobName": "charge", "attempts": 3},
        },
        {
            "data": {"a": 1},
            "err": {"message": "boom"},
            "stack": "TypeError: boom\n    at f (src/a.ts:1:2)",
            "failed_at": FAILED,
            "originalQueue": "orders",
            "originalJobId": 7,
            "originalJobName": "charge",
            "attemptsMade": "3",
        },
        {
            "job": {"id": "7", "name": "charge", "data": {"a": 1}, "attemptsMade": 3, "queueName": "orders"},
            "failedReason": "boom",
            "stacktrace": ["TypeError: old", "TypeError: boom\n    at f (src/a.ts:1:2)"],
            "timestamp": FAILED / 1000,
        },
    ],
    ids=["nested", "flat", "whole-job"],
)
def test_the_common_shapes_all_say_the_same(data: object) -> None:
    mapped = letters.read(letter(data), COMMON)
    assert mapped.payload == {"a": 1}
    assert (mapped.thrown.reason, mapped.thrown.name) == ("boom", "charge")
    assert mapped.thrown.stack.startswith("TypeError: boom\n")
    assert (mapped.failed_ms, mapped.queue, mapped.job, mapped.attempts) == (FAILED, "orders", b"7", 3)
    assert not mapped.unmapped


def test_an_error_that_is_a_text_and_a_class_without_a_stack_are_enough() -> None:
    mapped = letters.read(letter({"payload": 1, "error": "boom", "errorName": "TimeoutError"}), COMMON)
    assert mapped.thrown.stack == "TimeoutError: boom"
    assert mapped.unmapped == ("stack", "failed_at", "queue", "job", "name", "attempts")
    assert mapped.thrown.name == "dead"


def test_the_path_of_a_user_comes_before_and_instead_of_the_common_ones() -> None:
    own = made((("error", "meta.why[0]"), ("job", 'meta["job.id"]')))
    data = {"error": "not this", "meta": {"why": ["this"], "job.id": "7"}}
    mapped = letters.read(letter(data), own)
    assert (mapped.thrown.reason, mapped.job) == ("this", b"7")
    mapped = letters.read(letter({"error": "not this"}), own)
    assert mapped.thrown.reason is None
    assert "error" in mapped.unmapped


@pytest.mark.parametrize("data", [b"", b"null", b"[1,2]", b'"text"', b"{", b"\xff\xfe", b"[" * 5000, b'{"a": NaN}'])
def test_what_is_no_object_says_so_and_what_the_job_itself_knows_is_taken(data: bytes) -> None:
    mapped = letters.read(letter(data, reason=b"own reason", reason_size=10), COMMON)
    assert mapped.unmapped == ("data",)
    assert (mapped.thrown.reason, mapped.thrown.name) == ("own reason", "dead")


def test_data_of_which_only_the_beginning_was_read_is_not_guessed_at() -> None:
    assert letters.read(letter({"error": "boom"}, data_size=10_000_000), COMMON).unmapped == ("data",)


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("2023-11-14T22:13:20.123Z", FAILED),
        ("2023-11-14T19:13:20.123-03:00", FAILED),
        ("2023-11-14T22:13:20.123", FAILED),
        (FAILED, FAILED),
        (f" {FAILED}", FAILED),
        (FAILED // 1000, FAILED // 1000 * 1000),
    ],
)
def test_a_time_is_read_as_letters_write_it(value: object, ms: int) -> None:
    assert moment(value) == ms


def test_what_is_no_time_is_not_taken_for_one() -> None:
    odd: list[object] = ["", "yesterday", True, None, 0, -1, 1e300, [], {}, "9" * 400, float("nan"), float("inf")]
    assert [value for value in odd if moment(value) is not None] == []


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
_parts = st.sampled_from(
    ["payload", "error", "err", "origin", "job", "failedAt", "stack", "timestamp", "id", "name", "data"]
)


@given(st.dictionaries(_parts, _json, max_size=6))
def test_reading_never_fails_whatever_stands_where(data: dict[str, object]) -> None:
    raw = json.dumps(data).encode()
    found = letters.found(DEAD, letter(raw), {ORDERS: 1, DEAD: 2})
    assert found.found.how is How.LETTER
    assert found.at_ms <= FAILED + 5
    assert found.origin in (None, 1)


def test_a_letter_belongs_to_the_job_it_names_in_the_queue_it_names_or_its_own_queue_is_called_after() -> None:
    keys = {ORDERS: 1, DEAD: 2, ref("refunds"): 3}
    said = letters.found(DEAD, letter({"error": "x", "queue": "refunds", "jobId": "7"}), keys)
    assert (said.origin, said.found.job, said.timed) == (3, b"7", False)
    by_name = letters.found(DEAD, letter({"error": "x", "jobId": "7", "failedAt": FAILED}), keys)
    assert (by_name.origin, by_name.found.job, by_name.found.score_ms, by_name.timed) == (1, b"7", FAILED, True)
    elsewhere = letters.found(DEAD, letter({"error": "x", "queue": "never-seen", "jobId": "7"}), keys)
    assert (elsewhere.origin, elsewhere.found.job) == (None, b"9")
    nobody = letters.found(DEAD, letter({"error": "x", "queue": "orders"}), keys)
    assert (nobody.origin, nobody.found.job) == (None, b"9")


def test_the_payload_is_what_the_job_was_given_else_the_whole_letter() -> None:
    found = letters.found(DEAD, letter({"payload": {"id": 90071992547409931270, "é": None}, "error": "x"}), {DEAD: 2})
    assert found.payload == '{"id": 90071992547409931270, "é": null}'.encode()
    assert found.payload_size == len(found.payload)
    whole = letters.found(DEAD, letter({"odd": 1}), {DEAD: 2})
    assert whole.payload == b'{"odd": 1}'
    cut = letters.found(DEAD, letter(b'{"payload": "aaa', data_size=9_000_000), {DEAD: 2})
    assert (cut.payload, cut.payload_size) == (b'{"payload": "aaa', 9_000_000)


def test_a_queue_is_what_somebody_said_it_is_whatever_its_name() -> None:
    graveyard, errors = ref("graveyard"), ref("orders-errors")
    among = {ORDERS, DEAD, graveyard, errors}
    letters.preload({graveyard: Said(True, ORDERS), DEAD: Said(False)})
    assert letters.is_letters(graveyard, among)
    assert letters.origin_of(graveyard, among) == ORDERS
    assert not letters.is_letters(DEAD, among)
    assert letters.queue_for(ORDERS, among) == graveyard
    assert not letters.is_letters(errors, among)
    with override_settings(MIRANTE_DEAD_LETTERS=("-errors",)):
        assert letters.origin_of(errors, among) == ORDERS


def test_a_pinned_queue_without_an_origin_holds_letters_of_nobody_known() -> None:
    graveyard = ref("graveyard")
    letters.preload({graveyard: Said(True)})
    assert letters.is_letters(graveyard)
    assert letters.origin_of(graveyard) is None


@pytest.mark.django_db
def test_what_is_said_is_kept_logged_and_known_at_once() -> None:
    Queue.objects.create(source=Source.objects.create(name="main"), slug="graveyard")
    asked, graveyard = Asked(audit.Actor("ana", "admin")), ref("graveyard")
    letters.forget()
    letters.say(asked, graveyard, is_one=True, origin=ORDERS, mapping={"error": " why ", "job": ""})
    assert letters.said(graveyard) == Said(True, ORDERS, {"error": "why"})
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.who, entry.queue, entry.parameters["origin"]) == (
        "dead-letters",
        "ana",
        "graveyard",
        "orders",
    )
    letters.say(asked, graveyard, is_one=None)
    assert letters.said(graveyard) is None
    assert not DeadLetterQueue.objects.exists()


@pytest.mark.django_db
def test_what_makes_no_sense_is_refused_and_nothing_kept() -> None:
    Queue.objects.create(source=Source.objects.create(name="main"), slug="graveyard")
    asked, graveyard = Asked(audit.Actor("ana")), ref("graveyard")
    for odd in ({"error": "a..b"}, {"error": "[x"}, {"nonsense": "a"}, {"error": "a" * 201}):
        with pytest.raises(BadInput):
            letters.say(asked, graveyard, is_one=True, mapping=odd)
    with pytest.raises(BadInput):
        letters.say(asked, graveyard, is_one=True, origin=graveyard)
    with pytest.raises(NotFound):
        letters.say(asked, QueueRef("main", b"bull", b"nowhere"), is_one=True)
    assert not AuditEntry.objects.exists()
    assert not DeadLetterQueue.objects.exists()


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("a", ["a"]),
        ("a.b", ["a", "b"]),
        ("a[0].b", ["a", 0, "b"]),
        ('a["b.c"]', ["a", "b.c"]),
        ("$ref.x-y", ["$ref", "x-y"]),
    ],
)
def test_a_path_is_read_as_people_write_it(text: str, steps: list[object]) -> None:
    assert list(paths.parse(text)) == steps


def test_a_path_finds_what_stands_there_and_nothing_else() -> None:
    value = {"a": [{"b": None}], "c.d": 1, "e": {"0": "zero"}}
    assert paths.get(value, paths.parse("a[0].b")) is None
    assert paths.get(value, paths.parse("a.0.b")) is None
    assert paths.get(value, paths.parse('["c.d"]')) == 1
    assert paths.get(value, paths.parse("e[0]")) == "zero"
    for nowhere in ("a[1]", "a.b", "x", "a[0].b.c"):
        assert paths.get(value, paths.parse(nowhere)) is MISSING


def test_a_mapping_is_made_once_for_the_same_paths() -> None:
    assert isinstance(made((("error", "a"),)), Mapping)
    assert made((("error", "a"),)) is made((("error", "a"),))
