"""Classes of failures: what the rules that are built in say, those of users, and what follows when these change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bench.failures.corpus import load
from queues.audit import Actor, Asked
from queues.failures import classes
from queues.failures.classes import rules as deciding_rules
from queues.failures.classes.built_in import BUILT_IN
from queues.failures.classes.matching import Own, anywhere, said, whole
from queues.failures.classes.rules import Rules
from queues.failures.index.chores import Chores
from queues.failures.signature import of
from queues.failures.types import Kind, Signature, Verdict
from queues.models import AuditEntry, ClassRule, FailureGroup, FailureSignature, FailureStrand
from tests.failing import make_group

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding_rules, "_book", deciding_rules._Book())


def signature(
    message: str = "", *, error_class: str = "Error", code: str = "", shape: str = "error", digest: str = ""
) -> Signature:
    digest = digest or f"{error_class}|{code}|{message}|{shape}"
    return Signature(1, digest, shape, error_class, code, message, "src/x.js run", "frame", message)


def verdict(given: Signature, *own: Own, name: str = "", queue: str = "q", source: str = "main") -> Verdict:
    return Rules(own).verdict(given, name=name, queue_slug=queue, source=source)


# What is built in.

SAID = [
    (Kind.TRANSIENT, signature("connect ECONNREFUSED ‹address›", code="ECONNREFUSED")),
    (Kind.TRANSIENT, signature("read ECONNRESET", code="ECONNRESET")),
    (Kind.TRANSIENT, signature("getaddrinfo ENOTFOUND ‹host›", code="ENOTFOUND")),
    (Kind.TRANSIENT, signature("getaddrinfo EAI_AGAIN ‹host›", code="EAI_AGAIN")),
    (Kind.TRANSIENT, signature("socket hang up")),
    (Kind.TRANSIENT, signature("fetch failed", error_class="TypeError")),
    (Kind.TRANSIENT, signature("terminated", error_class="TypeError")),
    (Kind.TRANSIENT, signature("write EPIPE", code="EPIPE")),
    (Kind.TRANSIENT, signature("x", error_class="HeadersTimeoutError", code="UND_ERR_HEADERS_TIMEOUT")),
    (Kind.TRANSIENT, signature("timeout of ‹n›ms exceeded", error_class="AxiosError")),
    *((Kind.TRANSIENT, signature("Request failed", code=code)) for code in ("408", "425", "429", "500", "502", "504")),
    *((Kind.PERMANENT, signature("Request failed", code=code)) for code in ("400", "401", "403", "404", "410", "422")),
    (Kind.TRANSIENT, signature("Rate exceeded", error_class="ThrottlingException")),
    (Kind.TRANSIENT, signature("x", error_class="StripeRateLimitError")),
    (Kind.TRANSIENT, signature("x", error_class="StripeConnectionError")),
    (Kind.TRANSIENT, signature("sorry, too many clients already", error_class="error")),
    (Kind.TRANSIENT, signature("deadlock detected", error_class="error", code="40P01")),
    (Kind.TRANSIENT, signature("could not serialize access due to concurrent update", error_class="error")),
    (Kind.TRANSIENT, signature("Lock wait timeout exceeded; try restarting transaction")),
    (Kind.TRANSIENT, signature("READONLY You can't write against a read only replica.", error_class="ReplyError")),
    (Kind.TRANSIENT, signature("LOADING Redis is loading the dataset in memory", error_class="ReplyError")),
    (Kind.TRANSIENT, signature("CLUSTERDOWN The cluster is down", error_class="ReplyError")),
    (Kind.TRANSIENT, signature("OOM command not allowed when used memory > 'maxmemory'.", error_class="ReplyError")),
    (Kind.TRANSIENT, signature("down for maintenance until ‹time›")),
    (Kind.TRANSIENT, signature("Message failed: 450 4.2.1 try again later", code="450")),
    (Kind.TRANSIENT, signature("Timed out fetching a new connection from the connection pool.", code="P2024")),
    (Kind.PERMANENT, signature("Required", error_class="ZodError")),
    (Kind.PERMANENT, signature('"email" must be a valid email', error_class="ValidationError")),
    (Kind.PERMANENT, signature("data must have required property 'id'")),
    (Kind.PERMANENT, signature("Cannot read properties of undefined (reading 'id')", error_class="TypeError")),
    (Kind.PERMANENT, signature("x is not defined", error_class="ReferenceError")),
    (Kind.PERMANENT, signature("Unexpected token < in JSON at position ‹n›", error_class="SyntaxError")),
    (Kind.PERMANENT, signature("Maximum call stack size exceeded", error_class="RangeError")),
    (Kind.PERMANENT, signature("duplicate key value violates unique constraint ‹q›", code="23505")),
    (Kind.PERMANENT, signature("null value in column ‹q› violates not-null constraint", error_class="error")),
    (Kind.PERMANENT, signature("invalid input syntax for type uuid: ‹q›", error_class="error", code="22P02")),
    (Kind.PERMANENT, signature('relation "x" does not exist', error_class="error", code="42P01")),
    *((Kind.PERMANENT, signature("x", code=code)) for code in ("P2002", "P2003", "P2025")),
    (Kind.PERMANENT, signature("E11000 duplicate key error collection", error_class="MongoServerError")),
    (Kind.PERMANENT, signature("ENOENT: no such file or directory, open ‹path›", code="ENOENT")),
    (Kind.PERMANENT, signature("EACCES: permission denied, open ‹path›", code="EACCES")),
    (Kind.PERMANENT, signature("Invoice not found")),
    (Kind.PERMANENT, signature("must be strictly equal", error_class="AssertionError", code="ERR_ASSERTION")),
    (Kind.PERMANENT, signature("Your card was declined.", error_class="StripeCardError")),
    (Kind.PERMANENT, signature("Message failed: 550 5.1.1 user unknown", code="550")),
    (Kind.UNKNOWN, signature("job stalled more than allowable limit", error_class="", shape="stalled")),
    (Kind.UNKNOWN, signature("JavaScript heap out of memory")),
    (Kind.UNKNOWN, signature("", error_class="", shape="empty")),
    (Kind.UNKNOWN, signature("oops")),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "given"), SAID, ids=[given.digest[:60] for _, given in SAID])
def test_a_built_in_rule_knows_what_a_retry_can_do(kind: Kind, given: Signature) -> None:
    assert verdict(given).kind is kind


def test_what_the_author_of_a_job_says_holds_before_what_its_message_looks_like() -> None:
    said = verdict(signature("Request failed with status code 503", error_class="UnrecoverableError", code="503"))
    assert said == Verdict(Kind.PERMANENT, "UnrecoverableError")


def test_the_first_rule_is_found_as_if_each_was_asked_in_its_order() -> None:
    for entry in load("tune"):
        thrown = said(of(entry.thrown))
        asked = next((rule for rule in BUILT_IN if rule.means(thrown)), None)
        assert deciding_rules.built_in(thrown).rule == (asked.name if asked else "")


def test_failures_of_the_corpus_that_the_rules_are_tuned_with_are_of_their_class() -> None:
    entries = load("tune")
    wrong = [entry.id for entry in entries if deciding_rules.built_in(said(of(entry.thrown))).kind is not entry.kind]
    assert len(wrong) <= len(entries) * 0.02, wrong


def test_each_built_in_rule_has_its_own_name_words_and_advice_and_something_to_match() -> None:
    assert len({rule.name for rule in BUILT_IN}) == len(BUILT_IN)
    for rule in BUILT_IN:
        assert str(rule.words)
        assert str(rule.advice).endswith(".")
        assert classes.words(rule.name) == str(rule.words)
        assert classes.advice(rule.kind, rule.name) == str(rule.advice)
        assert rule.shapes or rule.classes or rule.codes or rule.messages or rule.texts
        # The names of users' rules begin with what they match: none of ours may look like one.
        assert rule.name.split()[0] not in ("class", "code", "message", "job", "queue", "source")


def test_built_in_patterns_are_written_in_small_letters_and_match_something() -> None:
    for rule in BUILT_IN:
        for text in (*rule.classes, *rule.codes, *rule.messages, *rule.texts):
            assert text == text.lower()
            assert text.strip("* ")


def test_no_phrase_stands_twice_where_the_second_can_never_decide() -> None:
    for part in ("classes", "codes", "messages", "texts"):
        seen: dict[str, str] = {}
        for rule in BUILT_IN:
            for text in getattr(rule, part):
                assert text not in seen, f"{part} {text} of {rule.name} is decided by {seen[text]}"
                seen[text] = rule.name


def test_every_class_has_general_advice() -> None:
    assert classes.advice(Kind.PERMANENT) == "A retry fails the same way. Fix the cause first, or edit and replay."
    assert "can help" in classes.advice("transient", "code 42")
    assert "Read the stack" in classes.advice(Kind.UNKNOWN)
    # The class by hand is another than that of the rule: its advice does not fit any more.
    assert classes.advice(Kind.TRANSIENT, "UnrecoverableError") == classes.advice(Kind.TRANSIENT)
    assert classes.words("code 42") == "a rule of yours"
    assert classes.words("") == "no rule matched"


# How patterns are compared.


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("503", "503", True),
        ("50", "503", False),
        ("50*", "503", True),
        ("*3", "503", True),
        ("5*3", "503", True),
        ("5*3", "53", True),
        ("53*3", "53", False),  # the ends may not share a character
        ("*", "", True),
        ("a*b*c", "a-b-b-c", True),
        ("a*c*b", "a-b-c", False),
        (".*", "503", False),  # no regular expression
        ("5.3", "503", False),
    ],
)
def test_a_pattern_is_compared_as_a_whole(pattern: str, text: str, found: bool) -> None:
    assert whole(pattern, text) is found


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("timed out", "it timed out twice", True),
        ("it*twice", "it timed out twice", True),
        ("twice*it", "it timed out twice", False),
        ("[a-z]+", "abc", False),
        ("*out*", "it timed out", True),
    ],
)
def test_a_message_is_found_anywhere(pattern: str, text: str, found: bool) -> None:
    assert anywhere(pattern, text) is found


def test_a_hostile_pattern_takes_no_longer_than_any_other() -> None:
    rules = Rules([Own(Kind.PERMANENT, message="*a" * 250, name="(a+)+$" * 80)])
    said = rules.verdict(signature("a" * 499 + "!", code="x"), name="a" * 500, queue_slug="q", source="main")
    assert said.kind is Kind.UNKNOWN


# Rules of users.

TIMEOUT = signature("connect ETIMEDOUT ‹address›", code="ETIMEDOUT")


def test_a_rule_of_a_user_comes_before_those_built_in() -> None:
    assert verdict(TIMEOUT) == Verdict(Kind.TRANSIENT, "timeout")
    assert verdict(TIMEOUT, Own(Kind.PERMANENT, code="etimedout")) == Verdict(Kind.PERMANENT, "code etimedout")


def test_of_several_rules_the_first_that_matches_decides() -> None:
    first, second = Own(Kind.UNKNOWN, code="ETIMEDOUT"), Own(Kind.PERMANENT, message="connect")
    assert verdict(TIMEOUT, first, second).kind is Kind.UNKNOWN
    assert verdict(TIMEOUT, second, first).kind is Kind.PERMANENT


def test_all_of_a_rule_has_to_match() -> None:
    rule = Own(
        Kind.PERMANENT,
        error_class="Payment*",
        code="402",
        message="card",
        name="charge",
        source="main",
        queue="payments",
    )
    given = signature("the card is bad", error_class="PaymentError", code="402", digest="one")
    assert verdict(given, rule, name="Charge", queue="payments").rule == rule.title
    others = [
        (replace(given, error_class="Error"), "charge", "payments", "main"),
        (replace(given, code="500"), "charge", "payments", "main"),
        (replace(given, message="bad"), "charge", "payments", "main"),
        (given, "refund", "payments", "main"),
        (given, "charge", "mail", "main"),
        (given, "charge", "payments", "other"),
    ]
    for other, name, queue, source in others:
        assert verdict(other, rule, name=name, queue=queue, source=source).rule != rule.title


def test_each_of_several_codes_counts() -> None:
    rule = Own(Kind.UNKNOWN, code="E_LIMIT")
    assert verdict(signature("x", code="402 E_LIMIT"), rule).rule == rule.title
    assert verdict(signature("x", code="402 E_LIMITS"), rule).rule != rule.title


def test_the_name_of_a_rule_tells_what_it_matches_and_two_are_never_called_alike() -> None:
    rule = Own(Kind.PERMANENT, error_class="PaymentError", code="402", queue="payments", source="main")
    assert rule.title == "class PaymentError, code 402, queue payments, source main"
    one, two = (Own(Kind.PERMANENT, message="x" * 400 + end, name="y" * 400) for end in "ab")
    assert one.title != two.title
    assert max(len(one.title), len(two.title)) <= 100


def test_a_verdict_is_remembered_and_that_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding_rules, "CACHED", 10)
    rules = Rules()
    for number in range(50):
        rules.verdict(signature(f"m{number}"), name="", queue_slug="q", source="main")
        assert len(rules._verdicts) <= 10
        assert len(rules._thrown) <= 10
    with mock.patch.object(rules, "_decide") as decide:
        rules.verdict(signature("m49"), name="", queue_slug="q", source="main")
    assert not decide.called


# What follows.


def keep(kind: Kind = Kind.PERMANENT, **patterns: Any) -> ClassRule:
    return classes.add(Own(kind, **patterns), by="ada")


def strands() -> Iterator[tuple[str, str, str]]:
    yield from FailureStrand.objects.order_by("queue__slug", "name").values_list("name", "kind", "rule")


@pytest.fixture
def timeouts() -> FailureGroup:
    """A group of timeouts in two queues under two names each, of no class yet."""
    made = make_group(
        title="TimeoutError: upstream did not answer in time",
        queues=("mail", "payments"),
        names=("a", "b"),
        kind=Kind.UNKNOWN,
        counts=(0, 0, 0, 0, 40),
    )
    classes.reclassify()
    return made


def test_all_strands_are_decided_anew(timeouts: FailureGroup) -> None:
    assert {(kind, rule) for _, kind, rule in strands()} == {("transient", "timeout")}
    assert classes.reclassify() == 0
    keep(name="a", source="main", queue="mail")
    assert classes.reclassify() == 1
    assert next(iter(strands())) == ("a", "permanent", "job a, queue mail, source main")
    assert {kind for _, kind, _ in list(strands())[1:]} == {"transient"}


def test_another_rule_of_the_same_class_is_written_down_too(timeouts: FailureGroup) -> None:
    keep(Kind.TRANSIENT, error_class="TimeoutError")
    assert classes.reclassify() == 4
    assert {rule for _, _, rule in strands()} == {"class TimeoutError"}


def test_one_source_alone_can_be_decided_anew(timeouts: FailureGroup) -> None:
    make_group("other", title="TimeoutError: elsewhere", queues=("mail",), kind=Kind.UNKNOWN)
    assert classes.reclassify("none of ours") == 0
    assert classes.reclassify("main") == 0
    assert classes.reclassify("other") == 1


def test_a_class_by_hand_holds_and_is_taken_back(timeouts: FailureGroup) -> None:
    asked = Asked(Actor("ada", "admin"))
    classes.set_by_hand(asked, timeouts, Kind.PERMANENT)
    keep(Kind.UNKNOWN, error_class="TimeoutError")
    classes.reclassify()
    timeouts.refresh_from_db()
    assert (timeouts.kind_set, timeouts.kind_by) == ("permanent", "ada")
    assert {kind for _, kind, _ in strands()} == {"unknown"}
    classes.set_by_hand(asked, timeouts, None)
    timeouts.refresh_from_db()
    assert (timeouts.kind_set, timeouts.kind_by) == ("", "")
    entries = AuditEntry.objects.order_by("pk")
    assert [(entry.action, entry.group, entry.who) for entry in entries] == [("failure-class", timeouts, "ada")] * 2
    assert [entry.parameters["class"] for entry in entries] == ["permanent", "by the rules"]


def test_a_dry_run_writes_nothing_and_tells_exactly_what_then_happens(timeouts: FailureGroup) -> None:
    make_group(title="Error: Invoice not found", queues=("mail",), names=("a",), counts=(0, 0, 0, 0, 7))
    classes.reclassify()
    before = list(strands())
    rule = Own(Kind.UNKNOWN, name="a", source="main", queue="mail")
    told = classes.dry_run(rule)
    assert list(strands()) == before
    assert not ClassRule.objects.exists()
    assert (told.groups, told.failures, told.strands, told.moved) == (2, 17, 2, 17)
    assert {(move.slug == timeouts.slug, move.before.value, move.failures) for move in told.moves} == {
        (True, "transient", 10),
        (False, "permanent", 7),
    }
    was = dict(FailureStrand.objects.values_list("pk", "kind"))
    classes.add(rule, by="ada")
    classes.reclassify()
    moved = [row for row in FailureStrand.objects.all() if row.kind != was[row.pk]]
    assert len(moved) == told.strands
    assert sum(row.d7 for row in moved) == told.moved
    assert {(row.group.slug, was[row.pk], row.kind) for row in moved} == {
        (move.slug, move.before.value, move.after.value) for move in told.moves
    }


def test_a_dry_run_says_that_a_rule_above_decides_already(timeouts: FailureGroup) -> None:
    keep(Kind.TRANSIENT, error_class="TimeoutError")
    told = classes.dry_run(Own(Kind.PERMANENT, message="upstream"))
    assert (told.groups, told.moved, list(told.moves)) == (0, 0, [])


def test_a_dry_run_tells_of_a_class_by_hand(timeouts: FailureGroup) -> None:
    classes.set_by_hand(Asked(Actor("ada")), timeouts, Kind.UNKNOWN)
    told = classes.dry_run(Own(Kind.PERMANENT, error_class="TimeoutError"))
    assert [move.by_hand for move in told.moves] == [Kind.UNKNOWN]


def test_what_each_rule_decides_is_counted(timeouts: FailureGroup) -> None:
    make_group(title="gibberish", queues=("mail",), counts=(0, 0, 0, 0, 3), kind=Kind.UNKNOWN)
    classes.reclassify()
    told = classes.decided()
    assert (told["timeout"].groups, told["timeout"].failures) == (1, 40)
    assert (told[""].groups, told[""].failures) == (1, 3)


def test_the_index_decides_anew_when_the_rules_are_others_and_not_otherwise(timeouts: FailureGroup) -> None:
    seen = classes.keep("main", "")
    FailureStrand.objects.update(kind="unknown")
    assert classes.keep("main", seen) == seen
    assert {kind for _, kind, _ in strands()} == {"unknown"}
    keep(Kind.PERMANENT, code="nowhere")
    assert classes.keep("main", seen) != seen
    assert {kind for _, kind, _ in strands()} == {"transient"}


def test_the_index_looks_after_classes_from_its_first_minute_on(timeouts: FailureGroup) -> None:
    FailureStrand.objects.update(kind="unknown")
    Chores().run(mock.MagicMock(source="main"))
    assert {kind for _, kind, _ in strands()} == {"transient"}


def test_what_is_kept_of_a_signature_by_another_version_is_decided_as_far_as_it_goes(timeouts: FailureGroup) -> None:
    FailureSignature.objects.update(parts={"message": None, "code": 42})
    classes.reclassify()
    assert {kind for _, kind, _ in strands()} == {"unknown"}


def test_many_strands_are_decided_in_few_statements() -> None:
    group = make_group(title="TimeoutError: late", names=[f"n{number}" for number in range(1_200)], kind="unknown")
    with CaptureQueriesContext(connection) as queries:
        assert classes.reclassify() == 1_200
    updates = [each["sql"] for each in queries if each["sql"].startswith("UPDATE")]
    assert len(updates) == 3
    assert group.strands.filter(kind="transient").count() == 1_200
