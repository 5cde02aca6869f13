"""What a signature is made of: shape, class, code and title; that it is fixed, bounded, masked and explained."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.failures import golden
from bench.failures.corpus import load
from queues.events import STALLED_TOO_OFTEN
from queues.failed import REASON_CAP, STACK_CAP
from queues.failures.signature import explain, of, words
from queues.failures.types import VERSION, Signature, Thrown
from queues.redaction import MASK

FRAME = "\n    at run (/app/src/run.ts:1:2)"
TRACEBACK = 'Traceback (most recent call last):\n  File "/a.py", line 1, in f\n    x'


def signed(reason: str | None, stack: str = "", name: str = "job") -> Signature:
    return of(Thrown(reason, stack, name, len((reason or "").encode("utf-8", "replace"))))


def thrown(reason: str, error_class: str = "Error") -> Signature:
    return signed(reason, f"{error_class}: {reason}{FRAME}")


@pytest.mark.parametrize(
    ("reason", "stack", "told"),
    [
        ("no", f"TypeError: no{FRAME}", "TypeError"),
        ("no", f"error: no{FRAME}", "error"),
        ("no", f"AxiosError: no{FRAME}", "AxiosError"),
        ("no", f"TypeError [ERR_INVALID_ARG_TYPE]: no{FRAME}", "TypeError"),
        ("The specified key does not exist.", f"NoSuchKey: The specified key does not exist.{FRAME}", "NoSuchKey"),
        ("", f"Error{FRAME}", "Error"),
        ("later", f"ValidationError: earlier{FRAME}", "ValidationError"),
        ("AxiosError: no", "", "AxiosError"),
        ("note: no", "", ""),
        ("no", "", ""),
        ("no", "    at run (/app/src/run.ts:1:2)", ""),
        (
            "bad",
            'Traceback (most recent call last):\n  File "/a.py", line 1, in f\n    x\na.b.NotEnough: bad',
            "NotEnough",
        ),
        ("", f"{TRACEBACK}\nTimeoutError", "TimeoutError"),
    ],
)
def test_the_stack_names_the_class(reason: str, stack: str, told: str) -> None:
    assert signed(reason, stack).error_class == told


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("connect ECONNREFUSED 10.0.0.1:5432", "ECONNREFUSED"),
        ("getaddrinfo EAI_AGAIN x.internal", "EAI_AGAIN"),
        ("read ECONNRESET", "ECONNRESET"),
        ("Connect Timeout Error UND_ERR_CONNECT_TIMEOUT", "UND_ERR_CONNECT_TIMEOUT"),
        ("SQLSTATE[23505]: unique", "23505"),
        ("failed (code: P2002)", "P2002"),
        ("Request failed with status code 404", "404"),
        ("HTTP 502", "502"),
        ("HTTP/1.1 500 oops", "500"),
        ("429 Too Many Requests", "429"),
        ("Response code 503 (Service Unavailable)", "503"),
        ("Upstream said no (503)", "503"),
        ('503 {"error":"x"}', "503"),
        ("454 4.7.0 Temporary authentication failure", "454"),
        ("Message failed: 550 5.1.1 User unknown", "550"),
        ("E11000 duplicate key error", "E11000"),
        ("READONLY You can't write against a read only replica.", "READONLY"),
        ("MOVED 3999 10.0.0.1:6381", "MOVED"),
        ("OOM command not allowed", "OOM"),
        ("LOADING Redis is loading", "LOADING"),
        ("14 UNAVAILABLE: No connection established", "UNAVAILABLE"),
        ("ER_DUP_ENTRY: Duplicate entry 'a'", "ER_DUP_ENTRY"),
        ("declined (card_declined)", "card_declined"),
        ('{"code":"PARTNER_DOWN","traceId":"a1"}', "PARTNER_DOWN"),
        ("error code 1213", "1213"),
        ("Unexpected exit code: 137 signal: null", "exit 137"),
        ("Unexpected exit code: 0 signal: SIGKILL", "SIGKILL"),
        ("RATE_LIMITED: slow down", "RATE_LIMITED"),
        ("[QUOTA_EXCEEDED] no more", "QUOTA_EXCEEDED"),
        ("User 404 is gone", ""),
        ("returned 500 rows", ""),
        ("Row count: 150", ""),
        ("verification code: 123456", ""),
        ("DATABASE_URL is not set", ""),
    ],
)
def test_a_code_is_taken_before_numbers_vanish(reason: str, code: str) -> None:
    assert thrown(reason).code == code


def test_names_that_are_codes_count_as_codes() -> None:
    assert thrown("Rate exceeded", "ThrottlingException").code == "ThrottlingException"
    assert thrown("Access Denied", "AccessDenied").code == "AccessDenied"
    assert signed("no", f"TypeError [ERR_INVALID_ARG_TYPE]: no{FRAME}").code == "ERR_INVALID_ARG_TYPE"


CAUSE = (
    "\n  [cause]: Error: connect {code} 10.0.0.7:3000\n      at x (node:net:1:1) {{\n"
    "    errno: -111,\n    code: '{code}'"
)


def test_where_the_message_says_nothing_its_cause_counts() -> None:
    refused, reset = (
        signed("fetch failed", f"TypeError: fetch failed{FRAME}" + CAUSE.format(code=code))
        for code in ("ECONNREFUSED", "ECONNRESET")
    )
    assert (refused.error_class, refused.code) == ("TypeError", "ECONNREFUSED")
    assert refused.message == "fetch failed: connect ECONNREFUSED ‹address›:3000"
    assert refused.digest != reset.digest
    told = f"Error: no stock{FRAME}" + CAUSE.format(code="ECONNRESET")
    assert signed("no stock", told).message == "no stock"
    aggregate = signed("", f"AggregateError{FRAME} {{\n  [errors]: [\n    Error: connect ETIMEDOUT 10.0.0.7:80\n")
    assert (aggregate.error_class, aggregate.code) == ("AggregateError", "ETIMEDOUT")


@pytest.mark.parametrize(
    ("reason", "stack", "shape"),
    [
        (STALLED_TOO_OFTEN, "", "stalled"),
        (None, "", "none"),
        ("", "", "empty"),
        ("   \n ", "", "empty"),
        ("null", "null", "null"),
        ("undefined", "", "null"),
        ("[object Object]", "", "object"),
        ('{"code":"A_B"}', "", "json"),
        ("[1, 2]", "", "json"),
        ("row skipped", "", "text"),
        ('[{"code":"too_small","path":["a"]}]', f"ZodError: [{FRAME}", "issues"),
        ("Worker terminated due to reaching memory limit: JS heap out of memory", "", "memory"),
        ("no", f"Error: no{FRAME}", "error"),
        ("", f"Error{FRAME}", "error"),
    ],
)
def test_each_shape_has_a_signature_of_its_own(reason: str | None, stack: str, shape: str) -> None:
    made = signed(reason, stack)
    assert made.shape == shape
    assert made.version == VERSION
    assert made.digest != signed(reason, stack, "other").digest or made.place_kind in ("frame", "file")


def test_shapes_are_never_taken_for_each_other() -> None:
    reasons = (None, "", "null", "undefined", "[object Object]", STALLED_TOO_OFTEN, '{"a":1}', "text")
    assert len({signed(reason).digest for reason in reasons}) == len(reasons)


def test_stalled_jobs_are_one_signature_for_each_job_name() -> None:
    assert signed(STALLED_TOO_OFTEN, "", "a").digest == signed(STALLED_TOO_OFTEN, FRAME, "a").digest
    assert signed(STALLED_TOO_OFTEN, "", "a").digest != signed(STALLED_TOO_OFTEN, "", "b").digest


def test_of_a_long_message_only_the_head_counts() -> None:
    head = "Import of row 12 failed: " + "x" * (REASON_CAP - 25)
    longer = of(Thrown(head, "", "job", 1_000_000))
    assert longer.digest == of(Thrown(head, "", "job", 2_000_000)).digest
    assert len(longer.message) <= 500
    assert len(longer.title) <= 200


def test_a_title_says_class_and_code_where_the_message_does_not() -> None:
    assert thrown("Request failed with status code 503", "AxiosError").title == (
        "AxiosError: Request failed with status code 503"
    )
    assert signed("fetch failed", f"TypeError: fetch failed{FRAME}\n  code: 'ECONNRESET'\n").title == (
        "TypeError ECONNRESET: fetch failed"
    )
    assert thrown("no stock of 12").title == "no stock of ‹n›"
    assert thrown("no stock of 12", "UnrecoverableError").title == "no stock of ‹n›"
    assert signed("", f"RangeError{FRAME}").title == "RangeError"
    assert "\n" not in thrown("a\nb c\nd").title


def test_nothing_secret_stands_in_a_signature() -> None:
    for reason in (
        "login with password=hunter2 failed",
        "Bearer abcdefghijklmnop0123456789 was refused by a",
        "token: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl is bad",
        "cannot reach redis://user:hunter2@cache.internal:6379/0",
        'bad config {"secret":"hunter2"',
    ):
        made = thrown(reason)
        for part in (made.title, made.message, *(applied.after for applied in explain(Thrown(reason)))):
            assert not [secret for secret in ("hunter", "abcdefghijklmnop", "c2lnb", "eyJ") if secret in part]
    assert MASK in thrown("login with password=hunter2 failed").message


def test_what_made_a_signature_is_explained_in_words() -> None:
    reason = "GET https://api.example.com/v1/users/42 by 'maria' for user 42 failed with status code 503"
    applied = explain(Thrown(reason, f"AxiosError: {reason}{FRAME}", "job", len(reason)))
    told = {each.rule: (each.before, each.after) for each in applied}
    assert told["url"] == ("https://api.example.com/v1/users/42", "https://api.example.com")
    assert told["quoted"] == ("'maria'", "‹text›")
    assert told["number"] == ("42", "‹n›")
    assert told["code"][1] == "503"
    assert told["class"][1] == "AxiosError"
    assert told["frame"] == ("at run (/app/src/run.ts:1:2)", "run (src/run.ts)")
    assert all(words(each.rule) != each.rule for each in applied)
    assert words("no-such-rule") == "no-such-rule"


def test_every_rule_that_the_corpus_needs_has_words() -> None:
    rules = {applied.rule for entry in load("tune") for applied in explain(entry.thrown)}
    assert [rule for rule in rules if words(rule) == rule] == []
    assert {"quoted", "quoted-name", "number", "id", "address", "url", "path", "code", "class", "frame"} <= rules


@given(st.one_of(st.none(), st.text(max_size=400)), st.text(max_size=400), st.text(max_size=50))
def test_no_text_is_too_odd(reason: str | None, stack: str, name: str) -> None:
    made = of(Thrown(reason, stack, name, len(reason or "")))
    assert len(made.digest) == 40
    assert len(made.title) <= 200
    assert len(made.message) <= 500
    assert explain(Thrown(reason, f"Error: {stack}\n    at {name} ({name})", name)) is not None


UNITS = (
    *"\"'`\\/@:.-=[{(<,;%$#~ \n\t1aE",
    *(
        '\\"',
        "a1",
        "0-",
        "://a@",
        "http://a@",
        '[{"',
        '{"a":',
        '{"code":"x",',
        "'a'b",
        '"a", ',
        "key=",
        "Bearer ",
        "eyJ",
    ),
    *("request id: ", "2026-12-01 ", "Jan 1 ", "12:00:00 ", "1.1.1.1:", "-abcdef0123-abcde", "abcdef0", "status code "),
    *("exit code ", "code: ", "404 ", "550-", "get a ", "with a ", "\x1b[", "\\u0070", "‹n›, ", '"a[0].', "Error: "),
    *("[cause]: Error: ", "Invalid `a` invocation\n", "\n    at ", "    at a (", "/src/", "/packages/a", '\n  File "'),
    *("Traceback (most recent call last):\n", "\n\nDuring handling of the above exception, another", "code: 'X'\n"),
)


def _took(reason: str, stack: str) -> float:
    from queues.failures.signature.making import parts_of

    begun = time.process_time()
    parts_of(reason, stack, cut=True)
    of(Thrown(reason, stack, "job", 0))
    return time.process_time() - begun


@pytest.mark.parametrize("unit", UNITS, ids=repr)
def test_no_text_makes_it_slow(unit: str) -> None:
    """Twice as much may take some twice as long; what backtracks takes thousands of times as long."""
    for before in ("", '"', "{", "Error: x\n    at "):
        reason = (before + unit * REASON_CAP)[:REASON_CAP]
        stack = (before + unit * STACK_CAP)[:STACK_CAP]
        assert _took(reason, stack) < 1.0
        assert _took("fetch failed", f"Error: fetch failed\n{stack}") < 1.0


def test_signatures_change_with_their_version_only() -> None:
    """Where this fails: raise `types.VERSION`, which regroups what is indexed, and run `bench.failures.golden`."""
    held = json.loads(golden.FILE.read_text(encoding="utf-8"))
    assert held["version"] == VERSION
    assert golden.digests() == held["digests"]
