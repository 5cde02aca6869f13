"""The new jobs that are sent for letters and for others: exact data, and of the old job what a new one may have."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queues.actions import NewJob, Stored
from queues.errors import BadInput
from queues.failures import letters
from queues.failures.letters import Said
from queues.failures.letters.mapping import Mapping, made
from queues.models import ReplayJob
from queues.replay.copies import Unmapped, copied, told_by
from queues.replay.patching import Unfit, patcher
from queues.replay.terms import Patch, PatchKind, Terms
from queues.types import State
from tests.queues.fakes import ref

COMMON = made(())
DEAD = ref("orders-dlq")
ODD = (
    b'{ "n" : '
    + b"7" * 5000
    + b', "n":1.50, "s": "caf\\u00e9 \xff \\ud800", "deep": '
    + b"[" * 3000
    + b"]" * 3000
    + b"}"
)


@pytest.fixture(autouse=True)
def nothing_said() -> Iterator[None]:
    letters.preload({})
    yield
    letters.forget()


def row(state: State = State.WAITING, job: str = "9", **values: object) -> ReplayJob:
    return ReplayJob(**{"queue_id": 1, "target_id": 2, "state": state, "job": job, **values})


def stored(data: object, opts: object = None, name: bytes = b"dead-letter", **fields: bytes) -> Stored:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    told = {b"name": name, b"data": raw, b"opts": json.dumps(opts or {"attempts": 0}).encode()}
    return Stored(told | {key.encode(): value for key, value in fields.items()})


def sent(one: Stored, at: ReplayJob | None = None, patch: Patch | None = None) -> NewJob:
    change = patcher(patch) if patch else None
    return copied(at or row(), one, Terms(), change, queue=DEAD)


def opts(job: NewJob) -> object:
    return json.loads(job.opts)


# --- letters that hold their job's data ----------------------------------------------------------------


@pytest.mark.parametrize(
    "letter",
    [
        b'{"error": {"message": "boom"}, "payload": %s, "origin": {"queue": "orders", "jobId": "7"}}',
        b'{"data":%s,"failedReason":"boom"}',
        b'{"job": {"id": "7", "data": %s , "opts": {}}, "stacktrace": []}',
        b'{"failedAt": 1700000000000, "payload": null, "original": {"data" : %s}}',
        b'{"payload": 1, "errorMessage": "x", "payload":%s}',
    ],
)
def test_the_data_of_a_letters_job_are_the_very_bytes_that_stand_in_it(letter: bytes) -> None:
    assert sent(stored(letter % ODD)).data == ODD


@pytest.mark.parametrize("inner", ['{"a": 1.50, "é": "\\"x\\""}', ' [1, {"b": 2}] '])
def test_data_that_were_written_as_a_string_are_decoded_once(inner: str) -> None:
    as_json = {"id": "x-1", "name": "charge", "data": inner, "opts": {"attempts": 3}, "failedReason": '"boom"'}
    job = sent(stored(as_json))
    assert job.data == inner.strip().encode()
    assert (job.name, job.id) == (b"charge", b"x-1")
    twice = json.dumps({"text": inner})
    assert sent(stored({"data": twice, "error": "boom"})).data == twice.encode()


def test_name_id_and_options_are_what_the_letter_tells() -> None:
    told = {
        "payload": {"a": 1},
        "error": "boom",
        "origin": {"queue": "orders", "jobId": "order-7", "jobName": "charge"},
        "opts": {
            "attempts": 5,
            "backoff": {"type": "exponential", "delay": 1000},
            "priority": 3,
            "lifo": True,
            "removeOnComplete": {"count": 9},
            "delay": 60_000,
            "jobId": "order-7",
            "repeat": {"every": 1000},
            "parent": {"id": "1", "queue": "bull:flows"},
            "timestamp": 1,
            "failParentOnFailure": True,
            "deduplication": {"id": "d-7", "ttl": 5},
            "keepLogs": 7,
            "telemetry": {"metadata": "trace", "omitContext": True},
            "sender": {"kept": "as it is"},
        },
    }
    job = sent(stored(told))
    assert (job.name, job.id) == (b"charge", b"order-7")
    assert opts(job) == {
        "attempts": 5,
        "backoff": {"type": "exponential", "delay": 1000},
        "priority": 3,
        "lifo": True,
        "removeOnComplete": {"count": 9},
        "de": {"id": "d-7", "ttl": 5},
        "kl": 7,
        "tm": "trace",
        "omc": True,
        "sender": {"kept": "as it is"},
    }


def test_options_that_were_written_as_a_string_count_too_and_unreadable_ones_do_not() -> None:
    letter = {"payload": {}, "error": "x", "job": {"opts": '{"attempts": 4}'}}
    assert opts(sent(stored(letter))) == {"attempts": 4}
    assert opts(sent(stored(letter | {"job": {"opts": "four"}}, {"attempts": 2}))) == {"attempts": 2}
    deep = b'{"payload": {}, "error": "x", "opts": {"x": ' + b"[" * 3000 + b"]" * 3000 + b"}}"
    assert opts(sent(stored(deep, {"attempts": 2}))) == {"attempts": 2}


def test_a_letter_that_tells_no_options_lends_its_own_without_what_was_meant_for_it() -> None:
    own = {
        "attempts": 2,
        "backoff": {"type": "fixed", "delay": 9},
        "removeOnFail": 100,
        "tm": "trace",
        "jobId": "letter-7",
        "delay": 5,
        "priority": 4,
        "lifo": True,
        "de": {"id": "letter"},
        "repeat": {"every": 1},
        "parent": {"id": "1", "queue": "bull:x"},
    }
    job = sent(stored({"payload": {}, "error": "boom"}, own, priority=b"4"))
    assert (job.name, job.id) == (b"dead-letter", b"")
    assert opts(job) == {"attempts": 2, "backoff": {"type": "fixed", "delay": 9}, "removeOnFail": 100, "tm": "trace"}


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("order-7", b"order-7"),
        ("a:b:c", b"a:b:c"),
        ("São 7", "São 7".encode()),
        (712, b""),  # BullMQ's own
        ("7", b""),
        ("-7", b""),
        ("repeat:abc:1700000000000", b""),
        ("old:id", b""),  # BullMQ 4 took this, later ones do not
        ("0:a:b", b""),
        ("x" * 1001, b""),
        ("", b""),
        (None, b""),
        ({"odd": 1}, b""),
    ],
)
def test_an_id_that_somebody_chose_stays_where_bullmq_takes_it(told: object, kept: bytes) -> None:
    assert sent(stored({"payload": {}, "error": "boom", "jobId": told})).id == kept


# --- letters that are the job itself -------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        ODD,
        b'{"to": "a@b.example", "body": "Hello", "message": "x", "id": 7, "reason": "refund"}',
        b'{"timestamp": 1700000000000, "queue": "fast", "name": "Ana", "attempts": 3, "opts": {"attempts": 99}}',
        b"[1, 2]",
        b"5",
        b'"text"',
    ],
)
def test_a_letter_that_tells_of_no_failure_is_the_job_itself(data: bytes) -> None:
    own = {"attempts": 3, "delay": 100, "jobId": "order-7", "de": {"id": "d"}, "priority": 2, "tm": "trace"}
    job = sent(stored(data, own, b"charge", priority=b"5"), row(job="order-7"))
    assert (job.name, job.data, job.id) == (b"charge", data, b"order-7")
    assert opts(job) == {"attempts": 3, "de": {"id": "d"}, "priority": 5, "tm": "trace"}


def test_a_user_can_say_that_letters_are_the_jobs_themselves_or_where_their_data_stand() -> None:
    both = {"data": {"a": 1}, "error": "part of the data"}
    letters.preload({DEAD: Said(is_one=True, mapping={"payload": "."})})
    assert sent(stored(both, name=b"push")).data == json.dumps(both).encode()
    letters.preload({DEAD: Said(is_one=True, mapping={"payload": "wrapped[1].x"})})
    assert sent(stored(b'{"wrapped": [0, {"x": "text"}]}')).data == b'"text"'
    with pytest.raises(Unmapped, match="what its job was given"):
        sent(stored(both))


def test_a_dot_is_the_path_of_a_payload_alone() -> None:
    assert letters.checked({"payload": " . "}) == {"payload": "."}
    with pytest.raises(BadInput):
        letters.checked({"error": "."})
    assert told_by(b'{"name": "Ana"}', made((("payload", "."),))).itself


# --- letters that do not tell --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"error": "boom", "orderId": 7}', "does not tell what its job was given"),
        (b'{"error": "boom", "payload": "no object"}', "does not tell what its job was given"),
        (b'{"error": "boom", "payload": "{cut"}', "does not tell what its job was given"),
        (b'{"data": {"title": "x"}, "token": "of a phone"}', "It can be the job itself"),
        (b'{"payload": {}', "no JSON"),
        (b"", "no JSON"),
    ],
)
def test_a_letter_that_does_not_tell_what_to_send_says_what_is_missing(data: bytes, why: str) -> None:
    with pytest.raises(Unmapped, match=why):
        sent(stored(data))


def test_a_letter_for_no_queue_is_not_sent() -> None:
    with pytest.raises(Unmapped, match="to which queue"):
        sent(stored({"a": 1}), row(target_id=None))


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.dictionaries(
            st.sampled_from(
                ["payload", "data", "error", "message", "job", "opts", "id", "origin", "queue", "failedAt", "x"]
            ),
            inner,
            max_size=4,
        ),
    )
)
def test_whatever_stands_in_a_letter_it_is_sent_or_unmapped(data: object) -> None:
    mapping: Mapping = COMMON
    try:
        told = told_by(json.dumps(data).encode(), mapping)
    except Unmapped:
        return
    json.loads(told.data)
    assert told.itself == (told.data == json.dumps(data).encode())


# --- failed and completed jobs -------------------------------------------------------------------------


@pytest.mark.parametrize("state", [State.FAILED, State.COMPLETED])
def test_a_copy_of_a_job_keeps_what_is_its_own_and_leaves_its_ties(state: State) -> None:
    own = {
        "attempts": 3,
        "backoff": {"type": "fixed", "delay": 10},
        "delay": 60_000,
        "jobId": "order-7",
        "de": {"id": "d"},
        "removeOnComplete": True,
        "tm": "trace",
        "fpof": True,
        "parent": {"id": "1", "queue": "bull:x"},
        "repeatJobKey": "x",
        "priority": 1,
    }
    old = stored(ODD, own, b"charge", atm=b"3", priority=b"7", failedReason=b"boom", parentKey=b"bull:x:1")
    job = sent(old, row(state, "order-7", target_id=1))
    assert (job.name, job.data, job.id) == (b"charge", ODD, b"")
    kept = {name: own[name] for name in ("attempts", "backoff", "de", "removeOnComplete", "tm")}
    assert opts(job) == kept | {"priority": 7}


def test_a_job_that_goes_to_another_queue_takes_its_own_id_along() -> None:
    assert sent(stored({}), row(State.FAILED, "order-7")).id == b"order-7"
    assert sent(stored({}), row(State.FAILED, "7")).id == b""


def test_options_that_need_no_change_keep_their_bytes() -> None:
    raw = b'{ "attempts" : 3, "x": 1.50 }'
    old = Stored({b"name": b"a", b"data": b"{}", b"opts": raw})
    assert sent(old, row(State.FAILED, target_id=1)).opts == raw


# --- edits ---------------------------------------------------------------------------------------------


def test_an_edit_is_one_of_what_is_sent_and_not_of_the_letter_around_it() -> None:
    patch = Patch(PatchKind.PATHS, "tier = 1")
    letter = b'{"error": "boom", "payload": { "n": 1.50, "tier": "gold" }}'
    assert sent(stored(letter), patch=patch).data == b'{ "n": 1.50, "tier": 1 }'
    assert sent(stored(b'{"tier": 2}'), row(State.COMPLETED), patch).data == b'{"tier": 1}'
    with pytest.raises(Unfit):
        sent(stored({"error": "boom", "payload": [1]}), patch=patch)
    whole = patcher(Patch(PatchKind.WHOLE), b'{"other": true}')
    assert copied(row(), stored(letter), Terms(), whole, queue=DEAD).data == b'{"other": true}'
    with pytest.raises(BadInput):
        patcher(Patch(PatchKind.WHOLE), b"{")
